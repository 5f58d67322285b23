/* Two threads exchange numbers by a mutex and two conditions. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static cohort_mutex_t mutex = COHORT_MUTEX_INIT;
static cohort_cond_t filled = COHORT_COND_INIT;
static cohort_cond_t emptied = COHORT_COND_INIT;
static int is_full;
static int box;

static void *produce(void *argument)
{
    (void)argument;
    for (int i = 1; i <= 1000; i++) {
        cohort_mutex_lock(&mutex);
        while (is_full)
            cohort_cond_wait(&emptied, &mutex);
        box = i;
        is_full = 1;
        cohort_cond_signal(&filled);
        cohort_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void)
{
    long sum = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, produce, NULL);
    for (int i = 1; i <= 1000; i++) {
        cohort_mutex_lock(&mutex);
        while (!is_full)
            cohort_cond_wait(&filled, &mutex);
        sum += box;
        is_full = 0;
        cohort_cond_signal(&emptied);
        cohort_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);

    /* No thread signals. */
    cohort_mutex_lock(&mutex);
    int waited = cohort_cond_wait_for(&filled, &mutex, 1000000);
    cohort_mutex_unlock(&mutex);
    printf("condition: %ld\n", sum);
    return sum == 500500 && waited == ETIMEDOUT ? 0 : 1;
}
