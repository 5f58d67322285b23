/* A thread unlocks another thread's mutex; the owner locks further mutexes. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t unlocked, done;

static void *unlock(void *nothing)
{
    pthread_mutex_unlock(&cache);
    pthread_barrier_wait(&unlocked);
    pthread_barrier_wait(&done);
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_barrier_init(&unlocked, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_mutex_lock(&cache);
    pthread_create(&other, NULL, unlock, NULL);
    pthread_barrier_wait(&unlocked);
    pthread_mutex_lock(&list);
    pthread_mutex_unlock(&list);
    pthread_barrier_wait(&done);
    pthread_join(other, NULL);
    return 0;
}
