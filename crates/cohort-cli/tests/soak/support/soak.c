#include "soak.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a thread may take for a round. */
enum { PATIENCE_SECONDS = 30 };

static const struct soak *soak;
static int seconds, threads;
static uint64_t seed;
static pthread_t ids[MOST_THREADS];
static _Atomic(bool) is_over, is_done;
static cpu_set_t cpus;

/* What each thread does; the last row is the main thread's. */
static struct row {
    atomic_ulong rounds;
    _Atomic(bool) ended;
    const char *_Atomic what;
    atomic_int object;
} rows[MOST_THREADS + 1];
static _Thread_local struct row *own;

uint32_t roll(struct dice *dice, uint32_t below)
{
    /* Xorshift, and the upper bits of a product. */
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 7;
    dice->state ^= dice->state << 17;
    uint64_t bits = dice->state * 0x2545f4914f6cdd1d;
    return (uint32_t)(((bits >> 32) * below) >> 32);
}

bool one_in(struct dice *dice, uint32_t times)
{
    return roll(dice, times) == 0;
}

int draw(struct dice *dice, int hot, int all)
{
    return (int)roll(dice, (uint32_t)(one_in(dice, 2) ? hot : all));
}

static struct dice dice_of(int thread)
{
    struct dice dice = {(seed + 1) * 0x9e3779b97f4a7c15 + (uint64_t)thread + 1};
    for (int i = 0; i < 8; i++)
        roll(&dice, 2);
    return dice;
}

int soak_threads(void)
{
    return threads;
}

void note(const char *what, int object)
{
    if (own) {
        atomic_store_explicit(&own->what, what, memory_order_relaxed);
        atomic_store_explicit(&own->object, object, memory_order_relaxed);
    }
}

static _Noreturn void give_up(void)
{
    printf("seed %llu, %d threads, pid %d\n", (unsigned long long)seed, threads,
           getpid());
    for (int i = 0; i <= threads; i++) {
        struct row *row = i < threads ? &rows[i] : &rows[MOST_THREADS];
        const char *what = row->what;
        printf("thread %d%s: %lu rounds, last %s of %d\n", i,
               i < threads ? "" : " (main)", row->rounds, what ? what : "nothing",
               row->object);
    }
    soak->show();
    fflush(stdout);
    _exit(1);
}

void wrong(const char *file, int line, const char *format, ...)
{
    /* One thread's report is enough. */
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&is_told))
        for (;;)
            pause();
    va_list arguments;
    va_start(arguments, format);
    printf("WRONG: %s:%d: ", file, line);
    vprintf(format, arguments);
    va_end(arguments);
    printf("; thread %d\n", own ? (int)(own - rows) : -1);
    give_up();
}

void show_words(const char *name, int number, const void *object, size_t bytes)
{
    printf("%s %d:", name, number);
    for (size_t i = 0; i < bytes / sizeof(uint32_t); i++)
        printf(" %08x", word_of(object, (int)i));
    printf("\n");
}

uint32_t word_of(const void *object, int number)
{
    return ((const volatile uint32_t *)object)[number];
}

bool rests(const void *rwlock)
{
    enum { GATE = 0, STATE = 2, HINTS = ~0x1ff | 2 | 4 | 128 };
    return word_of(rwlock, STATE) == 0 && (word_of(rwlock, GATE) & ~HINTS) == 0;
}

static bool names(const char *variable, const char *usual)
{
    const char *value = getenv(variable);
    return !value || !*value || strcmp(value, usual) == 0;
}

/* Cohort serves at all, and by what is usual. */
static bool is_ours(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "libcohort");
}

bool is_default_mutex(void)
{
    return is_ours() && (names("COHORT_LOCK", "futex-hmcs") || names("COHORT_LOCK", "futex"));
}

bool is_default_rwlock(void)
{
    return is_ours() && names("COHORT_RWLOCK", "rwlock") && !names("COHORT_LOCK", "system");
}

