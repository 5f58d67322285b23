/* A thread unlocks another thread's mutex. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;

static void *unlock(void *nothing)
{
    pthread_mutex_unlock(&cache);
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_mutex_lock(&cache);
    pthread_create(&other, NULL, unlock, NULL);
    pthread_join(other, NULL);
    return 0;
}
