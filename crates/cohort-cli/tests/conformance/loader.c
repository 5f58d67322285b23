/* No function waits for the loader's lock: a thread may hold that, in the
 * constructor of a library that it opens, and wait for a lock of the program.
 * Each function is called so for the first time; a test compares them with what
 * the library defines. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <dlfcn.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

/* Old programs know some functions by other names, which the C library shows to
 * no others. */
static void *old(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : dlsym(RTLD_DEFAULT, name + strlen("__"));
}

static atomic_int gate;
static int (*old_mutex_lock)(pthread_mutex_t *);
static int (*old_mutex_trylock)(pthread_mutex_t *);
static int (*old_mutex_unlock)(pthread_mutex_t *);
static int (*old_mutex_init)(pthread_mutex_t *, const pthread_mutexattr_t *);
static int (*old_mutex_destroy)(pthread_mutex_t *);
static int (*old_rwlock_init)(pthread_rwlock_t *, const pthread_rwlockattr_t *);
static int (*old_rwlock_destroy)(pthread_rwlock_t *);
static int (*old_rdlock)(pthread_rwlock_t *);
static int (*old_tryrdlock)(pthread_rwlock_t *);
static int (*old_wrlock)(pthread_rwlock_t *);
static int (*old_trywrlock)(pthread_rwlock_t *);
static int (*old_rwunlock)(pthread_rwlock_t *);

static void find_old(void)
{
    old_mutex_lock = old("__pthread_mutex_lock");
    old_mutex_trylock = old("__pthread_mutex_trylock");
    old_mutex_unlock = old("__pthread_mutex_unlock");
    old_mutex_init = old("__pthread_mutex_init");
    old_mutex_destroy = old("__pthread_mutex_destroy");
    old_rwlock_init = old("__pthread_rwlock_init");
    old_rwlock_destroy = old("__pthread_rwlock_destroy");
    old_rdlock = old("__pthread_rwlock_rdlock");
    old_tryrdlock = old("__pthread_rwlock_tryrdlock");
    old_wrlock = old("__pthread_rwlock_wrlock");
    old_trywrlock = old("__pthread_rwlock_trywrlock");
    old_rwunlock = old("__pthread_rwlock_unlock");
}

static void mutexes(const pthread_mutexattr_t *attributes, bool is_old)
{
    pthread_mutex_t mutex;
    struct timespec late = in_ms(CLOCK_REALTIME, 40000);
    OK((is_old ? old_mutex_init : pthread_mutex_init)(&mutex, attributes));
    OK((is_old ? old_mutex_lock : pthread_mutex_lock)(&mutex));
    OK((is_old ? old_mutex_unlock : pthread_mutex_unlock)(&mutex));
    OK((is_old ? old_mutex_trylock : pthread_mutex_trylock)(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_timedlock(&mutex, &late));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &late));
    OK(pthread_mutex_unlock(&mutex));
    OK((is_old ? old_mutex_destroy : pthread_mutex_destroy)(&mutex));
}

static void conditions(int shared, const pthread_mutexattr_t *attributes)
{
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_condattr_t of_cond;
    struct timespec past = in_ms(CLOCK_REALTIME, -10);
    OK(pthread_condattr_init(&of_cond));
    OK(pthread_condattr_setpshared(&of_cond, shared));
    OK(pthread_cond_init(&cond, &of_cond));
    OK(pthread_mutex_init(&mutex, attributes));
    OK(pthread_cond_signal(&cond));
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_mutex_lock(&mutex));
    GIVES(ETIMEDOUT, pthread_cond_timedwait(&cond, &mutex, &past));
    GIVES(ETIMEDOUT,
          pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &past));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_destroy(&cond));
}

static pthread_mutex_t awaited_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t awaited_cond = PTHREAD_COND_INITIALIZER;
static cnd_t awaited_cnd;
static int told;

static void *wait_for_word(void *argument)
{
    OK(pthread_mutex_lock(&awaited_mutex));
    while (told < 1)
        OK(pthread_cond_wait(&awaited_cond, &awaited_mutex));
    while (told < 2)
        CHECK_EQ(cnd_wait(&awaited_cnd, (mtx_t *)&awaited_mutex), thrd_success);
    OK(pthread_mutex_unlock(&awaited_mutex));
    return argument;
}

static void waits(void)
{
    CHECK_EQ(cnd_init(&awaited_cnd), thrd_success);
    pthread_t waiter = start(wait_for_word, NULL);
    for (int word = 1; word <= 2; word++) {
        settle();
        OK(pthread_mutex_lock(&awaited_mutex));
        told = word;
        OK(pthread_cond_signal(&awaited_cond));
        CHECK_EQ(cnd_signal(&awaited_cnd), thrd_success);
        CHECK_EQ(cnd_broadcast(&awaited_cnd), thrd_success);
        OK(pthread_mutex_unlock(&awaited_mutex));
    }
    join(waiter);
    cnd_destroy(&awaited_cnd);
}

