/* Data passes from thread to thread under a mutex. One thread is cancelled in a condition wait;
 * its handler unlocks the mutex. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t waits;
static int whose;

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void *wait_for_ever(void *nothing)
{
    pthread_mutex_lock(&turn);
    pthread_cleanup_push(unlock, &turn);
    pthread_barrier_wait(&waits);
    for (;;)
        pthread_cond_wait(&changed, &turn);
    pthread_cleanup_pop(1);
    return nothing;
}

static void *play(void *mine)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&turn);
        while (whose != (mine != NULL))
            pthread_cond_wait(&changed, &turn);
        whose = !whose;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

int main(void)
{
    pthread_t one, other, third;
    pthread_barrier_init(&waits, NULL, 2);
    pthread_create(&third, NULL, wait_for_ever, NULL);
    pthread_barrier_wait(&waits);
    pthread_create(&one, NULL, play, NULL);
    pthread_create(&other, NULL, play, &whose);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    pthread_cancel(third);
    pthread_join(third, NULL);
    pthread_mutex_lock(&turn);
    pthread_mutex_unlock(&turn);
    return 0;
}
