/* The main thread ends; two other threads are deadlocked. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

static void *forwards(void *nothing)
{
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both_hold_one);
    /* The other thread holds this mutex. */
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return nothing;
}

static void *backwards(void *nothing)
{
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_create(&one, NULL, forwards, NULL);
    pthread_create(&other, NULL, backwards, NULL);
    pthread_exit(NULL);
}
