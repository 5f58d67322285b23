/* One thread locks two mutexes in both orders; another thread locks neither. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;

static void *elsewhere(void *nothing)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&third);
        pthread_mutex_unlock(&third);
    }
    return nothing;
}

static void both(pthread_mutex_t *one, pthread_mutex_t *other)
{
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, elsewhere, NULL);
    both(&first, &second);
    both(&second, &first);
    pthread_join(other, NULL);
    return 0;
}
