/* The holder of a contended mutex may request an extension of its time slice
 * (Linux 7.0, glibc 2.41). The request ends with the section, nests, and leaves
 * extensions to a program that enables them itself. Elsewhere there are none. */
#include "support/check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 3000, TURNS = 500, SECTION = 100, GAP = 50 };

/* Newer than the headers. */
enum { SLICE_EXTENSION = 79, GET = 1, SET = 2, SLICE_YIELD = 471 };

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

/* What a thread shares with the kernel. */
struct word {
    atomic_uchar request, granted;
};

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int rounds, length;
static int turn;

/* Protected by the outer mutex. */
static int inside;
static long sections, requested, granted;

static struct word *own_word(void)
{
    static struct word none;
    if (&__rseq_size == NULL || __rseq_size < 30)
        return &none;
    return (struct word *)((char *)__builtin_thread_pointer() + __rseq_offset +
                           28);
}

static void spend(int times)
{
    for (volatile int i = 0; i < times; i++)
        ;
}

static void section(struct word *word)
{
    CHECK_EQ(inside, 0);
    inside = 1;
    spend(length);
    sections++;
    requested += word->request;
    granted += word->granted;
    CHECK_EQ(inside, 1);
    inside = 0;
}

static void *work(void *argument)
{
    (void)argument;
    struct word *word = own_word();
    for (int i = 0; i < rounds; i++) {
        OK(pthread_mutex_lock(&outer));
        bool nests = i % 4 == 0;
        if (nests)
            OK(pthread_mutex_lock(&inner));
        section(word);
        if (nests) {
            OK(pthread_mutex_unlock(&inner));
            spend(length / 4);
        }
        OK(pthread_mutex_unlock(&outer));
        CHECK_EQ(word->request, 0);
        spend(GAP);
        progress();
    }
    return NULL;
}

static void *take_turns(void *argument)
{
    int me = (int)(size_t)argument;
    struct word *word = own_word();
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&outer));
        while (turn != me)
            OK(pthread_cond_wait(&cond, &outer));
        section(word);
        turn = (me + 1) % THREADS;
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_mutex_unlock(&outer));
        CHECK_EQ(word->request, 0);
        progress();
    }
    return NULL;
}

/* Threads, the caller among them, run the function; it leaves so many sections. */
static void together(void *(*run)(void *), long each)
{
    pthread_t threads[THREADS];
    long before = sections;
    for (size_t i = 1; i < THREADS; i++)
        threads[i] = start(run, (void *)i);
    run((void *)0);
    for (int i = 1; i < THREADS; i++)
        join(threads[i]);
    CHECK_EQ(sections - before, THREADS * each);
    printf("slice: %ld sections, %ld requested, %ld granted\n", sections,
           requested, granted);
    fflush(stdout);
}

static int given(const char *name, int usual)
{
    const char *value = getenv(name);
    return value != NULL ? atoi(value) : usual;
}

static void work_together(void)
{
    rounds = given("SLICE_ROUNDS", ROUNDS);
    length = given("SLICE_SECTION", SECTION);
    together(work, rounds);
}

static void requests_end(const void *with)
{
    (void)with;
    work_together();
}

static void conditions(const void *with)
{
    (void)with;
    together(take_turns, TURNS);
}

static void in_child(void *with)
{
    (void)with;
    requested = granted = 0;
    work_together();
}

/* After its parent has had extensions. */
static void child(const void *with)
{
    (void)with;
    work_together();
    join_child(start_child(in_child, NULL));
}

/* To the program they appear disabled; once it enables them, they are its own. */
static void own(const void *with)
{
    (void)with;
    work_together();
    int enabled = prctl(SLICE_EXTENSION, GET, 0, 0, 0);
    if (enabled < 0 || prctl(SLICE_EXTENSION, SET, 1, 0, 0) != 0)
        skip("this kernel extends no time slices of this thread");
    CHECK_EQ(enabled, 0);
    CHECK_EQ(prctl(SLICE_EXTENSION, GET, 0, 0, 0), 1);
    requested = granted = 0;
    work_together();
    CHECK_EQ(requested + granted, 0);
    CHECK_EQ(prctl(SLICE_EXTENSION, GET, 0, 0, 0), 1);
}

#define LOAD(field)                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

/* Kills for what the C library's locks never do. */
static struct sock_filter instructions[] = {
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SLICE_YIELD, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SLICE_EXTENSION, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void filter(void)
{
    const struct sock_fprog program = {
        .len = sizeof instructions / sizeof *instructions,
        .filter = instructions,
    };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip("this system takes no filters");
}

/* Some threads have extensions enabled by then, others not. */
static void filtered(const void *with)
{
    (void)with;
    work_together();
    filter();
    requested = granted = 0;
    work_together();
    CHECK_EQ(requested + granted, 0);
}

/* The filter is there before the program starts. */
static void inherited(const void *with)
{
    (void)with;
    if (getenv("SLICE_FILTERED") == NULL) {
        filter();
        OK(setenv("SLICE_FILTERED", "1", 1));
        char *const arguments[] = {"slice", "inherited", NULL};
        execv("/proc/self/exe", arguments);
        CHECK(!"this program runs again");
    }
    work_together();
    CHECK_EQ(requested + granted, 0);
}

CASES(CASE("requests-end", requests_end), CASE("conditions", conditions),
      CASE("child", child), CASE("own", own), CASE("filtered", filtered),
      CASE("inherited", inherited))
