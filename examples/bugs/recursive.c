/* Two threads lock two recursive mutexes in opposite orders at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t second = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_barrier_t both;

static void *backwards(void *nothing)
{
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&other, NULL, backwards, NULL);
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second);
    pthread_join(other, NULL);
    return 0;
}
