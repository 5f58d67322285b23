/* A soak: threads draw operations from a seed until the time is up.
 *
 * `./soak SECONDS THREADS SEED`.  It ends with status 0, or prints the seed, each thread's last
 * operation and the locks' words, and ends with status 1: on a wrong result at once, and when a
 * thread makes no round for 30 seconds. */
#ifndef SOAK_H
#define SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { MOST_THREADS = 64 };

/* A generator of one thread. */
struct dice {
    uint64_t state;
};
/* A number below a bound above 0. */
uint32_t roll(struct dice *dice, uint32_t below);
/* One time in so many. */
bool one_in(struct dice *dice, uint32_t times);

/* A place in an array: half of the draws fall on the first `hot` of `all`, which are contended. */
int draw(struct dice *dice, int hot, int all);

struct soak {
    /* Before the threads begin; may be null. */
    void (*begin)(void);
    /* One round of a thread. */
    void (*round)(int thread, struct dice *dice);
    /* One round of the main thread, beside the others; may be null. */
    void (*beside)(struct dice *dice);
    /* Prints the locks' words. */
    void (*show)(void);
    /* After the last thread has ended: compares counts, looks whether locks are at rest. */
    void (*end)(void);
};
int soak_main(int argc, char **argv, const struct soak *soak);
int soak_threads(void);

/* Notes what the calling thread is about to do, with which object. */
void note(const char *what, int object);

/* Ends the soak: something was wrong. */
_Noreturn void wrong(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            wrong(__FILE__, __LINE__, "not so: %s", #condition);               \
    } while (0)
/* A call returns this error number. */
#define GIVES(want, call)                                                      \
    do {                                                                       \
        int soak_got = (call);                                                 \
        if (soak_got != (want))                                                \
            wrong(__FILE__, __LINE__, "%s gave %d, not %d", #call, soak_got,   \
                  (want));                                                     \
    } while (0)
#define OK(call) GIVES(0, call)

/* Prints an object's 32-bit words. */
void show_words(const char *name, int number, const void *object, size_t bytes);
/* The object's 32-bit word of that number. */
uint32_t word_of(const void *object, int number);
/* Whether the default serves mutexes, or rwlocks: only its words are looked into. */
bool is_default_mutex(void);
bool is_default_rwlock(void);

/* Whether the default's rwlock, which is free, is at rest: its state is 0.  Its gate, which only
 * waiters use, may keep the marks that there may be sleepers and that one may be on its way. */
bool rests(const void *rwlock);

/* That number of nanoseconds from now. */
struct timespec in_ns(clockid_t clock, long nanoseconds);
/* Checks that the deadline of a wait has passed: no wait may end early. */
void check_passed(clockid_t clock, const struct timespec *deadline);
/* Stays for a moment: mostly a few instructions, sometimes asleep. */
void linger(struct dice *dice);
/* Moves the calling thread to one of its CPUs, or lets it run on all again. */
void move_about(struct dice *dice);
/* Interrupts one of the threads. */
void interrupt_one(struct dice *dice);
/* In a forked child: ends it, with a report, if it takes so many seconds. */
void watch_child(unsigned seconds);

#endif
