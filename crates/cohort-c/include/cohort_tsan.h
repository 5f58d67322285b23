/*
 * Tells ThreadSanitizer of the orders that Cohort's locks make.  cohort.h includes this under
 * -fsanitize=thread; a program does not include it itself.
 *
 * The library is not instrumented, so the sanitizer sees none of its atomic operations.  Each
 * function below takes the place of the library's of the same name, and calls that one.  It has a
 * symbol of its own: files that are compiled without the sanitizer call the library directly.
 *
 * A release happens before each later acquisition.  Readers are ordered after writers, and writers
 * after all; readers are not ordered among themselves.  No lock has an owner here, since any thread
 * may release a named lock.
 */
#ifndef COHORT_TSAN_H
#define COHORT_TSAN_H

#include <cohort.h>
#include <errno.h>
#include <sanitizer/tsan_interface.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the readers of a lock release: a byte of it that no other lock has. */
static inline void *cohort_tsan_readers(const void *lock)
{
    return (char *)lock + 1;
}

static inline void cohort_tsan_acquire(const void *place)
{
    __tsan_acquire((void *)place);
}

static inline void cohort_tsan_release(const void *place)
{
    __tsan_release((void *)place);
}

/* A function of the library's, with what comes before the call and after it. */
#define COHORT_TSAN(function, parameters, arguments, before, after) \
    int cohort_tsan_##function parameters __asm__(#function); \
    int function parameters __asm__("cohort_tsan_" #function); \
    __attribute__((weak, visibility("hidden"))) COHORT_ANNOTATION(no_thread_safety_analysis) \
    int function parameters \
    { \
        before; \
        const int result = cohort_tsan_##function arguments; \
        after; \
        return result; \
    }

#define COHORT_TSAN_DONE(act) \
    if (result == 0) \
        act

/* A wait that a token has ended comes after the cancellation. */
#define COHORT_TSAN_UNLESS(act) \
    act; \
    if (result == ECANCELED) \
        cohort_tsan_acquire(token)

#define COHORT_TSAN_UNTIL(type) (type *lock, int clock, const struct timespec *time)
#define COHORT_TSAN_FOR(type) (type *lock, uint64_t nanoseconds)

/* The functions that acquire a lock: at once, perhaps, and for a limited time. */
#define COHORT_TSAN_TIMED(function, type, act) \
    COHORT_TSAN(function##_try, (type *lock), (lock), , COHORT_TSAN_DONE(act)) \
    COHORT_TSAN(function##_until, COHORT_TSAN_UNTIL(type), (lock, clock, time), , \
                COHORT_TSAN_DONE(act)) \
    COHORT_TSAN(function##_for, COHORT_TSAN_FOR(type), (lock, nanoseconds), , \
                COHORT_TSAN_DONE(act)) \
    COHORT_TSAN(function##_unless, (type *lock, cohort_token_t *token), (lock, token), , \
                COHORT_TSAN_UNLESS(COHORT_TSAN_DONE(act)))
#define COHORT_TSAN_ACQUIRE(function, type, act) \
    COHORT_TSAN(function, (type *lock), (lock), , COHORT_TSAN_DONE(act)) \
    COHORT_TSAN_TIMED(function, type, act)

#define COHORT_TSAN_WRITE(lock) (cohort_tsan_acquire(lock), \
                                 cohort_tsan_acquire(cohort_tsan_readers(lock)))

COHORT_TSAN_ACQUIRE(cohort_mutex_lock, cohort_mutex_t, cohort_tsan_acquire(lock))
COHORT_TSAN(cohort_mutex_unlock, (cohort_mutex_t *lock), (lock), cohort_tsan_release(lock), )

COHORT_TSAN_ACQUIRE(cohort_rwlock_read, cohort_rwlock_t, cohort_tsan_acquire(lock))
COHORT_TSAN_ACQUIRE(cohort_rwlock_write, cohort_rwlock_t, COHORT_TSAN_WRITE(lock))
COHORT_TSAN(cohort_rwlock_unlock, (cohort_rwlock_t *lock), (lock),
            cohort_tsan_release(cohort_rwlock_is_written(lock) ? lock : cohort_tsan_readers(lock)), )
COHORT_TSAN(cohort_rwlock_unlock_fair, (cohort_rwlock_t *lock), (lock),
            cohort_tsan_release(cohort_rwlock_is_written(lock) ? lock : cohort_tsan_readers(lock)), )
COHORT_TSAN(cohort_rwlock_unlock_upgradable, (cohort_rwlock_t *lock), (lock),
            cohort_tsan_release(cohort_tsan_readers(lock)), )
COHORT_TSAN_ACQUIRE(cohort_rwlock_read_upgradable, cohort_rwlock_t, cohort_tsan_acquire(lock))
COHORT_TSAN_ACQUIRE(cohort_rwlock_upgrade, cohort_rwlock_t, COHORT_TSAN_WRITE(lock))
COHORT_TSAN(cohort_rwlock_downgrade, (cohort_rwlock_t *lock), (lock), cohort_tsan_release(lock), )
COHORT_TSAN(cohort_rwlock_downgrade_upgradable, (cohort_rwlock_t *lock), (lock),
            cohort_tsan_release(lock), )

COHORT_TSAN_ACQUIRE(cohort_shared_read, cohort_shared_t, cohort_tsan_acquire(lock))
COHORT_TSAN_ACQUIRE(cohort_shared_write, cohort_shared_t, COHORT_TSAN_WRITE(lock))
COHORT_TSAN(cohort_shared_unlock, (cohort_shared_t *lock), (lock),
            cohort_tsan_release(cohort_shared_is_written(lock) ? lock : cohort_tsan_readers(lock)), )

COHORT_TSAN_ACQUIRE(cohort_lock_acquire, cohort_lock_t, cohort_tsan_acquire(lock))
COHORT_TSAN(cohort_lock_acquire_by, (cohort_lock_t *lock, cohort_context_t *context),
            (lock, context), , COHORT_TSAN_DONE(cohort_tsan_acquire(lock)))
COHORT_TSAN(cohort_lock_acquire_try_by, (cohort_lock_t *lock, cohort_context_t *context),
            (lock, context), , COHORT_TSAN_DONE(cohort_tsan_acquire(lock)))
COHORT_TSAN(cohort_lock_release, (cohort_lock_t *lock), (lock), cohort_tsan_release(lock), )
COHORT_TSAN(cohort_lock_release_by, (cohort_lock_t *lock, cohort_context_t *context),
            (lock, context), cohort_tsan_release(lock), )

/* A wait at a condition releases the lock, and acquires it again. */
#define COHORT_TSAN_WAKE \
    cohort_tsan_acquire(lock); \
    COHORT_TSAN_DONE(cohort_tsan_acquire(cond))
#define COHORT_TSAN_WAIT(function, type) \
    COHORT_TSAN(function, (cohort_cond_t *cond, type *lock), (cond, lock), \
                cohort_tsan_release(lock), COHORT_TSAN_WAKE) \
    COHORT_TSAN(function##_until, \
                (cohort_cond_t *cond, type *lock, int clock, const struct timespec *time), \
                (cond, lock, clock, time), cohort_tsan_release(lock), COHORT_TSAN_WAKE)
#define COHORT_TSAN_WAIT_FOR(function, type) \
    COHORT_TSAN_WAIT(function, type) \
    COHORT_TSAN(function##_for, (cohort_cond_t *cond, type *lock, uint64_t nanoseconds), \
                (cond, lock, nanoseconds), cohort_tsan_release(lock), COHORT_TSAN_WAKE) \
    COHORT_TSAN(function##_unless, (cohort_cond_t *cond, type *lock, cohort_token_t *token), \
                (cond, lock, token), cohort_tsan_release(lock), COHORT_TSAN_UNLESS(COHORT_TSAN_WAKE))

COHORT_TSAN_WAIT_FOR(cohort_cond_wait, cohort_mutex_t)
COHORT_TSAN_WAIT_FOR(cohort_cond_wait_lock, cohort_lock_t)
COHORT_TSAN_WAIT(cohort_cond_wait_delegated, cohort_delegated_t)

/* The program's own functions release and acquire here. */
COHORT_TSAN(cohort_cond_wait_between,
            (cohort_cond_t *cond, cohort_step_t release, cohort_step_t acquire, void *argument),
            (cond, release, acquire, argument), ,
            COHORT_TSAN_DONE(cohort_tsan_acquire(cond)))
COHORT_TSAN(cohort_cond_wait_between_until,
            (cohort_cond_t *cond, cohort_step_t release, cohort_step_t acquire, void *argument,
             int clock, const struct timespec *time),
            (cond, release, acquire, argument, clock, time), ,
            COHORT_TSAN_DONE(cohort_tsan_acquire(cond)))
COHORT_TSAN(cohort_cond_wait_between_for,
            (cohort_cond_t *cond, cohort_step_t release, cohort_step_t acquire, void *argument,
             uint64_t nanoseconds),
            (cond, release, acquire, argument, nanoseconds), ,
            COHORT_TSAN_DONE(cohort_tsan_acquire(cond)))
COHORT_TSAN(cohort_cond_signal, (cohort_cond_t *cond), (cond), cohort_tsan_release(cond), )
COHORT_TSAN(cohort_cond_broadcast, (cohort_cond_t *cond), (cond), cohort_tsan_release(cond), )

#define COHORT_TSAN_ADDRESS(of) \
    COHORT_TSAN(of##_lock, (const void *address), (address), , \
                COHORT_TSAN_DONE(cohort_tsan_acquire(address))) \
    COHORT_TSAN(of##_trylock, (const void *address), (address), , \
                COHORT_TSAN_DONE(cohort_tsan_acquire(address))) \
    COHORT_TSAN(of##_timedlock, (const void *address, const struct timespec *time), \
                (address, time), , COHORT_TSAN_DONE(cohort_tsan_acquire(address))) \
    COHORT_TSAN(of##_clocklock, (const void *address, int clock, const struct timespec *time), \
                (address, clock, time), , COHORT_TSAN_DONE(cohort_tsan_acquire(address))) \
    COHORT_TSAN(of##_unlock, (const void *address), (address), cohort_tsan_release(address), )
#define COHORT_TSAN_ALGORITHM(name) COHORT_TSAN_ADDRESS(cohort_gls_##name)

COHORT_TSAN_ADDRESS(cohort_gls)
COHORT_TSAN(cohort_gls_lock_try, (const void *address), (address), ,
            COHORT_TSAN_DONE(cohort_tsan_acquire(address)))
COHORT_TSAN(cohort_gls_lock_until, (const void *address, int clock, const struct timespec *time),
            (address, clock, time), , COHORT_TSAN_DONE(cohort_tsan_acquire(address)))
COHORT_TSAN(cohort_gls_lock_for, (const void *address, uint64_t nanoseconds),
            (address, nanoseconds), , COHORT_TSAN_DONE(cohort_tsan_acquire(address)))
COHORT_TSAN(cohort_gls_lock_unless, (const void *address, cohort_token_t *token),
            (address, token), , COHORT_TSAN_UNLESS(COHORT_TSAN_DONE(cohort_tsan_acquire(address))))
COHORT_EACH_LOCK(COHORT_TSAN_ALGORITHM)

/* A section on its way to the thread that runs it. */
struct cohort_tsan_brought {
    cohort_delegated_t *lock;
    void (*run)(void *);
    void *argument;
};

static inline void cohort_tsan_run(void *argument)
{
    const struct cohort_tsan_brought *brought = (const struct cohort_tsan_brought *)argument;
    cohort_tsan_acquire(brought->lock);
    brought->run(brought->argument);
    cohort_tsan_release(brought->lock);
}

COHORT_TSAN(cohort_delegate, (cohort_delegated_t *lock, void (*run)(void *), void *argument),
            (lock, run ? cohort_tsan_run : run, &brought),
            struct cohort_tsan_brought brought; brought.lock = lock; brought.run = run;
            brought.argument = argument; cohort_tsan_release(lock),
            cohort_tsan_acquire(lock))
COHORT_TSAN(cohort_delegated_lock, (cohort_delegated_t *lock), (lock), ,
            COHORT_TSAN_DONE(cohort_tsan_acquire(lock)))
COHORT_TSAN(cohort_delegated_lock_try, (cohort_delegated_t *lock), (lock), ,
            COHORT_TSAN_DONE(cohort_tsan_acquire(lock)))
COHORT_TSAN(cohort_delegated_unlock, (cohort_delegated_t *lock), (lock), cohort_tsan_release(lock), )

COHORT_TSAN(cohort_token_cancel, (cohort_token_t *token), (token), cohort_tsan_release(token), )
COHORT_TSAN(cohort_token_is_cancelled, (const cohort_token_t *token), (token), ,
            if (result) cohort_tsan_acquire(token))

#undef COHORT_TSAN
#undef COHORT_TSAN_DONE
#undef COHORT_TSAN_UNLESS
#undef COHORT_TSAN_UNTIL
#undef COHORT_TSAN_FOR
#undef COHORT_TSAN_TIMED
#undef COHORT_TSAN_ACQUIRE
#undef COHORT_TSAN_BRIEF
#undef COHORT_TSAN_WRITE
#undef COHORT_TSAN_WAKE
#undef COHORT_TSAN_WAIT
#undef COHORT_TSAN_WAIT_FOR
#undef COHORT_TSAN_ADDRESS
#undef COHORT_TSAN_ALGORITHM

#ifdef __cplusplus
}
#endif

#endif /* COHORT_TSAN_H */