static void rwlocks(int shared, bool is_old)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlock_t lock;
    struct timespec late = in_ms(CLOCK_REALTIME, 40000);
    OK(pthread_rwlockattr_init(&attributes));
    OK(pthread_rwlockattr_setpshared(&attributes, shared));
    OK((is_old ? old_rwlock_init : pthread_rwlock_init)(&lock, &attributes));
    OK((is_old ? old_rdlock : pthread_rwlock_rdlock)(&lock));
    OK((is_old ? old_rwunlock : pthread_rwlock_unlock)(&lock));
    OK((is_old ? old_tryrdlock : pthread_rwlock_tryrdlock)(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_timedrdlock(&lock, &late));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &late));
    OK(pthread_rwlock_unlock(&lock));
    OK((is_old ? old_wrlock : pthread_rwlock_wrlock)(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK((is_old ? old_trywrlock : pthread_rwlock_trywrlock)(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_timedwrlock(&lock, &late));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &late));
    OK(pthread_rwlock_unlock(&lock));
    OK((is_old ? old_rwlock_destroy : pthread_rwlock_destroy)(&lock));
}

static void c11(void)
{
    mtx_t mutex;
    cnd_t cond;
    struct timespec late = in_ms(CLOCK_REALTIME, 40000);
    struct timespec past = in_ms(CLOCK_REALTIME, -10);
    CHECK_EQ(mtx_init(&mutex, mtx_timed | mtx_recursive), thrd_success);
    CHECK_EQ(mtx_lock(&mutex), thrd_success);
    CHECK_EQ(mtx_trylock(&mutex), thrd_success);
    CHECK_EQ(mtx_timedlock(&mutex, &late), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    CHECK_EQ(cnd_init(&cond), thrd_success);
    CHECK_EQ(cnd_timedwait(&cond, &mutex, &past), thrd_timedout);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    cnd_destroy(&cond);
    mtx_destroy(&mutex);
}

static void others(void)
{
    pthread_spinlock_t spin;
    OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_lock(&spin));
    OK(pthread_spin_unlock(&spin));
    OK(pthread_spin_trylock(&spin));
    OK(pthread_spin_unlock(&spin));
    OK(pthread_spin_destroy(&spin));
    pthread_barrier_t barrier;
    OK(pthread_barrier_init(&barrier, NULL, 1));
    CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_barrier_destroy(&barrier));
    CHECK(prctl(PR_GET_DUMPABLE) >= 0);
    CHECK(syscall(SYS_getppid) >= 0);
    CHECK_EQ(close(dup(2)), 0);
    CHECK_EQ(close_range(100000, 100001, 0), 0);
    closefrom(100000);
}

static void semaphores(void)
{
    sem_t semaphore;
    struct timespec late = in_ms(CLOCK_REALTIME, 40000);
    CHECK_EQ(sem_init(&semaphore, 0, 0), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(sem_post(&semaphore), 0);
    CHECK_EQ(sem_wait(&semaphore), 0);
    CHECK_EQ(sem_trywait(&semaphore), 0);
    CHECK_EQ(sem_timedwait(&semaphore, &late), 0);
    CHECK_EQ(sem_clockwait(&semaphore, CLOCK_REALTIME, &late), 0);
    CHECK_EQ(sem_destroy(&semaphore), 0);
}

static void *end(void *argument)
{
    return argument;
}

static int end_c11(void *argument)
{
    (void)argument;
    return 3;
}

/* Threads begin, and are joined by each function that joins. */
static void threads(void)
{
    const struct timespec late = { .tv_sec = 1L << 33 };
    pthread_t thread;
    void *result = NULL;
    OK(pthread_create(&thread, NULL, end, &awaited_mutex));
    OK(pthread_timedjoin_np(thread, &result, &late));
    CHECK(result == &awaited_mutex);
    OK(pthread_create(&thread, NULL, end, NULL));
    OK(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &late));
    OK(pthread_create(&thread, NULL, end, NULL));
    while (pthread_tryjoin_np(thread, &result) == EBUSY)
        ;
    thrd_t other;
    int ended = 0;
    CHECK(thrd_create(&other, end_c11, NULL) == thrd_success);
    CHECK(thrd_join(other, &ended) == thrd_success);
    CHECK(ended == 3);
}

static void *held;

static void *open_held(void *argument)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = 0;
    char *name = strrchr(path, '/') + 1;
    snprintf(name, sizeof path - (name - path), "libheld.so");
    held = dlopen(path, RTLD_NOW);
    if (held == NULL) {
        dprintf(2, "%s\n", dlerror());
        CHECK(false);
    }
    return argument;
}

