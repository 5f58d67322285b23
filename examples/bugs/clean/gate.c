/* Two orders under one mutex, which excludes the deadlock. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *backwards)
{
    pthread_mutex_t *one = backwards ? &second : &first;
    pthread_mutex_t *other = backwards ? &first : &second;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&gate);
        pthread_mutex_lock(one);
        pthread_mutex_lock(other);
        pthread_mutex_unlock(other);
        pthread_mutex_unlock(one);
        pthread_mutex_unlock(&gate);
    }
    return NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, take, NULL);
    pthread_create(&other, NULL, take, &gate);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
