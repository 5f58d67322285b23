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

/*
 * A thread's first operation may call malloc() if the program loaded the library by dlopen().
 */

/* C99's <time.h> does not declare it. */
struct timespec;

/* Opaque words, all zero while free; in any memory that is private to a process. */
typedef struct COHORT_CAPABILITY cohort_mutex { uint32_t cohort_words[2]; } cohort_mutex_t;
typedef struct COHORT_CAPABILITY cohort_rwlock { uint32_t cohort_words[4]; } cohort_rwlock_t;
typedef struct cohort_cond { uint32_t cohort_words[6]; } cohort_cond_t;

/* Ends waits before their time; all zero until it is cancelled. */
typedef struct cohort_token { uint64_t cohort_words[3]; } cohort_token_t;

/* A lock that was made by its name. */
typedef struct COHORT_CAPABILITY cohort_lock cohort_lock_t;

/* A reader-writer lock that was made by its name: cohort_shared_new(). */
typedef struct COHORT_CAPABILITY cohort_shared cohort_shared_t;

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
    call(hmcs_5) \
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
 Initialises a mutex in any memory, as `COHORT_MUTEX_INIT` does.
 */
int cohort_mutex_init(cohort_mutex_t *mutex);

/*
 Destroys a mutex, which is immediately valid again; `EBUSY` if it is locked. Optional.
 */
int cohort_mutex_destroy(cohort_mutex_t *mutex);

/*
 Blocks until the mutex is locked. A thread that has already locked it deadlocks.
 */
int cohort_mutex_lock(cohort_mutex_t *mutex) COHORT_ACQUIRE(*mutex);

/*
 Locks the mutex, or returns `EBUSY` if it is locked; never blocks.
 */
int cohort_mutex_lock_try(cohort_mutex_t *mutex) COHORT_TRY_ACQUIRE(0, *mutex);

/*
 Blocks until the mutex is locked, or returns `ETIMEDOUT` at that time of `CLOCK_MONOTONIC` or
 `CLOCK_REALTIME`.
 */
int cohort_mutex_lock_until(cohort_mutex_t *mutex,
                            int clock,
                            const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *mutex);

/*
 As `cohort_mutex_lock_until`, with a timeout in nanoseconds.
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
 Unlocks the mutex; `EPERM` if it is free. A mutex has no owner: unlocking another thread's mutex
 is not detected, and breaks mutual exclusion for that thread. If another thread has unlocked the
 mutex that the caller locked last, the caller's own unlock does not detect it either.
 */
int cohort_mutex_unlock(cohort_mutex_t *mutex) COHORT_RELEASE(*mutex);

/*
 1 if the mutex was locked at the time of the call, else 0; for assertions.
 */
int cohort_mutex_is_locked(const cohort_mutex_t *mutex);

/*
 Initialises a lock in any memory, as `COHORT_RWLOCK_INIT` does.
 */
int cohort_rwlock_init(cohort_rwlock_t *rwlock);

/*
 Destroys a lock, which is immediately valid again; `EBUSY` if it is held. Optional.
 */
int cohort_rwlock_destroy(cohort_rwlock_t *rwlock);

/*
 Blocks until the lock is acquired for reading. After five milliseconds, a reader overtakes
 waiting writers, since it may be a recursive reader. Once this has happened in the process, a
 thread that has since acquired a read lock overtakes them immediately. `EAGAIN` at half a
 million readers.
 */
int cohort_rwlock_read(cohort_rwlock_t *rwlock) COHORT_ACQUIRE_SHARED(*rwlock);

/*
 Acquires the lock for reading, or returns `EBUSY` if a writer holds it or waits; never blocks. A
 thread refused because of waiting writers for five milliseconds overtakes them, here and in
 timed calls with a shorter timeout.
 */
int cohort_rwlock_read_try(cohort_rwlock_t *rwlock) COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is acquired for reading, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_rwlock_read_until(cohort_rwlock_t *rwlock,
                             int clock,
                             const struct timespec *time)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 As `cohort_rwlock_read_until`, with a timeout in nanoseconds.
 */
int cohort_rwlock_read_for(cohort_rwlock_t *rwlock,
                           uint64_t nanoseconds)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is acquired for reading, or returns `ECANCELED` once the token is
 cancelled.
 */
int cohort_rwlock_read_unless(cohort_rwlock_t *rwlock,
                              cohort_token_t *token)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is acquired for writing. A thread that already holds it deadlocks.
 */
