/* TRY(lock): what the functions of an algorithm for addresses do. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, TURNS = 500 };

static long total;

static void expect(const char *lock, const char *what, int is, int should)
{
    if (is == should)
        return;
    fprintf(stderr, "%s: %s: %d, not %d\n", lock, what, is, should);
    exit(1);
}

/* Another algorithm than that one: no address of the first has a lock of it. */
static int is_refused(const char *lock, void *address)
{
    if (lock[0] == 'm')
        return cohort_gls_ticket_trylock(address);
    return cohort_gls_mcs_trylock(address);
}

static const struct timespec *past(void)
{
    static const struct timespec time = { 1, 0 };
    return &time;
}

#define TRY(lock) TRY_AS(lock, #lock)
#define TRY_AS(lock, name) \
    { \
        pthread_t threads[THREADS]; \
        struct timespec soon; \
        total = 0; \
        for (int i = 0; i < THREADS; i++) \
            pthread_create(&threads[i], NULL, work, \
                           &(struct algorithm){ cohort_gls_##lock##_lock, \
                                                cohort_gls_##lock##_unlock }); \
        for (int i = 0; i < THREADS; i++) \
            pthread_join(threads[i], NULL); \
        expect(name, "sections", total, THREADS * TURNS); \
        expect(name, "unlock of a free one", cohort_gls_##lock##_unlock(&total), EPERM); \
        expect(name, "null", cohort_gls_##lock##_lock(NULL), EINVAL); \
        clock_gettime(CLOCK_REALTIME, &soon); \
        soon.tv_sec += 60; \
        expect(name, "timedlock", cohort_gls_##lock##_timedlock(&total, &soon), 0); \
        expect(name, "trylock", cohort_gls_##lock##_trylock(&total), EBUSY); \
        expect(name, "free of a held one", cohort_gls_free(&total), EBUSY); \
        expect(name, "clocklock", \
               cohort_gls_##lock##_clocklock(&total, CLOCK_MONOTONIC, past()), ETIMEDOUT); \
        expect(name, "no clock", cohort_gls_##lock##_clocklock(&total, 77, past()), EINVAL); \
        expect(name, "another algorithm", is_refused(name, &total), EINVAL); \
        pid_t child = fork(); \
        if (child == 0) { \
            int error = cohort_gls_##lock##_unlock(&total); \
            error = error ? error : cohort_gls_##lock##_lock(&total); \
            _exit(error ? error : cohort_gls_##lock##_unlock(&total)); \
        } \
        int status; \
        waitpid(child, &status, 0); \
        expect(name, "a forked child", status, 0); \
        expect(name, "unlock", cohort_gls_##lock##_unlock(&total), 0); \
        expect(name, "free", cohort_gls_free(&total), 0); \
        expect(name, "unlock of an unknown one", cohort_gls_##lock##_unlock(&total), EPERM); \
    }

struct algorithm {
    int (*lock)(const void *);
    int (*unlock)(const void *);
};

static void *work(void *argument)
{
    const struct algorithm algorithm = *(struct algorithm *)argument;
    for (int i = 0; i < TURNS; i++) {
        expect("a thread", "lock", algorithm.lock(&total), 0);
        total++;
        expect("a thread", "unlock", algorithm.unlock(&total), 0);
    }
    return NULL;
}
