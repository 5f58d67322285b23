/* Every sort of lock in one order, by several threads; conditions, tries and deadlines; and sections that
 * take a mutex. */
#include <cohort.h>
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 4, TURNS = 2000 };

static cohort_mutex_t outer = COHORT_MUTEX_INIT;
static cohort_rwlock_t table = COHORT_RWLOCK_INIT;
static cohort_mutex_t inner = COHORT_MUTEX_INIT;
static cohort_cond_t changed = COHORT_COND_INIT;
static cohort_delegated_t *counts;
static cohort_lock_t *named;
static int key;
static long turns;
static int ready;

static void add(void *nothing)
{
    (void)nothing;
    cohort_mutex_lock(&inner);
    turns++;
    cohort_mutex_unlock(&inner);
}

static void *work(void *nothing)
{
    for (int turn = 0; turn < TURNS; turn++) {
        cohort_mutex_lock(&outer);
        cohort_gls_lock(&key);
        key++;
        cohort_gls_unlock(&key);
        cohort_mutex_unlock(&outer);
        if (turn % 8 == 0)
            cohort_rwlock_write(&table);
        else
            cohort_rwlock_read(&table);
        cohort_lock_acquire(named);
        cohort_lock_release(named);
        cohort_rwlock_unlock(&table);
        cohort_delegate(counts, add, NULL);
        if (cohort_mutex_lock_for(&outer, 1000) == 0)
            cohort_mutex_unlock(&outer);
    }
    cohort_mutex_lock(&outer);
    ready++;
    cohort_cond_signal(&changed);
    cohort_mutex_unlock(&outer);
    return nothing;
}

int main(void)
{
    pthread_t threads[THREADS];
    counts = cohort_delegated_new();
    named = cohort_lock_new("mcs");
    for (int at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, work, NULL);
    cohort_mutex_lock(&outer);
    while (ready < THREADS)
        cohort_cond_wait(&changed, &outer);
    cohort_mutex_unlock(&outer);
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    cohort_lock_free(named);
    cohort_delegated_free(counts);
    return key == THREADS * TURNS && turns == THREADS * TURNS ? 0 : 1;
}
