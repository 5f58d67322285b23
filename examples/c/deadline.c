/* A wait with a deadline. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static cohort_mutex_t mutex = COHORT_MUTEX_INIT;

static void *try(void *argument)
{
    struct timespec until;
    int *results = argument;

    results[0] = cohort_mutex_lock_try(&mutex);
    results[1] = cohort_mutex_lock_for(&mutex, 2000000); /* nanoseconds */
    clock_gettime(CLOCK_MONOTONIC, &until);
    results[2] = cohort_mutex_lock_until(&mutex, CLOCK_MONOTONIC, &until);
    return NULL;
}

int main(void)
{
    int results[3];
    pthread_t thread;

    cohort_mutex_lock(&mutex);
    pthread_create(&thread, NULL, try, results);
    pthread_join(thread, NULL);
    cohort_mutex_unlock(&mutex);
    if (results[0] != EBUSY || results[1] != ETIMEDOUT || results[2] != ETIMEDOUT)
        return 1;

    if (cohort_mutex_lock_for(&mutex, 2000000) != 0)
        return 1;
    cohort_mutex_unlock(&mutex);
    printf("deadline: given up, and taken\n");
    return 0;
}
