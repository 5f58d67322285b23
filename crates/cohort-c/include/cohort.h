/* Cohort's locks for C and C++.  Made by cbindgen of crates/cohort-c; do not edit. */

#ifndef COHORT_H
#define COHORT_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>
/*
 * Version of this header: major << 16 | minor << 8 | patch.  cohort_check_version() tells
 * whether the library serves it.
 */
#define COHORT_VERSION 0x000100u

/*
 * What clang's -Wthread-safety checks.  C++ programs that use libstdc++'s own guards may turn
 * it off by defining COHORT_NO_THREAD_SAFETY.
 */
#if defined(__clang__) && !defined(COHORT_NO_THREAD_SAFETY)
#define COHORT_ANNOTATION(x) __attribute__((x))
#else
#define COHORT_ANNOTATION(x)
#endif
#define COHORT_CAPABILITY COHORT_ANNOTATION(capability("mutex"))
#define COHORT_GUARDED_BY(lock) COHORT_ANNOTATION(guarded_by(lock))
#define COHORT_REQUIRES(lock) COHORT_ANNOTATION(requires_capability(lock))
#define COHORT_ACQUIRE(lock) COHORT_ANNOTATION(acquire_capability(lock))
#define COHORT_ACQUIRE_SHARED(lock) COHORT_ANNOTATION(acquire_shared_capability(lock))
#define COHORT_TRY_ACQUIRE(result, lock) \
    COHORT_ANNOTATION(try_acquire_capability(result, lock))
#define COHORT_TRY_ACQUIRE_SHARED(result, lock) \
    COHORT_ANNOTATION(try_acquire_shared_capability(result, lock))
#define COHORT_RELEASE(lock) COHORT_ANNOTATION(release_capability(lock))
#define COHORT_RELEASE_SHARED(lock) COHORT_ANNOTATION(release_shared_capability(lock))
#define COHORT_RELEASE_GENERIC(lock) COHORT_ANNOTATION(release_generic_capability(lock))

/* Opaque words, all zero when nobody holds them; on any memory, shared by no two processes. */
typedef struct COHORT_CAPABILITY cohort_mutex { uint32_t cohort_words[2]; } cohort_mutex_t;
typedef struct COHORT_CAPABILITY cohort_rwlock { uint32_t cohort_words[4]; } cohort_rwlock_t;
typedef struct cohort_cond { uint32_t cohort_words[6]; } cohort_cond_t;

/* Ends waits before their time; all zero until it is cancelled. */
typedef struct cohort_token { uint64_t cohort_words[3]; } cohort_token_t;

/* A lock that was made by its name. */
typedef struct COHORT_CAPABILITY cohort_lock cohort_lock_t;

/* A lock to which sections are brought as functions: cohort_delegate(). */
typedef struct COHORT_CAPABILITY cohort_delegated cohort_delegated_t;

/*
 * What one acquisition of such a lock carries, for callers that keep it themselves: it stays
 * where it is until the lock is released.
 */
typedef struct cohort_context {
    unsigned char cohort_bytes[128] __attribute__((aligned(64)));
} cohort_context_t;

/* What releases or acquires a lock of the program's own, for cohort_cond_wait_between(). */
typedef void (*cohort_step_t)(void *argument);

#define COHORT_MUTEX_INIT { { 0, 0 } }
#define COHORT_RWLOCK_INIT { { 0, 0, 0, 0 } }
#define COHORT_COND_INIT { { 0, 0, 0, 0, 0, 0 } }
#define COHORT_TOKEN_INIT { { 0, 0, 0 } }

