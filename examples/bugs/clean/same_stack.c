/* A thread holds a recursive lock, on the stack of an ended thread that held it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_barrier_t held;

static void *take(void *nothing)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void *hold(void *nothing)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&held);
    usleep(500000);
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_barrier_init(&held, NULL, 2);
    pthread_create(&other, NULL, take, NULL);
    pthread_join(other, NULL);
    pthread_create(&other, NULL, hold, NULL);
    pthread_barrier_wait(&held);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
    return 0;
}