int cohort_rwlock_write(cohort_rwlock_t *rwlock) COHORT_ACQUIRE(*rwlock);

/*
 Acquires the lock for writing, or returns `EBUSY` if it is held; never blocks.
 */
int cohort_rwlock_write_try(cohort_rwlock_t *rwlock) COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Blocks until the lock is acquired for writing, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_rwlock_write_until(cohort_rwlock_t *rwlock,
                              int clock,
                              const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 As `cohort_rwlock_write_until`, with a timeout in nanoseconds.
 */
int cohort_rwlock_write_for(cohort_rwlock_t *rwlock,
                            uint64_t nanoseconds)
COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Blocks until the lock is acquired for writing, or returns `ECANCELED` once the token is
 cancelled.
 */
int cohort_rwlock_write_unless(cohort_rwlock_t *rwlock,
                               cohort_token_t *token)
COHORT_TRY_ACQUIRE(0, *rwlock);

/*
 Releases the caller's read or write lock; `EPERM` if the lock is free.
 */
int cohort_rwlock_unlock(cohort_rwlock_t *rwlock) COHORT_RELEASE_GENERIC(*rwlock);

/*
 `cohort_rwlock_unlock`, and a thread that waits at the lock acquires it before any later arrival.
 */
int cohort_rwlock_unlock_fair(cohort_rwlock_t *rwlock) COHORT_RELEASE_GENERIC(*rwlock);

/*
 Blocks until the lock is acquired for reading beside other readers, but no other upgradable
 reader: its holder may become the writer with no writer in between. `EAGAIN` at half a million
 readers.
 */
int cohort_rwlock_read_upgradable(cohort_rwlock_t *rwlock) COHORT_ACQUIRE_SHARED(*rwlock);

/*
 Acquires the lock for upgradable reading, or returns `EBUSY` if another thread writes, waits or
 reads upgradable; never blocks.
 */
int cohort_rwlock_read_upgradable_try(cohort_rwlock_t *rwlock)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is acquired for upgradable reading, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_rwlock_read_upgradable_until(cohort_rwlock_t *rwlock,
                                        int clock,
                                        const struct timespec *time)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 As `cohort_rwlock_read_upgradable_until`, with a timeout in nanoseconds.
 */
int cohort_rwlock_read_upgradable_for(cohort_rwlock_t *rwlock,
                                      uint64_t nanoseconds)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the lock is acquired for upgradable reading, or returns `ECANCELED` once the token is
 cancelled.
 */
int cohort_rwlock_read_upgradable_unless(cohort_rwlock_t *rwlock,
                                         cohort_token_t *token)
COHORT_TRY_ACQUIRE_SHARED(0, *rwlock);

/*
 Blocks until the upgradable reader is the writer; `cohort_rwlock_unlock` releases it then.
 `EPERM` if the lock is free.
 */
int cohort_rwlock_upgrade(cohort_rwlock_t *rwlock);

/*
 Makes the upgradable reader the writer, or returns `EBUSY` if there are other readers, and the
 caller still reads upgradable; never blocks.
 */
int cohort_rwlock_upgrade_try(cohort_rwlock_t *rwlock);

/*
 Blocks until the upgradable reader is the writer, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`, and the caller still reads upgradable.
 */
int cohort_rwlock_upgrade_until(cohort_rwlock_t *rwlock, int clock, const struct timespec *time);

/*
 As `cohort_rwlock_upgrade_until`, with a timeout in nanoseconds.
 */
int cohort_rwlock_upgrade_for(cohort_rwlock_t *rwlock, uint64_t nanoseconds);

/*
 Blocks until the upgradable reader is the writer, or returns `ECANCELED` once the token is
 cancelled, and the caller still reads upgradable.
 */
int cohort_rwlock_upgrade_unless(cohort_rwlock_t *rwlock, cohort_token_t *token);

/*
 Turns the caller's write lock into a read lock, with no writer in between; `EPERM` if there is no
 writer. Never blocks.
 */
int cohort_rwlock_downgrade(cohort_rwlock_t *rwlock);

/*
 Turns the caller's write lock into an upgradable read lock, with no writer in between; `EPERM` if
 there is no writer. Never blocks.
 */
int cohort_rwlock_downgrade_upgradable(cohort_rwlock_t *rwlock);

/*
 Turns the caller's upgradable read lock into an ordinary one; `EPERM` if the lock is free. Never
 blocks.
 */
int cohort_rwlock_end_upgradable(cohort_rwlock_t *rwlock);

/*
 Releases the caller's upgradable read lock; `EPERM` if the lock is free.
 */
int cohort_rwlock_unlock_upgradable(cohort_rwlock_t *rwlock) COHORT_RELEASE_SHARED(*rwlock);

/*
 1 if a writer held the lock at the time of the call, else 0; for assertions.
 */
int cohort_rwlock_is_written(const cohort_rwlock_t *rwlock);

/*
 Initialises a condition variable in any memory, as `COHORT_COND_INIT` does.
 */
int cohort_cond_init(cohort_cond_t *cond);

/*
 Destroys a condition variable, which is immediately valid again; `EBUSY` if it has waiters.
 Optional.
 */
int cohort_cond_destroy(cohort_cond_t *cond);

/*
 Unlocks the mutex, blocks until signalled, and locks the mutex again; `EPERM` if the mutex is
 free. Wake-ups may be spurious: check the predicate in a loop. Not a cancellation point.
 */
int cohort_cond_wait(cohort_cond_t *cond, cohort_mutex_t *mutex) COHORT_REQUIRES(*mutex);

/*
 As `cohort_cond_wait`, or returns `ETIMEDOUT` with the mutex locked, at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_cond_wait_until(cohort_cond_t *cond,
                           cohort_mutex_t *mutex,
                           int clock,
                           const struct timespec *time)
COHORT_REQUIRES(*mutex);

/*
 As `cohort_cond_wait_until`, with a timeout in nanoseconds.
 */
int cohort_cond_wait_for(cohort_cond_t *cond,
                         cohort_mutex_t *mutex,
                         uint64_t nanoseconds)
COHORT_REQUIRES(*mutex);

/*
 As `cohort_cond_wait`, or returns `ECANCELED` with the mutex locked, once the token is
 cancelled.
 */
int cohort_cond_wait_unless(cohort_cond_t *cond,
                            cohort_mutex_t *mutex,
                            cohort_token_t *token)
COHORT_REQUIRES(*mutex);

/*
 `cohort_cond_wait` with a lock created by name, acquired without a context of the caller's; else
 `EPERM`.
 */
int cohort_cond_wait_lock(cohort_cond_t *cond, cohort_lock_t *lock) COHORT_REQUIRES(*lock);

/*
 As `cohort_cond_wait_lock`, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the
 latest.
 */
int cohort_cond_wait_lock_until(cohort_cond_t *cond,
                                cohort_lock_t *lock,
                                int clock,
                                const struct timespec *time)
COHORT_REQUIRES(*lock);

/*
 As `cohort_cond_wait_lock`, with a timeout in nanoseconds.
 */
int cohort_cond_wait_lock_for(cohort_cond_t *cond,
                              cohort_lock_t *lock,
                              uint64_t nanoseconds)
COHORT_REQUIRES(*lock);

/*
 As `cohort_cond_wait_lock`, or returns `ECANCELED` with the lock held, once the token is
 cancelled.
 */
int cohort_cond_wait_lock_unless(cohort_cond_t *cond,
                                 cohort_lock_t *lock,
                                 cohort_token_t *token)
COHORT_REQUIRES(*lock);

/*
 `cohort_cond_wait` with a delegated lock that the caller has locked by `cohort_delegated_lock`;
 else `EPERM`. Not for use in a delegated critical section.
 */
int cohort_cond_wait_delegated(cohort_cond_t *cond,
                               cohort_delegated_t *lock)
COHORT_REQUIRES(*lock);

/*
 As `cohort_cond_wait_delegated`, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the
 latest.
 */
int cohort_cond_wait_delegated_until(cohort_cond_t *cond,
                                     cohort_delegated_t *lock,
                                     int clock,
                                     const struct timespec *time)
COHORT_REQUIRES(*lock);

/*
 `cohort_cond_wait` with any other lock, held by the caller: `release` releases it, and `acquire`
 acquires it again. The waiting thread calls each once, with `argument`; both must return
 normally.
 */
int cohort_cond_wait_between(cohort_cond_t *cond,
                             cohort_step_t release,
                             cohort_step_t acquire,
                             void *argument);

/*
 As `cohort_cond_wait_between`, or returns `ETIMEDOUT` with the lock acquired again, at that time
 of `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_cond_wait_between_until(cohort_cond_t *cond,
                                   cohort_step_t release,
                                   cohort_step_t acquire,
                                   void *argument,
                                   int clock,
                                   const struct timespec *time);

/*
 As `cohort_cond_wait_between_until`, with a timeout in nanoseconds.
 */
int cohort_cond_wait_between_for(cohort_cond_t *cond,
                                 cohort_step_t release,
                                 cohort_step_t acquire,
                                 void *argument,
                                 uint64_t nanoseconds);

/*
 Wakes the longest waiting thread, if any.
 */
int cohort_cond_signal(cohort_cond_t *cond);

/*
 Wakes all waiting threads.
 */
int cohort_cond_broadcast(cohort_cond_t *cond);

/*
 Allocates room for the locks of `expected` addresses; otherwise the table grows on demand.
 `ENOMEM` without memory.
 */
int cohort_gls_init(size_t expected);

/*
 Frees the locks of all addresses, as `cohort_gls_free` does for one; the process reuses their
 memory. `EBUSY` if some are held or have waiters; these stay.
 */
int cohort_gls_destroy(void);

/*
 Blocks until the lock of that address is acquired. Any value except null is an address, whatever
 its content. The first call creates the lock, about 100 bytes until `cohort_gls_free`. A thread
 that already holds the lock deadlocks. `EINVAL` for null, and for an address with a lock of
 another algorithm; so for all below.
 */
int cohort_gls_lock(const void *address);

/*
 Acquires the lock of that address, or returns `EBUSY` if it is held; never blocks. Shortly after
 `cohort_gls_free`, another address's lock may appear held.
 */
int cohort_gls_trylock(const void *address);

/*
 Blocks until the lock of that address is acquired, or returns `ETIMEDOUT` at that time of
 `CLOCK_REALTIME`.
 */
int cohort_gls_timedlock(const void *address, const struct timespec *time);

/*
 Blocks until the lock of that address is acquired, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_gls_clocklock(const void *address, int clock, const struct timespec *time);

/*
 `cohort_gls_trylock`, as other locks' functions are named.
 */
int cohort_gls_lock_try(const void *address);

/*
 `cohort_gls_clocklock`, as other locks' functions are named.
 */
int cohort_gls_lock_until(const void *address, int clock, const struct timespec *time);

/*
 As `cohort_gls_lock_until`, with a timeout in nanoseconds.
 */
int cohort_gls_lock_for(const void *address, uint64_t nanoseconds);

/*
 Blocks until the lock of that address is acquired, or returns `ECANCELED` once the token is
 cancelled.
 */
int cohort_gls_lock_unless(const void *address, cohort_token_t *token);

/*
 Releases the lock of that address. `EPERM` if it is free or does not exist, unless another
 thread frees it concurrently. A lock has no owner: releasing another thread's lock is not
 detected, and breaks mutual exclusion for that thread.
 */
int cohort_gls_unlock(const void *address);

/*
 Frees the lock of that address, of whatever algorithm; call it before the memory at the address
 is reused. `EBUSY` if the lock is held or has waiters; 0 also if the address has no lock.
 */
int cohort_gls_free(const void *address);

/*
 Creates a lock by its name in `cohort list`, or by a composition such as
 `clof:ticket-clh-mcs@cache,numa,system`; see `cohort run --help`. Null, with `errno` `EINVAL`
 for an unknown name (`cohort_lock_explain` gives the reason) or `ENOMEM`.
 */
cohort_lock_t *cohort_lock_new(const char *name);

/*
 Writes the mistake in a name into `size` bytes, as `snprintf` does; an empty text for a valid
 name. 0, or `EINVAL` for an invalid name.
 */
int cohort_lock_explain(const char *name, char *buffer, size_t size);

/*
 Destroys a lock and frees its memory. `EBUSY` if a thread holds it; the lock remains valid. No
 effect for null.
 */
int cohort_lock_free(cohort_lock_t *lock);

/*
 Blocks until the lock is acquired. A thread that already holds it deadlocks.
 */
int cohort_lock_acquire(cohort_lock_t *lock) COHORT_ACQUIRE(*lock);

/*
 Acquires the lock, or returns `EBUSY` if it is held or has waiters; never blocks.
 */
int cohort_lock_acquire_try(cohort_lock_t *lock) COHORT_TRY_ACQUIRE(0, *lock);

/*
 Blocks until the lock is acquired, or returns `ETIMEDOUT` at that time of `CLOCK_MONOTONIC` or
 `CLOCK_REALTIME`. If the lock's queued waiters cannot give up, the caller does not queue: it
 retries, and others may overtake it.
 */
int cohort_lock_acquire_until(cohort_lock_t *lock,
                              int clock,
                              const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 As `cohort_lock_acquire_until`, with a timeout in nanoseconds.
 */
int cohort_lock_acquire_for(cohort_lock_t *lock,
                            uint64_t nanoseconds)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Blocks until the lock is acquired, or returns `ECANCELED` once the token is cancelled. If the
 lock's queued waiters cannot give up, the caller retries, as in `cohort_lock_acquire_until`.
 */
int cohort_lock_acquire_unless(cohort_lock_t *lock,
                               cohort_token_t *token)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Releases the lock; `EPERM` if it is free, or was acquired by a context of the caller's. Any
 thread may release a lock that another has acquired.
 */
int cohort_lock_release(cohort_lock_t *lock) COHORT_RELEASE(*lock);

/*
 `cohort_lock_acquire` with a context in the caller's memory, which needs no block of a pool.
 */
int cohort_lock_acquire_by(cohort_lock_t *lock, cohort_context_t *context) COHORT_ACQUIRE(*lock);

/*
 `cohort_lock_acquire_try` with a context of the caller's.
 */
int cohort_lock_acquire_try_by(cohort_lock_t *lock,
                               cohort_context_t *context)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Releases the lock; `EPERM` if that context has not acquired it.
 */
int cohort_lock_release_by(cohort_lock_t *lock, cohort_context_t *context) COHORT_RELEASE(*lock);

/*
 1 if the lock was held at the time of the call, else 0; for assertions.
 */
int cohort_lock_is_held(const cohort_lock_t *lock);

/*
 Creates a reader–writer lock by its name: `rwlock`, the default one; `c-rw-np`, with readers
 counted by cohort and no preference; `c-rw-wp`, the same with writers preferred for up to five
 milliseconds. Null, with `errno` `EINVAL` for another name, or `ENOMEM`.
 */
cohort_shared_t *cohort_shared_new(const char *name);

/*
 Destroys a lock and frees its memory. `EBUSY` if a thread holds it; the lock remains valid. No
 effect for null.
 */
int cohort_shared_free(cohort_shared_t *lock);

/*
 Blocks until the lock is acquired for reading. A thread that holds it for reading may acquire it
 again. `EAGAIN` at half a million readers of a `rwlock`.
 */
int cohort_shared_read(cohort_shared_t *lock) COHORT_ACQUIRE_SHARED(*lock);

/*
 Acquires the lock for reading, or returns `EBUSY` if a writer holds it or waits; never blocks.
 */
int cohort_shared_read_try(cohort_shared_t *lock) COHORT_TRY_ACQUIRE_SHARED(0, *lock);

/*
 Blocks until the lock is acquired for reading, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_shared_read_until(cohort_shared_t *lock,
                             int clock,
                             const struct timespec *time)
COHORT_TRY_ACQUIRE_SHARED(0, *lock);

/*
 As `cohort_shared_read_until`, with a timeout in nanoseconds.
 */
int cohort_shared_read_for(cohort_shared_t *lock,
                           uint64_t nanoseconds)
COHORT_TRY_ACQUIRE_SHARED(0, *lock);

/*
 Blocks until the lock is acquired for reading, or returns `ECANCELED` once the token is
 cancelled.
 */
int cohort_shared_read_unless(cohort_shared_t *lock,
                              cohort_token_t *token)
COHORT_TRY_ACQUIRE_SHARED(0, *lock);

/*
 Blocks until the lock is acquired for writing. A thread that already holds it deadlocks.
 */
int cohort_shared_write(cohort_shared_t *lock) COHORT_ACQUIRE(*lock);

/*
 Acquires the lock for writing, or returns `EBUSY` if it is held; never blocks.
 */
int cohort_shared_write_try(cohort_shared_t *lock) COHORT_TRY_ACQUIRE(0, *lock);

/*
 Blocks until the lock is acquired for writing, or returns `ETIMEDOUT` at that time of
 `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
 */
int cohort_shared_write_until(cohort_shared_t *lock,
                              int clock,
                              const struct timespec *time)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 As `cohort_shared_write_until`, with a timeout in nanoseconds.
 */
int cohort_shared_write_for(cohort_shared_t *lock,
                            uint64_t nanoseconds)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Blocks until the lock is acquired for writing, or returns `ECANCELED` once the token is
 cancelled.
 */
int cohort_shared_write_unless(cohort_shared_t *lock,
                               cohort_token_t *token)
COHORT_TRY_ACQUIRE(0, *lock);

/*
 Releases the caller's read or write lock; `EPERM` if the lock is free.
 */
int cohort_shared_unlock(cohort_shared_t *lock) COHORT_RELEASE_GENERIC(*lock);

/*
 1 if a writer held the lock at the time of the call, else 0; for assertions.
 */
int cohort_shared_is_written(const cohort_shared_t *lock);

/*
 Creates a delegated lock, with critical sections passed as functions; null, with `errno`
 `ENOMEM`, without memory. It has 16 bytes, and further memory once two threads have met at it.
 */
cohort_delegated_t *cohort_delegated_new(void);

/*
 `cohort_delegated_new` by name: `sanl+`, `cc-synch`, or `sanl`, `sanl-flat` or
 `sanl-distance-first` with the thresholds of `COHORT_SANL`, which `cohort run --config` sets. A
 name such as `sanl/1000/10us` overrides two of them. Null, with `errno` `EINVAL`, for other names.
 */
cohort_delegated_t *cohort_delegated_new_named(const char *name);

/*
 Destroys a delegated lock and frees its memory. No effect for null.
 */
void cohort_delegated_free(cohort_delegated_t *lock);

/*
 The delegated lock at that place, created on first use. The place must start as a null pointer.
 Without memory, the process ends with a message, since the callers cannot handle a failure.
 */
cohort_delegated_t *cohort_delegated_at(cohort_delegated_t **place);

/*
 Initialises a place for `cohort_delegated_at` in any memory, as `= NULL` does.
 */
int cohort_delegated_init(cohort_delegated_t **place);

/*
 Destroys the lock at that place, if it exists; the place is immediately valid again.
 */
int cohort_delegated_destroy(cohort_delegated_t **place);

/*
 Blocks until `run(argument)` has been run once, under mutual exclusion: by this thread, or by
 another one that has the protected data in its cache. The function sees the caller's `errno`,
 and its changes to `errno` reach the caller. All other thread-local state is that of the
 executing thread. The function must not delegate to the same lock, nor lock it, and must return
 normally. Not a cancellation point, and the function contains none. May allocate memory when two
 threads first meet at the lock.
 */
int cohort_delegate(cohort_delegated_t *lock, void (*run)(void*), void *argument);

/*
 Blocks until the calling thread has locked the lock. For critical sections that cannot be passed
 as a function: they wait for other threads, use thread-local state, or have several exits.
 */
int cohort_delegated_lock(cohort_delegated_t *lock) COHORT_ACQUIRE(*lock);

/*
 Locks the lock as `cohort_delegated_lock` does, or returns `EBUSY` if a critical section runs, in
 whichever thread; never blocks.
 */
int cohort_delegated_lock_try(cohort_delegated_t *lock) COHORT_TRY_ACQUIRE(0, *lock);

/*
 Unlocks the lock, and runs the critical sections delegated meanwhile; `EPERM` if the lock is
 free. Only for the thread that locked it. Not a cancellation point.
 */
int cohort_delegated_unlock(cohort_delegated_t *lock) COHORT_RELEASE(*lock);

/*
 Initialises a token in any memory, as `COHORT_TOKEN_INIT` does; a cancelled token becomes usable
 again.
 */
int cohort_token_init(cohort_token_t *token);

/*
 Ends all present and future waits with the token, as at a deadline: they return `ECANCELED`.
 Blocks until all threads sleeping in them are awake; not for use in a signal handler.
 */
int cohort_token_cancel(cohort_token_t *token);

/*
 1 if the token has been cancelled, else 0; never blocks.
 */
int cohort_token_is_cancelled(const cohort_token_t *token);

/*
 Returns the calling thread's name: nonzero, and different from the names of all other present
 and past threads of the process. A forking thread keeps its name in the child.
 */
uint64_t cohort_thread_name(void);

/*
 1 if the calling thread has stored its name there as the owner, else 0. Concurrent stores by
 other threads do not change the result.
 */
int cohort_thread_is_owner(const uint64_t *owner);

/*
 Stores the calling thread's name there, as the owner.
 */
void cohort_thread_set_owner(uint64_t *owner);

/*
 Checks whether this library serves programs compiled with that `COHORT_VERSION`: 0, or
 `ENOTSUP`.
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
