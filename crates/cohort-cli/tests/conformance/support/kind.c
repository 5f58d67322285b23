#include "kind.h"

#include <sched.h>

enum { PLAIN = PTHREAD_PROCESS_PRIVATE, STALLED = PTHREAD_MUTEX_STALLED };

const struct kind kinds[KINDS] = {
    [NORMAL] = {PTHREAD_MUTEX_NORMAL, PLAIN, STALLED, PTHREAD_PRIO_NONE},
    [RECURSIVE] = {PTHREAD_MUTEX_RECURSIVE, PLAIN, STALLED, PTHREAD_PRIO_NONE},
    [ERRORCHECK] = {PTHREAD_MUTEX_ERRORCHECK, PLAIN, STALLED,
                    PTHREAD_PRIO_NONE},
    [ADAPTIVE] = {PTHREAD_MUTEX_ADAPTIVE_NP, PLAIN, STALLED, PTHREAD_PRIO_NONE},
    [SHARED] = {PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_SHARED, STALLED,
                PTHREAD_PRIO_NONE},
    [ROBUST] = {PTHREAD_MUTEX_NORMAL, PLAIN, PTHREAD_MUTEX_ROBUST,
                PTHREAD_PRIO_NONE},
    [INHERIT] = {PTHREAD_MUTEX_NORMAL, PLAIN, STALLED, PTHREAD_PRIO_INHERIT},
    [PROTECT] = {PTHREAD_MUTEX_NORMAL, PLAIN, STALLED, PTHREAD_PRIO_PROTECT},
};

static void become_real_time(void)
{
    struct sched_param priority = {sched_get_priority_min(SCHED_FIFO)};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0)
        skip("a priority ceiling needs the right to a real-time priority");
}

static void make(pthread_mutex_t *mutex, const struct kind *kind, int shared)
{
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, kind->type));
    OK(pthread_mutexattr_setpshared(&attributes, shared));
    OK(pthread_mutexattr_setrobust(&attributes, kind->robust));
    OK(pthread_mutexattr_setprotocol(&attributes, kind->protocol));
    if (kind->protocol == PTHREAD_PRIO_PROTECT) {
        become_real_time();
        OK(pthread_mutexattr_setprioceiling(
            &attributes, sched_get_priority_min(SCHED_FIFO)));
    }
    OK(pthread_mutex_init(mutex, &attributes));
    OK(pthread_mutexattr_destroy(&attributes));
}

void kind_init(pthread_mutex_t *mutex, const struct kind *kind)
{
    make(mutex, kind, kind->shared);
}

void kind_init_shared(pthread_mutex_t *mutex, const struct kind *kind)
{
    make(mutex, kind, PTHREAD_PROCESS_SHARED);
}

static void *try_and_release(void *argument)
{
    pthread_mutex_t *mutex = argument;
    int error = pthread_mutex_trylock(mutex);
    if (error == EBUSY)
        return mutex;
    OK(error);
    OK(pthread_mutex_unlock(mutex));
    return NULL;
}

bool held_for_others(pthread_mutex_t *mutex)
{
    void *taken;
    OK(pthread_join(start(try_and_release, mutex), &taken));
    return taken != NULL;
}
