/* An inverted order under a rwlock that both threads hold for reading. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_done;

static void *transfer(void *nothing)
{
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&accounts);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&accounts);
    pthread_rwlock_unlock(&table);
    is_done = 1;
    return nothing;
}

static void *audit(void *nothing)
{
    while (!is_done)
        sched_yield();
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&journal);
    pthread_mutex_lock(&accounts);
    pthread_mutex_unlock(&accounts);
    pthread_mutex_unlock(&journal);
    pthread_rwlock_unlock(&table);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, transfer, NULL);
    pthread_create(&other, NULL, audit, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
