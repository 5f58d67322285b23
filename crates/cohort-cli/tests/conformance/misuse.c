/* What each kind of mutex answers to a program that uses it wrongly, and how
 * deep the recursive kind goes. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <string.h>

enum { SHORT_MS = 30, DEEP = 100000 };

static void *unlock_of_another(void *argument)
{
    GIVES(EPERM, pthread_mutex_unlock(argument));
    return NULL;
}

static struct timespec soon(clockid_t clock)
{
    return in_ms(clock, SHORT_MS);
}

static void errorcheck(const void *with)
{
    (void)with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[ERRORCHECK]);
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    struct timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);
    GIVES(EDEADLK, pthread_mutex_lock(&mutex));
    GIVES(EDEADLK, pthread_mutex_timedlock(&mutex, &real));
    GIVES(EDEADLK, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady));
    GIVES(EBUSY, pthread_mutex_trylock(&mutex));
    join(start(unlock_of_another, &mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!held_for_others(&mutex));
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void recursive(const void *with)
{
    (void)with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[RECURSIVE]);
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    struct timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_timedlock(&mutex, &real));
    OK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady));
    for (int held = 5; held > 0; held--) {
        join(start(unlock_of_another, &mutex));
        CHECK(held_for_others(&mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
    CHECK(!held_for_others(&mutex));
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void recursive_deep(const void *with)
{
    (void)with;
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    for (int i = 0; i < DEEP; i++)
        OK(pthread_mutex_lock(&mutex));
    for (int i = 1; i < DEEP; i++)
        OK(pthread_mutex_unlock(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!held_for_others(&mutex));
}

/* Normal and adaptive mutexes do not know their owner: relocking waits. */
static void relock_waits(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    OK(pthread_mutex_lock(&mutex));
    GIVES(EBUSY, pthread_mutex_trylock(&mutex));
    struct timespec real = soon(CLOCK_REALTIME);
    GIVES(ETIMEDOUT, pthread_mutex_timedlock(&mutex, &real));
    check_punctual(CLOCK_REALTIME, real);
    struct timespec steady = soon(CLOCK_MONOTONIC);
    GIVES(ETIMEDOUT, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady));
    check_punctual(CLOCK_MONOTONIC, steady);
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void *unlock_for_another(void *argument)
{
    OK(pthread_mutex_unlock(argument));
    return NULL;
}

static void *lock_and_unlock(void *argument)
{
    OK(pthread_mutex_lock(argument));
    OK(pthread_mutex_unlock(argument));
    return NULL;
}

/* Undefined by POSIX, common in programs, and works in the C library: a normal
 * mutex is unlocked by a thread that did not lock it, while others queue. */
static void unlocked_by_another(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    for (int round = 0; round < 20; round++) {
        OK(pthread_mutex_lock(&mutex));
        pthread_t waiters[3];
        for (int i = 0; i < 3; i++)
            waiters[i] = start(lock_and_unlock, &mutex);
        if (round < 3)
            settle();
        CHECK(held_for_others(&mutex));
        join(start(unlock_for_another, &mutex));
        for (int i = 0; i < 3; i++)
            join(waiters[i]);
        CHECK(!held_for_others(&mutex));
    }
    OK(pthread_mutex_destroy(&mutex));
}

