/* Two threads wait at a condition with one mutex, a later thread with another mutex. */
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;

static void *wait_with(void *mutex)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 400 * 1000 * 1000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    pthread_mutex_lock(mutex);
    pthread_cond_timedwait(&ready, mutex, &soon);
    pthread_mutex_unlock(mutex);
    return NULL;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, wait_with, &left);
    wait_with(&left);
    pthread_join(other, NULL);
    wait_with(&right);
    return 0;
}
