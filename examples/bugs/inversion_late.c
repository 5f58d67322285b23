/* An inverted order, harmless between joined threads, and later by a concurrent one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_done;

static void *transfer(void *nothing)
{
    pthread_mutex_lock(&accounts);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&accounts);
    is_done = 1;
    return nothing;
}

static void *audit(void *nothing)
{
    while (!is_done)
        sched_yield();
    pthread_mutex_lock(&journal);
    pthread_mutex_lock(&accounts);
    pthread_mutex_unlock(&accounts);
    pthread_mutex_unlock(&journal);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    for (int i = 0; i < 20; i++) {
        pthread_create(&one, NULL, transfer, NULL);
        pthread_join(one, NULL);
    }
    is_done = 0;
    pthread_create(&one, NULL, transfer, NULL);
    pthread_create(&other, NULL, audit, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
