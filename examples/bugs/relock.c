/* A thread holds two mutexes and waits at a condition with one. After the signal it locks this mutex again; the
 * signaller holds it and locks the other: a deadlock. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both_are_held;
static int is_called;

static void *waits(void *nothing)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    pthread_barrier_wait(&both_are_held);
    while (!is_called)
        pthread_cond_wait(&called, &inner);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return nothing;
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&both_are_held, NULL, 2);
    pthread_create(&thread, NULL, waits, NULL);
    pthread_barrier_wait(&both_are_held);
    /* The other thread held this mutex until its wait. */
    pthread_mutex_lock(&inner);
    is_called = 1;
    pthread_cond_signal(&called);
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    pthread_mutex_unlock(&inner);
    pthread_join(thread, NULL);
    return 0;
}
