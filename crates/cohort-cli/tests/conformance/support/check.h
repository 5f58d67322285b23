/* One topic is one program, one case is one process: `./topic CASE`.
 *
 * A case passes by returning, fails with status 1 and a line that says where
 * and what, is skipped with status 77 and a line that says why, and is ended
 * with status 124 by its own watchdog when it makes no progress for a minute. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct check_case {
    const char *name;
    void (*run)(const void *with);
    const void *with;
    /* Promised by us, not by the C library: not run under the system's locks. */
    bool beyond;
};

/* Rows of a topic's table. */
#define CASE(name, run)            {name, run, NULL, false}
#define CASE_WITH(name, run, with) {name, run, with, false}
#define BEYOND(name, run)          {name, run, NULL, true}

/* Ends a topic: the table of its cases, and `main`. */
#define CASES(...)                                                             \
    static const struct check_case check_cases[] = {__VA_ARGS__};              \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        return check_main(argc, argv, check_cases,                             \
                          sizeof check_cases / sizeof *check_cases);           \
    }

/* The condition holds. */
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            check_failed(__FILE__, __LINE__, #condition);                      \
    } while (0)

/* Two integers are equal. */
#define CHECK_EQ(got, want)                                                    \
    do {                                                                       \
        long long check_got = (got), check_want = (want);                      \
        if (check_got != check_want)                                           \
            check_differs(__FILE__, __LINE__, #got, check_got, check_want);    \
    } while (0)

/* An integer stays below a limit. */
#define CHECK_BELOW(got, limit)                                                \
    do {                                                                       \
        long long check_got = (got), check_limit = (limit);                    \
        if (check_got >= check_limit)                                          \
            check_exceeds(__FILE__, __LINE__, #got, check_got, check_limit);   \
    } while (0)

/* A call returns this error number. */
#define GIVES(want, call)                                                      \
    do {                                                                       \
        int check_got = (call);                                                \
        if (check_got != (want))                                               \
            check_returned(__FILE__, __LINE__, #call, check_got, (want));      \
    } while (0)

/* A call succeeds. */
#define OK(call) GIVES(0, call)

int check_main(int argc, char **argv, const struct check_case *cases,
               size_t count);
_Noreturn void check_failed(const char *file, int line, const char *condition);
_Noreturn void check_differs(const char *file, int line, const char *what,
                             long long got, long long want);
_Noreturn void check_exceeds(const char *file, int line, const char *what,
                             long long got, long long limit);
_Noreturn void check_returned(const char *file, int line, const char *call,
                              int got, int want);

/* Leaves the case: this machine or this account cannot run it. */
_Noreturn void skip(const char *why);

/* Starts and joins a thread on a small stack, so that a case can have many. */
pthread_t start(void *(*run)(void *), void *with);
void join(pthread_t thread);

/* Forks; the child has a watchdog of its own. */
pid_t fork_watched(void);
/* The same; the child runs the function and ends with 0. */
pid_t start_child(void (*run)(void *), void *with);
/* Waits for a child and checks that it ended with 0. */
void join_child(pid_t child);

/* Waits until a flag has at least this value; the watchdog bounds it. */
void await(atomic_int *flag, int value);
/* Waits for so many callers, so that short work overlaps. */
void gather(atomic_int *arrived, int all);
/* Tells the watchdog that the case goes on, however slowly: queues crawl on a
 * machine that is busy with something else. */
void progress(void);
/* Every eighth turn the holder of a lock lets others run: they must wait.
 * Each turn is progress. */
void linger(int turn);
/* Gives threads that are about to block the time to do so.  No case relies on
 * their having done it: too short a rest makes a case weaker, never wrong. */
void settle(void);
void rest_ms(long milliseconds);

#endif
