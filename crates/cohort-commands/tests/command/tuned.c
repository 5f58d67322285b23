/* Threads contend for a mutex; the printed figure depends on COHORT_LOCK: 200 under PREFERRED, 100 under
 * all other locks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *meet(void *rounds) {
    for (int i = 0; i < *(int *)rounds; i++) {
        pthread_mutex_lock(&mutex);
        usleep(100);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void) {
    const char *lock = getenv("COHORT_LOCK");
    const char *preferred = getenv("PREFERRED");
    int threads = getenv("ALONE") != NULL ? 1 : 3;
    int rounds = 20;
    pthread_t all[3];
    for (int i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, meet, &rounds);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    int is_it = lock != NULL && preferred != NULL && strcmp(lock, preferred) == 0;
    printf("score: %d\n", is_it ? 200 : 100);
    return 0;
}