/* Calls a macro with each lock of `cohort list`, by the lock's name with _ for -. */
#define COHORT_EACH_LOCK(call) \
    call(futex_hmcs) \
    call(futex) \
    call(tas) \
    call(ttas) \
    call(bo) \
    call(ticket) \
    call(ticket_apart) \
    call(ticket_delay) \
    call(ptl) \
    call(mcs) \
    call(clh) \
    call(clh_published) \
    call(k42) \
    call(hemlock) \
    call(hemlock_ctr) \
    call(anderson) \
    call(reciprocating) \
    call(malthusian) \
    call(glk) \
    call(glk_plus) \
    call(cna) \
    call(near) \
    call(fissile) \
    call(shfl) \
    call(hbo) \
    call(fc_mcs) \
    call(fc_mcs_published) \
    call(hclh) \
    call(hmcs_2) \
    call(hmcs_3) \
    call(hmcs_4) \
    call(hmcs_4_package) \
    call(ahmcs_3) \
    call(ahmcs_4) \
    call(hmcs_t_1) \
    call(hmcs_t_2) \
    call(hmcs_t_3) \
    call(hmcs_t_4) \
    call(c_bo_bo) \
    call(c_tkt_tkt) \
    call(c_ptl_tkt) \
    call(c_bo_mcs) \
    call(c_tkt_mcs) \
    call(c_mcs_mcs) \
    call(a_c_bo_bo) \
    call(a_c_bo_clh) \
    call(clh_nb) \
    call(mcs_nb) \
    call(clh_try) \
    call(mcs_try)

/*
 * Any of these locks for any address, as in cohort_gls_hmcs_3_lock: each as the function
 * without the name, below.
 */
#define COHORT_GLS(lock) \
    int cohort_gls_##lock##_lock(const void *address); \
    int cohort_gls_##lock##_trylock(const void *address); \
    int cohort_gls_##lock##_timedlock(const void *address, const struct timespec *time); \
    int cohort_gls_##lock##_clocklock(const void *address, int clock, \
        const struct timespec *time); \
    int cohort_gls_##lock##_unlock(const void *address);
#ifdef __cplusplus
extern "C" {
#endif
COHORT_EACH_LOCK(COHORT_GLS)
#ifdef __cplusplus
}
#endif
#undef COHORT_GLS

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Makes a mutex of any bytes, as `COHORT_MUTEX_INIT` does.
 */
int cohort_mutex_init(cohort_mutex_t *mutex);

/*
 Ends a mutex, which is ready again at once; `EBUSY` if somebody has locked it.  Nothing is
 lost if nobody calls this.
 */
int cohort_mutex_destroy(cohort_mutex_t *mutex);

/*
 Blocks until the mutex is locked.  A thread that has locked it already waits for ever.
 */
int cohort_mutex_lock(cohort_mutex_t *mutex) COHORT_ACQUIRE(*mutex);

/*
 Locks the mutex, or returns `EBUSY` if somebody has; never blocks.
 */
int cohort_mutex_lock_try(cohort_mutex_t *mutex) COHORT_TRY_ACQUIRE(0, *mutex);

/*
 Blocks until the mutex is locked, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_mutex_lock_until(cohort_mutex_t *mutex,
                            int clock,
                            const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *mutex);

/*
 Blocks until the mutex is locked, or returns `ETIMEDOUT` after so many nanoseconds.
 */
int cohort_mutex_lock_for(cohort_mutex_t *mutex,
                          uint64_t nanoseconds)
COHORT_TRY_ACQUIRE(0, *mutex);

/*
 Blocks until the mutex is locked, or returns `ECANCELED` once the token is cancelled.
 */
int cohort_mutex_lock_unless(cohort_mutex_t *mutex,
                             cohort_token_t *token)
COHORT_TRY_ACQUIRE(0, *mutex);

/*
 Unlocks the mutex; `EPERM` if nobody has locked it.  A mutex does not know its
 owner: to unlock another thread's is not noticed, and its section is no longer alone.  Nor is
 it noticed that another thread has unlocked what the caller locked last.
 */
int cohort_mutex_unlock(cohort_mutex_t *mutex) COHORT_RELEASE(*mutex);

/*
 1 if somebody had locked the mutex a moment ago, else 0: for assertions.
 */