static void destroy_locked(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    OK(pthread_mutex_lock(&mutex));
    GIVES(EBUSY, pthread_mutex_destroy(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

struct awaited {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    atomic_int waits;
    int told;
};

static void *wait_to_be_told(void *argument)
{
    struct awaited *awaited = argument;
    OK(pthread_mutex_lock(&awaited->mutex));
    atomic_store(&awaited->waits, 1);
    while (!awaited->told)
        OK(pthread_cond_wait(&awaited->cond, &awaited->mutex));
    OK(pthread_mutex_unlock(&awaited->mutex));
    return NULL;
}

/* A mutex that a thread will take when its wait at a condition ends is in use. */
static void destroy_while_awaited(const void *kind, int shared)
{
    struct awaited awaited = {.waits = 0};
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, shared));
    OK(pthread_cond_init(&awaited.cond, &attributes));
    kind_init(&awaited.mutex, kind);
    pthread_t waiter = start(wait_to_be_told, &awaited);
    await(&awaited.waits, 1);
    /* It has released the mutex, and so it waits. */
    OK(pthread_mutex_lock(&awaited.mutex));
    OK(pthread_mutex_unlock(&awaited.mutex));
    GIVES(EBUSY, pthread_mutex_destroy(&awaited.mutex));
    OK(pthread_mutex_lock(&awaited.mutex));
    awaited.told = 1;
    OK(pthread_cond_signal(&awaited.cond));
    OK(pthread_mutex_unlock(&awaited.mutex));
    join(waiter);
    OK(pthread_mutex_destroy(&awaited.mutex));
}

static void destroy_awaited(const void *kind)
{
    destroy_while_awaited(kind, PTHREAD_PROCESS_PRIVATE);
}

static void destroy_awaited_shared(const void *kind)
{
    destroy_while_awaited(kind, PTHREAD_PROCESS_SHARED);
}

static void *lock_and_end(void *argument)
{
    OK(pthread_mutex_lock(argument));
    return NULL;
}

static void *finds_it_held(void *argument)
{
    struct timespec real = soon(CLOCK_REALTIME);
    GIVES(EBUSY, pthread_mutex_trylock(argument));
    GIVES(ETIMEDOUT, pthread_mutex_timedlock(argument, &real));
    GIVES(EPERM, pthread_mutex_unlock(argument));
    return NULL;
}

/* A thread that ends goes on holding its mutex: the next thread, whose stack the
 * C library puts in the same place, is another one. */
static void ended_owner(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    join(start(lock_and_end, &mutex));
    for (int i = 0; i < 3; i++)
        join(start(finds_it_held, &mutex));
    CHECK(held_for_others(&mutex));
}

static void use_after_destroy(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    OK(pthread_mutex_destroy(&mutex));
    struct timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);
    GIVES(EINVAL, pthread_mutex_lock(&mutex));
    GIVES(EINVAL, pthread_mutex_trylock(&mutex));
    GIVES(EINVAL, pthread_mutex_timedlock(&mutex, &real));
    GIVES(EINVAL, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady));
    GIVES(EINVAL, pthread_mutex_unlock(&mutex));
    kind_init(&mutex, kind);
    OK(pthread_mutex_lock(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void static_initialisers(const void *with)
{
    (void)with;
    pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&normal));
    GIVES(EBUSY, pthread_mutex_trylock(&normal));
    CHECK(held_for_others(&normal));
    OK(pthread_mutex_unlock(&normal));
    CHECK(!held_for_others(&normal));

    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    CHECK(held_for_others(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    CHECK(!held_for_others(&recursive));
    GIVES(EPERM, pthread_mutex_unlock(&recursive));

    pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&errorcheck));
    GIVES(EDEADLK, pthread_mutex_lock(&errorcheck));
    CHECK(held_for_others(&errorcheck));
    OK(pthread_mutex_unlock(&errorcheck));
    GIVES(EPERM, pthread_mutex_unlock(&errorcheck));

    pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&adaptive));
    GIVES(EBUSY, pthread_mutex_trylock(&adaptive));
    CHECK(held_for_others(&adaptive));
    OK(pthread_mutex_unlock(&adaptive));
    CHECK(!held_for_others(&adaptive));

    OK(pthread_mutex_destroy(&normal));
    OK(pthread_mutex_destroy(&recursive));
    OK(pthread_mutex_destroy(&errorcheck));
    OK(pthread_mutex_destroy(&adaptive));
}