static void *open_beside(void *argument)
{
    find_old();
    char at[32];
    snprintf(at, sizeof at, "%lx", (unsigned long)&gate);
    OK(setenv("HELD_AT", at, 1));
    pthread_t thread = start(open_held, argument);
    await(&gate, 1);
    return (void *)thread;
}

/* The first use of each kind of lock, and of each function. */
static void under_loaders_lock(const void *with)
{
    const struct kind *kind = with;
    pthread_t opener = (pthread_t)open_beside(NULL);
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, kind->type));
    OK(pthread_mutexattr_setpshared(&attributes, kind->shared));
    OK(pthread_mutexattr_setrobust(&attributes, kind->robust));
    OK(pthread_mutexattr_setprotocol(&attributes, kind->protocol));
    mutexes(&attributes, false);
    mutexes(&attributes, true);
    conditions(PTHREAD_PROCESS_PRIVATE, &attributes);
    conditions(PTHREAD_PROCESS_SHARED, &attributes);
    rwlocks(PTHREAD_PROCESS_SHARED, false);
    rwlocks(PTHREAD_PROCESS_SHARED, true);
    rwlocks(PTHREAD_PROCESS_PRIVATE, false);
    rwlocks(PTHREAD_PROCESS_PRIVATE, true);
    c11();
    waits();
    others();
    semaphores();
    threads();
    atomic_store(&gate, 2);
    OK(pthread_join(opener, NULL));
    /* Whatever defines it, this waits for the loader's lock itself. */
    CHECK_EQ(dlclose(held), 0);
}

static const struct {
    const char *name, *version;
    void *function;
} by_version[] = {
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
    {"pthread_cond_wait", "GLIBC_2.3.2", pthread_cond_wait},
    {"pthread_cond_signal", "GLIBC_2.3.2", pthread_cond_signal},
    {"pthread_cond_init", "GLIBC_2.3.2", pthread_cond_init},
    {"pthread_cond_destroy", "GLIBC_2.3.2", pthread_cond_destroy},
#else
#define FIRST "GLIBC_2.17"
    {"pthread_cond_wait", FIRST, pthread_cond_wait},
    {"pthread_cond_signal", FIRST, pthread_cond_signal},
#endif
    {"pthread_mutex_lock", FIRST, pthread_mutex_lock},
    {"pthread_mutex_unlock", FIRST, pthread_mutex_unlock},
    {"pthread_mutex_trylock", FIRST, pthread_mutex_trylock},
    {"pthread_mutex_trylock", "GLIBC_2.34", pthread_mutex_trylock},
    {"pthread_mutex_clocklock", "GLIBC_2.30", pthread_mutex_clocklock},
    {"pthread_mutex_clocklock", "GLIBC_2.34", pthread_mutex_clocklock},
    {"pthread_rwlock_rdlock", FIRST, pthread_rwlock_rdlock},
    {"pthread_rwlock_rdlock", "GLIBC_2.34", pthread_rwlock_rdlock},
    {"pthread_spin_lock", FIRST, (void *)pthread_spin_lock},
    {"mtx_lock", "GLIBC_2.28", mtx_lock},
    {"mtx_lock", "GLIBC_2.34", mtx_lock},
};

/* What a program looks up by a version is what it calls. */
static void found_by_version(const void *with)
{
    (void)with;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    CHECK(libc != NULL);
    int found = 0;
    for (size_t i = 0; i < sizeof by_version / sizeof *by_version; i++) {
        const char *name = by_version[i].name, *version = by_version[i].version;
        /* A C library may be older, or newer than some architecture. */
        if (dlvsym(libc, name, version) == NULL)
            continue;
        CHECK(dlvsym(RTLD_DEFAULT, name, version) == by_version[i].function);
        CHECK(dlvsym(RTLD_NEXT, name, version) == by_version[i].function);
        found++;
    }
    CHECK(found >= 4);
}

CASES(CASE("by-version", found_by_version),
      CASE_WITH("under-lock/normal", under_loaders_lock, &kinds[NORMAL]),
      CASE_WITH("under-lock/recursive", under_loaders_lock, &kinds[RECURSIVE]),
      CASE_WITH("under-lock/errorcheck", under_loaders_lock,
                &kinds[ERRORCHECK]),
      CASE_WITH("under-lock/adaptive", under_loaders_lock, &kinds[ADAPTIVE]),
      CASE_WITH("under-lock/shared", under_loaders_lock, &kinds[SHARED]),
      CASE_WITH("under-lock/robust", under_loaders_lock, &kinds[ROBUST]),
      CASE_WITH("under-lock/inherit", under_loaders_lock, &kinds[INHERIT]))
