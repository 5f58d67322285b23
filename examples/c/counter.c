/* Four threads share a counter. */
#include <cohort.h>
#include <pthread.h>
#include <stdio.h>

static cohort_mutex_t mutex = COHORT_MUTEX_INIT;
static long total COHORT_GUARDED_BY(mutex);

static void *work(void *argument)
{
    (void)argument;
    for (int i = 0; i < 100000; i++) {
        cohort_mutex_lock(&mutex);
        total++;
        cohort_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);

    cohort_mutex_lock(&mutex);
    long counted = total;
    cohort_mutex_unlock(&mutex);
    printf("counter: %ld\n", counted);
    return counted == 400000 ? 0 : 1;
}
