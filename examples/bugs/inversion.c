/* Two threads lock two mutexes in opposite orders, one after the other: no hang in this run. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;

static void *transfer(void *nothing)
{
    pthread_mutex_lock(&accounts);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&accounts);
    return nothing;
}

static void *audit(void *nothing)
{
    pthread_mutex_lock(&journal);
    pthread_mutex_lock(&accounts);
    pthread_mutex_unlock(&accounts);
    pthread_mutex_unlock(&journal);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_t idle;
    /* Both threads exist at once, so they have different thread numbers. */
    pthread_create(&one, NULL, transfer, NULL);
    pthread_create(&idle, NULL, transfer, NULL);
    pthread_join(idle, NULL);
    pthread_create(&other, NULL, audit, NULL);
    pthread_join(other, NULL);
    pthread_join(one, NULL);
    return 0;
}
