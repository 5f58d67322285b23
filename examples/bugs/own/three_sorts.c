/* Three threads hold a pthread mutex, a cohort mutex and the lock of an address, and each waits for the
 * next thread's: a deadlock. */
#include <cohort.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static cohort_mutex_t cache = COHORT_MUTEX_INIT;
static long journal;
static pthread_barrier_t all_hold_one;

static void *look_up(void *nothing)
{
    pthread_mutex_lock(&table);
    pthread_barrier_wait(&all_hold_one);
    cohort_mutex_lock(&cache);
    cohort_mutex_unlock(&cache);
    pthread_mutex_unlock(&table);
    return nothing;
}

static void *store(void *nothing)
{
    cohort_mutex_lock(&cache);
    pthread_barrier_wait(&all_hold_one);
    cohort_gls_lock(&journal);
    cohort_gls_unlock(&journal);
    cohort_mutex_unlock(&cache);
    return nothing;
}

static void *replay(void *nothing)
{
    cohort_gls_lock(&journal);
    pthread_barrier_wait(&all_hold_one);
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
    cohort_gls_unlock(&journal);
    return nothing;
}

int main(void)
{
    pthread_t threads[3];
    pthread_barrier_init(&all_hold_one, NULL, 3);
    pthread_create(&threads[0], NULL, look_up, NULL);
    pthread_create(&threads[1], NULL, store, NULL);
    pthread_create(&threads[2], NULL, replay, NULL);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
