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
