/* Two threads wait for each other's mutex with deadlines, which end the waits. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

static void *take(void *backwards)
{
    pthread_mutex_t *one = backwards ? &second : &first;
    pthread_mutex_t *other = backwards ? &first : &second;
    struct timespec soon;
    pthread_mutex_lock(one);
    pthread_barrier_wait(&both_hold_one);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1;
    if (pthread_mutex_timedlock(other, &soon) == 0)
        pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
    return NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_create(&one, NULL, take, NULL);
    pthread_create(&other, NULL, take, &first);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