int cohort_mutex_is_locked(const cohort_mutex_t *mutex);

/*
 Makes a lock of any bytes, as `COHORT_RWLOCK_INIT` does.
 */
int cohort_rwlock_init(cohort_rwlock_t *rwlock);

/*
 Ends a lock, which is ready again at once; `EBUSY` if somebody holds it.  Nothing is lost
 if nobody calls this.
 */
int cohort_rwlock_destroy(cohort_rwlock_t *rwlock);

/*
 Blocks until the lock is held to read; past waiting writers after five milliseconds, since the
 thread may hold it already.  Once one of the process had to wait so, a thread that has taken a read
 lock since passes at once.  `EAGAIN` if half a million hold it.
 */
int cohort_rwlock_read(cohort_rwlock_t *rwlock)
COHORT_ACQUIRE_SHARED(*rwlock);

/*
 Takes the lock to read, or returns `EBUSY` if a writer holds it or waits; never blocks.  A thread
 that waiting writers have refused for five milliseconds passes them, here and where it gives up
 sooner than that.
 */
int cohort_rwlock_read_try(cohort_rwlock_t *rwlock) COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is held to read, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_rwlock_read_until(cohort_rwlock_t *rwlock,
                             int clock,
                             const struct timespec *time)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is held to read, or returns `ETIMEDOUT` after so many nanoseconds.
 */
int cohort_rwlock_read_for(cohort_rwlock_t *rwlock,
                           uint64_t nanoseconds)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is held to read, or returns `ECANCELED` once the token is cancelled.
 */
int cohort_rwlock_read_unless(cohort_rwlock_t *rwlock,
                              cohort_token_t *token)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is held to write.  A thread that holds it waits for ever.
 */
int cohort_rwlock_write(cohort_rwlock_t *rwlock) COHORT_ACQUIRE(*rwlock);

/*
 Takes the lock to write, or returns `EBUSY` if somebody holds it; never blocks.
 */
