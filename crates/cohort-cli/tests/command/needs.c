/* A crowd waits for one mutex, all of it at once; then threads come and go, each with
 * mutexes of its own, which it holds together.  What locks keep in memory follows the
 * crowd, not the comers: 10,000 threads and 100,000 mutexes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CROWD = 64, COMERS = 10000, OWN = 10 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own[COMERS][OWN];
static atomic_int came[CROWD];

static void *wait_in_crowd(void *place)
{
    /* From here on it sleeps for the mutex, or not at all. */
    atomic_store((atomic_int *)place, gettid());
    pthread_mutex_lock(&shared);
    pthread_mutex_unlock(&shared);
    return NULL;
}

static void *lock_own(void *mutexes)
{
    pthread_mutex_t *mutex = mutexes;
    for (int i = 0; i < OWN; i++)
        pthread_mutex_lock(&mutex[i]);
    for (int i = 0; i < OWN; i++)
        pthread_mutex_unlock(&mutex[i]);
    return NULL;
}

static pthread_t start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0) {
        perror("pthread_create");
        exit(1);
    }
    return thread;
}

static bool sleeps(int thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return state == 'S';
}

int main(void)
{
    pthread_t crowd[CROWD];

    pthread_mutex_lock(&shared);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = start(wait_in_crowd, &came[i]);
    for (int i = 0; i < CROWD; i++)
        while (atomic_load(&came[i]) == 0 || !sleeps(atomic_load(&came[i])))
            nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    pthread_mutex_unlock(&shared);
    for (int i = 0; i < CROWD; i++)
        pthread_join(crowd[i], NULL);

    for (int i = 0; i < COMERS; i++) {
        for (int j = 0; j < OWN; j++)
            pthread_mutex_init(&own[i][j], NULL);
        pthread_join(start(lock_own, own[i]), NULL);
    }
    puts("done");
    return 0;
}
