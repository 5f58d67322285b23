#include "check.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 60, LIMITS = 5 };
enum { FAILED = 1, USAGE = 2, SKIPPED = 77, HUNG = 124 };

/* One for a case and all its children, since a parent goes on with them. */
static atomic_uint *turns;
/* Of this process: what the watchdog saw last, and how often it looked. */
static unsigned turns_seen, looks;

static const char *running = "(no case)";

static void look(int signal)
{
    (void)signal;
    unsigned now = atomic_load(turns);
    if (now != turns_seen && ++looks < LIMITS) {
        turns_seen = now;
        alarm(LIMIT_S);
        return;
    }
    static const char before[] = "hung: case ", after[] = "\n";
    ssize_t ignored = write(2, before, sizeof before - 1);
    ignored += write(2, running, strlen(running));
    ignored += write(2, after, sizeof after - 1);
    (void)ignored;
    _exit(HUNG);
}

static void watch(void)
{
    struct sigaction action = {.sa_handler = look, .sa_flags = SA_RESTART};
    turns_seen = atomic_load(turns);
    looks = 0;
    sigaction(SIGALRM, &action, NULL);
    alarm(LIMIT_S);
}

int check_main(int argc, char **argv, const struct check_case *cases,
               size_t count)
{
    if (argc != 2) {
        dprintf(2, "usage: %s CASE | --list\n", argv[0]);
        return USAGE;
    }
    bool list = strcmp(argv[1], "--list") == 0;
    for (size_t i = 0; i < count; i++) {
        if (list) {
            printf("%s%s\n", cases[i].name, cases[i].beyond ? " beyond" : "");
        } else if (strcmp(argv[1], cases[i].name) == 0) {
            running = cases[i].name;
            turns = mmap(NULL, sizeof *turns, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            CHECK(turns != MAP_FAILED);
            watch();
            cases[i].run(cases[i].with);
            return 0;
        }
    }
    if (list)
        return 0;
    dprintf(2, "%s: no case '%s'; see --list\n", argv[0], argv[1]);
    return USAGE;
}

void check_failed(const char *file, int line, const char *condition)
{
    dprintf(2, "%s:%d: case %s: expected %s\n", file, line, running, condition);
    _exit(FAILED);
}

void check_differs(const char *file, int line, const char *what, long long got,
                   long long want)
{
    dprintf(2, "%s:%d: case %s: %s: expected %lld, got %lld\n", file, line,
            running, what, want, got);
    _exit(FAILED);
}

void check_exceeds(const char *file, int line, const char *what, long long got,
                   long long limit)
{
    dprintf(2, "%s:%d: case %s: %s: expected less than %lld, got %lld\n", file,
            line, running, what, limit, got);
    _exit(FAILED);
}

static const char *name_of(int error)
{
    const char *name = error == 0 ? "0" : strerrorname_np(error);
    return name ? name : "no error number";
}

void check_returned(const char *file, int line, const char *call, int got,
                    int want)
{
    dprintf(2, "%s:%d: case %s: %s: expected %s, got %s (%d)\n", file, line,
            running, call, name_of(want), name_of(got), got);
    _exit(FAILED);
}

void skip(const char *why)
{
    dprintf(2, "skip: case %s: %s\n", running, why);
    _exit(SKIPPED);
}

pthread_t start(void *(*run)(void *), void *with)
{
    pthread_t thread;
    pthread_attr_t attributes;
    OK(pthread_attr_init(&attributes));
    OK(pthread_attr_setstacksize(&attributes, 256 * 1024));
    OK(pthread_create(&thread, &attributes, run, with));
    OK(pthread_attr_destroy(&attributes));
    return thread;
}

void join(pthread_t thread)
{
    OK(pthread_join(thread, NULL));
}

pid_t fork_watched(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        watch();
    return child;
}

pid_t start_child(void (*run)(void *), void *with)
{
    pid_t child = fork_watched();
    if (child == 0) {
        run(with);
        _exit(0);
    }
    return child;
}

void join_child(pid_t child)
{
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        _exit(SKIPPED);
    if (WIFSIGNALED(status))
        dprintf(2, "case %s: the child was killed by signal %d\n", running,
                WTERMSIG(status));
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

void await(atomic_int *flag, int value)
{
    while (atomic_load(flag) < value)
        rest_ms(1);
}

void gather(atomic_int *arrived, int all)
{
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < all)
        sched_yield();
}

void progress(void)
{
    atomic_fetch_add_explicit(turns, 1, memory_order_relaxed);
}

void linger(int turn)
{
    progress();
    if (turn % 8 == 0)
        sched_yield();
}

void settle(void)
{
    rest_ms(20);
}

void rest_ms(long milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