int cohort_rwlock_write_try(cohort_rwlock_t *rwlock) COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Blocks until the lock is held to write, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_rwlock_write_until(cohort_rwlock_t *rwlock,
                              int clock,
                              const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Blocks until the lock is held to write, or returns `ETIMEDOUT` after so many nanoseconds.
 */
int cohort_rwlock_write_for(cohort_rwlock_t *rwlock,
                            uint64_t nanoseconds)
COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Blocks until the lock is held to write, or returns `ECANCELED` once the token is cancelled.
 */
int cohort_rwlock_write_unless(cohort_rwlock_t *rwlock,
                               cohort_token_t *token)
COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Releases what the caller holds, to read or to write; `EPERM` if nobody holds the lock.
 */
int cohort_rwlock_unlock(cohort_rwlock_t *rwlock) COHORT_RELEASE_GENERIC(*rwlock);

/*
 1 if a writer held the lock a moment ago, else 0: for assertions.
 */
int cohort_rwlock_is_written(const cohort_rwlock_t *rwlock);

/*
 Makes a condition of any bytes, as `COHORT_COND_INIT` does.
 */
int cohort_cond_init(cohort_cond_t *cond);

/*
 Ends a condition, which is ready again at once; `EBUSY` if somebody waits.  Nothing is lost
 if nobody calls this.
 */
int cohort_cond_destroy(cohort_cond_t *cond);

/*
 Unlocks the mutex, blocks until it is signalled, and locks the mutex again; `EPERM` if
 nobody has locked it.  As with every condition, look again in a loop.  No cancellation point.
 */
int cohort_cond_wait(cohort_cond_t *cond, cohort_mutex_t *mutex) COHORT_REQUIRES(*mutex);

/*
 The same, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the latest:
 `ETIMEDOUT`, with the mutex locked.
 */
int cohort_cond_wait_until(cohort_cond_t *cond,
                           cohort_mutex_t *mutex,
                           int clock,
                           const struct timespec *time)
COHORT_REQUIRES(*mutex);

/*
 The same, for so many nanoseconds at most.
 */
int cohort_cond_wait_for(cohort_cond_t *cond,
                         cohort_mutex_t *mutex,
                         uint64_t nanoseconds)
COHORT_REQUIRES(*mutex);

/*
 The same, until the token is cancelled: `ECANCELED`, with the mutex locked.
 */
int cohort_cond_wait_unless(cohort_cond_t *cond,
                            cohort_mutex_t *mutex,
                            cohort_token_t *token)
COHORT_REQUIRES(*mutex);

/*
 `cohort_cond_wait` with a lock that was made by name, and acquired without a context of
 the caller's; else `EPERM`.
 */
int cohort_cond_wait_lock(cohort_cond_t *cond, cohort_lock_t *lock) COHORT_REQUIRES(*lock);

/*
 The same, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the latest.
 */
int cohort_cond_wait_lock_until(cohort_cond_t *cond,
                                cohort_lock_t *lock,
                                int clock,
                                const struct timespec *time)
COHORT_REQUIRES(*lock);

/*
 The same, for so many nanoseconds at most.
 */
int cohort_cond_wait_lock_for(cohort_cond_t *cond,
                              cohort_lock_t *lock,
                              uint64_t nanoseconds)
COHORT_REQUIRES(*lock);

/*
 The same, until the token is cancelled: `ECANCELED`, with the lock held.
 */
int cohort_cond_wait_lock_unless(cohort_cond_t *cond,
                                 cohort_lock_t *lock,
                                 cohort_token_t *token)
COHORT_REQUIRES(*lock);

/*
 `cohort_cond_wait` with a lock to which sections are brought, and which `cohort_delegated_lock` has
 locked; else `EPERM`.  Not from a section.
 */
int cohort_cond_wait_delegated(cohort_cond_t *cond,
                               cohort_delegated_t *lock)
COHORT_REQUIRES(*lock);

/*
 The same, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the latest.
 */
int cohort_cond_wait_delegated_until(cohort_cond_t *cond,
                                     cohort_delegated_t *lock,
                                     int clock,
                                     const struct timespec *time)
COHORT_REQUIRES(*lock);

/*
 `cohort_cond_wait` with any other lock, which the caller holds: `release` has to release it
 and `acquire` to acquire it again.  Each is called once with `argument`, by the thread that
 waits, and may not leave in another way than by returning.
 */
int cohort_cond_wait_between(cohort_cond_t *cond,
                             cohort_step_t release,
                             cohort_step_t acquire,
                             void *argument);

/*
 The same, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the latest:
 `ETIMEDOUT`, with the lock acquired again.
 */
int cohort_cond_wait_between_until(cohort_cond_t *cond,
                                   cohort_step_t release,
                                   cohort_step_t acquire,
                                   void *argument,
                                   int clock,
                                   const struct timespec *time);

/*
 The same, for so many nanoseconds at most.
 */
int cohort_cond_wait_between_for(cohort_cond_t *cond,
                                 cohort_step_t release,
                                 cohort_step_t acquire,
                                 void *argument,
                                 uint64_t nanoseconds);

/*
 Lets the thread go that has waited longest, if there is one.
 */
int cohort_cond_signal(cohort_cond_t *cond);

/*
 Lets every waiting thread go.
 */
int cohort_cond_broadcast(cohort_cond_t *cond);

/*
 Makes room for the locks of so many addresses at once; without this the table grows as it is
 used.  `ENOMEM` if there is no memory for that.
 */
int cohort_gls_init(size_t expected);

/*
 Forgets the locks of all addresses, as `cohort_gls_free` does those of one; their memory stays
 with the process for others.  `EBUSY` if some are held or waited for, which stay.
 */
int cohort_gls_destroy(void);

/*
 Blocks until the lock of that address is held.  Any value but null is an address, whatever is
 there; the first call makes its lock, which takes about 100 bytes until `cohort_gls_free`.  A
 thread that has the lock already waits for ever.  `EINVAL` for null, and for an address that has a
 lock of another algorithm; so for all below.
 */
int cohort_gls_lock(const void *address);

/*
 Takes the lock of that address, or returns `EBUSY` if somebody has it; never blocks.  For a
 moment after `cohort_gls_free` another address's lock may be found taken.
 */
int cohort_gls_trylock(const void *address);

/*
 Blocks until the lock of that address is held, or returns `ETIMEDOUT` at that time of
 `CLOCK_REALTIME`.
 */
int cohort_gls_timedlock(const void *address, const struct timespec *time);

/*
 Blocks until the lock of that address is held, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_gls_clocklock(const void *address, int clock, const struct timespec *time);

/*
 Releases the lock of that address; `EPERM` if nobody has it, or it has none, as long as no other
 thread frees it meanwhile.  A lock does not know its owner: to release another thread's is not
 noticed, and its section is no longer alone.
 */
int cohort_gls_unlock(const void *address);

/*
 Gives the lock of that address, whatever its algorithm, to others; to be called before what is
 there is given back.  `EBUSY` if somebody has the lock or waits for it; 0 also if the address has
 none.
 */
int cohort_gls_free(const void *address);

/*
 Makes a lock of that name, as `cohort list` shows them, or a composition such as
 `clof:ticket-clh-mcs@cache,numa,system`, which `cohort run --help` describes.  Null, with
 `errno` `EINVAL` if no lock has that name (`cohort_lock_explain` says why) or `ENOMEM`.
 */
cohort_lock_t *cohort_lock_new(const char *name);

/*
 Writes what is wrong with a name, as `snprintf` does, into so many bytes: an empty text if a
 lock has it.  0, or `EINVAL` if no lock has it.
 */
int cohort_lock_explain(const char *name, char *buffer, size_t size);

/*
 Ends a lock and frees its memory; `EBUSY` if a thread holds it, and may go on.  Null is
 nothing.
 */
int cohort_lock_free(cohort_lock_t *lock);

/*
 Blocks until the lock is held.  A thread that holds it already waits for ever.
 */
int cohort_lock_acquire(cohort_lock_t *lock) COHORT_ACQUIRE(*lock);

/*
 Takes the lock, or returns `EBUSY` if somebody holds it or waits for it; never blocks.
 */
int cohort_lock_acquire_try(cohort_lock_t *lock) COHORT_TRY_ACQUIRE(0, *lock);

/*
 Blocks until the lock is held, or returns `ETIMEDOUT` at that time of `CLOCK_MONOTONIC` or
 `CLOCK_REALTIME`.  Where a lock's waiters cannot give up in their queue, the caller does not
 queue: it tries again and again, and others may pass it.
 */
int cohort_lock_acquire_until(cohort_lock_t *lock,
                              int clock,
                              const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 The same, for so many nanoseconds at most.
 */
int cohort_lock_acquire_for(cohort_lock_t *lock,
                            uint64_t nanoseconds)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Blocks until the lock is held, or returns `ECANCELED` once the token is cancelled.  Where a
 lock's waiters cannot give up in their queue, the caller tries again and again, as above.
 */
int cohort_lock_acquire_unless(cohort_lock_t *lock,
                               cohort_token_t *token)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Releases the lock; `EPERM` if nobody holds it, or a context of the caller's does.  Any
 thread may release what another has acquired.
 */
int cohort_lock_release(cohort_lock_t *lock) COHORT_RELEASE(*lock);

/*
 `cohort_lock_acquire` by a context in memory of the caller's, which takes no block of a pool.
 */
int cohort_lock_acquire_by(cohort_lock_t *lock, cohort_context_t *context) COHORT_ACQUIRE(*lock);

/*
 `cohort_lock_acquire_try` by a context of the caller's.
 */
int cohort_lock_acquire_try_by(cohort_lock_t *lock,
                               cohort_context_t *context)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Releases the lock, which was acquired by that context; `EPERM` if it was not.
 */
int cohort_lock_release_by(cohort_lock_t *lock, cohort_context_t *context) COHORT_RELEASE(*lock);

/*
 1 if somebody held the lock a moment ago, else 0: for assertions.
 */
int cohort_lock_is_held(const cohort_lock_t *lock);

/*
 Makes a lock to which sections are brought; null, with `errno` `ENOMEM`, where there is no
 memory.
 */
cohort_delegated_t *cohort_delegated_new(void);

/*
 Ends such a lock and frees its memory.  Null is nothing.
 */
void cohort_delegated_free(cohort_delegated_t *lock);

/*
 The lock of that place, which is made when it is first wanted: a null pointer is one that nobody has
 used, as all zeroes are a mutex.  Without memory for it the process ends with a message, since what
 such a lock guards begins without having been told of failure.
 */
cohort_delegated_t *cohort_delegated_at(cohort_delegated_t **place);

/*
 Makes of any bytes a place of which `cohort_delegated_at` makes the lock, as `= NULL` does.
 */
int cohort_delegated_init(cohort_delegated_t **place);

/*
 Ends the lock of that place, if it has been made; the place is ready again at once.
 */
int cohort_delegated_destroy(cohort_delegated_t **place);

/*
 Blocks until `run(argument)` has been run, once, while nobody else has the lock: by this
 thread, or by another one that has what the lock guards in its cache.  `errno` is the
 caller's there, and what the function leaves in it is the caller's afterwards; all else that a
 thread has for itself is that of the thread which runs it.  The function does not bring another to the
 same lock, nor lock it, nor leave but by returning.  A thread is not cancelled in here.
 */
int cohort_delegate(cohort_delegated_t *lock,
                    void (*run)(void*),
                    void *argument);

/*
 Blocks until the calling thread has the lock, for what is no function: what waits for others, is a
 thread's own, or is left in more than one place.
 */
int cohort_delegated_lock(cohort_delegated_t *lock)
COHORT_ACQUIRE(*lock);

/*
 Leaves the lock, and runs what others have brought meanwhile; `EPERM` if nobody has locked it.  The
 thread that locked it calls this; it is not cancelled in here.
 */
int cohort_delegated_unlock(cohort_delegated_t *lock)
COHORT_RELEASE(*lock);

/*
 Makes a token of any bytes, as `COHORT_TOKEN_INIT` does: one that was cancelled serves again.
 */
int cohort_token_init(cohort_token_t *token);

/*
 Ends all waits within the token, those that begin later too, as at a deadline: they return
 `ECANCELED`.  Blocks until each thread that sleeps in one is awake; not in a signal handler.
 */
int cohort_token_cancel(cohort_token_t *token);

/*
 1 if the token has been cancelled, else 0; never blocks.
 */
int cohort_token_is_cancelled(const cohort_token_t *token);

/*
 Returns the name of the calling thread: never 0, and different from the name of every other thread
 that the process has or has had.  The thread that forks keeps its name in the child.
 */
uint64_t cohort_thread_name(void);

/*
 1 if the calling thread has written its name there, as the owner, else 0: then it is no other
 thread's, though others may write there meanwhile.
 */
int cohort_thread_is_owner(const uint64_t *owner);

/*
 Writes the calling thread's name there, as the owner.
 */
void cohort_thread_set_owner(uint64_t *owner);

/*
 Tells whether this library serves programs that were compiled with that `COHORT_VERSION`:
 0, or `ENOTSUP`.
 */
int cohort_check_version(uint32_t version);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COHORT_H */

/* ThreadSanitizer does not see what the library does, and is told. */
#if defined(__SANITIZE_THREAD__)
#define COHORT_HAS_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COHORT_HAS_TSAN
#endif
#endif
#ifdef COHORT_HAS_TSAN
#undef COHORT_HAS_TSAN
#include <cohort_tsan.h>
#endif