struct timespec in_ns(clockid_t clock, long nanoseconds)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += nanoseconds;
    while (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

void check_passed(clockid_t clock, const struct timespec *deadline)
{
    struct timespec now = in_ns(clock, 0);
    CHECK(now.tv_sec > deadline->tv_sec ||
          (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec));
}

void linger(struct dice *dice)
{
    if (one_in(dice, 64))
        usleep(roll(dice, 200));
    else
        for (volatile uint32_t i = roll(dice, 2000); i; i--)
            ;
}

void move_about(struct dice *dice)
{
    cpu_set_t set = cpus;
    if (!one_in(dice, 2)) {
        int place = (int)roll(dice, (uint32_t)CPU_COUNT(&cpus));
        CPU_ZERO(&set);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &cpus) && place-- == 0)
                CPU_SET(cpu, &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

static void on_signal(int signal)
{
    (void)signal;
}

void interrupt_one(struct dice *dice)
{
    /* Threads are joined only after the main thread's last round. */
    pthread_kill(ids[roll(dice, (uint32_t)threads)], SIGUSR1);
}

static void on_alarm(int signal)
{
    (void)signal;
    printf("STOPPED: the child\n");
    give_up();
}

void watch_child(unsigned seconds)
{
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
}

static void *run(void *row)
{
    own = row;
    int thread = (int)(own - rows);
    struct dice dice = dice_of(thread);
    while (!is_over) {
        soak->round(thread, &dice);
        own->rounds++;
    }
    own->ended = true;
    return NULL;
}

/* Sees that every thread goes on, and ends the soak when one does not. */
static void *watch(void *unused)
{
    (void)unused;
    unsigned long last[MOST_THREADS + 1] = {0};
    int still[MOST_THREADS + 1] = {0};
    while (!is_done) {
        sleep(1);
        for (int i = 0; i <= MOST_THREADS; i++) {
            /* The main thread goes on by rounds while they last, and has the same time to end. */
            bool is_main = i == MOST_THREADS;
            if ((!is_main && i >= threads) || (is_main && is_done) || rows[i].ended)
                continue;
            unsigned long rounds = rows[i].rounds;
            still[i] = rounds == last[i] ? still[i] + 1 : 0;
            last[i] = rounds;
            if (still[i] > PATIENCE_SECONDS) {
                printf("STOPPED: thread %d\n", i);
                give_up();
            }
        }
    }
    return NULL;
}

int soak_main(int argc, char **argv, const struct soak *of)
{
    soak = of;
    if (argc != 4 || (seconds = atoi(argv[1])) < 1 || (threads = atoi(argv[2])) < 1 ||
        threads > MOST_THREADS) {
        fprintf(stderr, "usage: %s SECONDS THREADS SEED\n", argv[0]);
        return 2;
    }
    seed = strtoull(argv[3], NULL, 10);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sched_getaffinity(0, sizeof cpus, &cpus);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    own = &rows[MOST_THREADS];
    if (soak->begin)
        soak->begin();
    pthread_t watchdog;
    OK(pthread_create(&watchdog, NULL, watch, NULL));
    for (int i = 0; i < threads; i++)
        OK(pthread_create(&ids[i], NULL, run, &rows[i]));
    struct dice dice = dice_of(MOST_THREADS);
    time_t end = in_ns(CLOCK_MONOTONIC, 0).tv_sec + seconds;
    /* Beside the last rounds too, which may wait for what it does. */
    for (bool all_ended = false; !all_ended;) {
        if (soak->beside)
            soak->beside(&dice);
        else
            usleep(10000);
        own->rounds++;
        is_over = in_ns(CLOCK_MONOTONIC, 0).tv_sec >= end;
        all_ended = true;
        for (int i = 0; i < threads; i++)
            all_ended &= rows[i].ended;
    }
    unsigned long rounds = 0;
    for (int i = 0; i < threads; i++) {
        OK(pthread_join(ids[i], NULL));
        own->rounds++;
        rounds += rows[i].rounds;
    }
    soak->end();
    is_done = true;
    pthread_join(watchdog, NULL);
    printf("%lu rounds\n", rounds);
    return 0;
}