/* A mutex of zero bytes is a normal one, whatever its memory held before. */
static void zeroed(const void *with)
{
    (void)with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[RECURSIVE]);
    OK(pthread_mutex_lock(&mutex));
    memset(&mutex, 0, sizeof mutex);
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_lock(&mutex));
    GIVES(EBUSY, pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

static void not_robust(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    GIVES(EINVAL, pthread_mutex_consistent(&mutex));
    OK(pthread_mutex_lock(&mutex));
    GIVES(EINVAL, pthread_mutex_consistent(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void no_ceiling(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    int ceiling;
    GIVES(EINVAL, pthread_mutex_getprioceiling(&mutex, &ceiling));
    GIVES(EINVAL, pthread_mutex_setprioceiling(&mutex, 1, &ceiling));
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void bad_attributes(const void *with)
{
    (void)with;
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    GIVES(EINVAL, pthread_mutexattr_settype(&attributes, 99));
    GIVES(EINVAL, pthread_mutexattr_setpshared(&attributes, 99));
    GIVES(EINVAL, pthread_mutexattr_setrobust(&attributes, 99));
    GIVES(EINVAL, pthread_mutexattr_setprotocol(&attributes, 99));
    pthread_mutex_t mutex;
    OK(pthread_mutex_init(&mutex, &attributes));
    OK(pthread_mutex_lock(&mutex));
    GIVES(EBUSY, pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
    OK(pthread_mutexattr_destroy(&attributes));
}

CASES(CASE("errorcheck", errorcheck), CASE("recursive", recursive),
      CASE("recursive-deep", recursive_deep),
      CASE_WITH("relock-waits/normal", relock_waits, &kinds[NORMAL]),
      CASE_WITH("relock-waits/adaptive", relock_waits, &kinds[ADAPTIVE]),
      CASE_WITH("relock-waits/shared", relock_waits, &kinds[SHARED]),
      CASE_WITH("unlocked-by-another/normal", unlocked_by_another,
                &kinds[NORMAL]),
      CASE_WITH("unlocked-by-another/adaptive", unlocked_by_another,
                &kinds[ADAPTIVE]),
      CASE_WITH("destroy-locked/normal", destroy_locked, &kinds[NORMAL]),
      CASE_WITH("destroy-locked/recursive", destroy_locked, &kinds[RECURSIVE]),
      CASE_WITH("destroy-locked/errorcheck", destroy_locked,
                &kinds[ERRORCHECK]),
      CASE_WITH("destroy-locked/adaptive", destroy_locked, &kinds[ADAPTIVE]),
      CASE_WITH("destroy-locked/shared", destroy_locked, &kinds[SHARED]),
      CASE_WITH("destroy-locked/inherit", destroy_locked, &kinds[INHERIT]),
      CASE_WITH("destroy-awaited/normal", destroy_awaited, &kinds[NORMAL]),
      CASE_WITH("destroy-awaited/recursive", destroy_awaited, &kinds[RECURSIVE]),
      CASE_WITH("destroy-awaited/errorcheck", destroy_awaited,
                &kinds[ERRORCHECK]),
      CASE_WITH("destroy-awaited/adaptive", destroy_awaited, &kinds[ADAPTIVE]),
      CASE_WITH("destroy-awaited/shared", destroy_awaited, &kinds[SHARED]),
      CASE_WITH("destroy-awaited/inherit", destroy_awaited, &kinds[INHERIT]),
      CASE_WITH("destroy-awaited/protect", destroy_awaited, &kinds[PROTECT]),
      CASE_WITH("destroy-awaited-shared/normal", destroy_awaited_shared,
                &kinds[NORMAL]),
      CASE_WITH("destroy-awaited-shared/recursive", destroy_awaited_shared,
                &kinds[RECURSIVE]),
      CASE_WITH("destroy-awaited-shared/shared", destroy_awaited_shared,
                &kinds[SHARED]),
      CASE_WITH("ended-owner/recursive", ended_owner, &kinds[RECURSIVE]),
      CASE_WITH("ended-owner/errorcheck", ended_owner, &kinds[ERRORCHECK]),
      EACH_KIND("use-after-destroy", use_after_destroy),
      CASE("static-initialisers", static_initialisers), CASE("zeroed", zeroed),
      CASE_WITH("not-robust/normal", not_robust, &kinds[NORMAL]),
      CASE_WITH("not-robust/recursive", not_robust, &kinds[RECURSIVE]),
      CASE_WITH("not-robust/shared", not_robust, &kinds[SHARED]),
      CASE_WITH("no-ceiling/normal", no_ceiling, &kinds[NORMAL]),
      CASE_WITH("no-ceiling/recursive", no_ceiling, &kinds[RECURSIVE]),
      CASE_WITH("no-ceiling/inherit", no_ceiling, &kinds[INHERIT]),
      CASE("bad-attributes", bad_attributes))
