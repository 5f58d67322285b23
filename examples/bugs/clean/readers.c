/* Readers acquire two rwlocks in both orders, and wait for no reader. */
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t first = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t second = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t third = PTHREAD_RWLOCK_INITIALIZER;

static void read_both(pthread_rwlock_t *one, pthread_rwlock_t *other)
{
    pthread_rwlock_rdlock(one);
    pthread_rwlock_rdlock(other);
    pthread_rwlock_unlock(other);
    pthread_rwlock_unlock(one);
}

static void *forwards(void *nothing)
{
    for (int i = 0; i < 1000; i++) {
        read_both(&first, &second);
        read_both(&third, &first);
    }
    return nothing;
}

static void *backwards(void *nothing)
{
    for (int i = 0; i < 1000; i++) {
        read_both(&second, &first);
        /* The writer waits for readers of one lock while it reads another. */
        pthread_rwlock_rdlock(&first);
        pthread_rwlock_wrlock(&third);
        pthread_rwlock_unlock(&third);
        pthread_rwlock_unlock(&first);
    }
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, forwards, NULL);
    pthread_create(&other, NULL, backwards, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
