/* Two threads acquire recursive mutexes and read locks repeatedly, in one order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t second = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static void *work(void *nothing)
{
    for (int turn = 0; turn < 20000; turn++) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        pthread_rwlock_rdlock(&table);
        pthread_rwlock_rdlock(&table);
        pthread_rwlock_unlock(&table);
        pthread_rwlock_unlock(&table);
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&first);
        pthread_mutex_unlock(&first);
    }
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    return 0;
}
