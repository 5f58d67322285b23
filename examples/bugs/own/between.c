/* Waits at a condition with a lock that two functions release and acquire, after its only signal. */
#include <cohort.h>
#include <pthread.h>

static cohort_cond_t filled = COHORT_COND_INIT;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void leave(void *lock)
{
    pthread_mutex_unlock(lock);
}

static void enter(void *lock)
{
    pthread_mutex_lock(lock);
}

static void *take(void *unused)
{
    pthread_mutex_lock(&table);
    cohort_cond_wait_between(&filled, leave, enter, &table);
    pthread_mutex_unlock(&table);
    return unused;
}

int main(void)
{
    pthread_t thread;
    cohort_cond_signal(&filled);
    pthread_create(&thread, NULL, take, NULL);
    pthread_join(thread, NULL);
    return 0;
}
