/* Uncontended calls in a process of two threads, each between two calls of `mark` that a trace shows.
 *
 *   calls WARM CASE...    makes each call WARM times before it is marked
 *
 * The first line of the output has the address of `mark`, and the address at which the library with
 * pthread_mutex_lock begins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;

__attribute__((noinline)) static void mark(void)
{
    __asm__ volatile("" ::: "memory");
}

static void mutex(void)
{
    pthread_mutex_lock(&plain);
    pthread_mutex_unlock(&plain);
}

static void try_mutex(void)
{
    pthread_mutex_trylock(&plain);
    pthread_mutex_unlock(&plain);
}

static void recursive_mutex(void)
{
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
}

static void checking_mutex(void)
{
    pthread_mutex_lock(&checking);
    pthread_mutex_unlock(&checking);
}

static void read_lock(void)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

static void write_lock(void)
{
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

static void signal_none(void)
{
    pthread_cond_signal(&condition);
}

static void spin_lock(void)
{
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
}

static const struct {
    const char *name;
    void (*call)(void);
} cases[] = {
    {"mutex", mutex},
    {"try", try_mutex},
    {"recursive", recursive_mutex},
    {"errorcheck", checking_mutex},
    {"read", read_lock},
    {"write", write_lock},
    {"signal", signal_none},
    {"spin", spin_lock},
};

/* No call may take a shortcut of a single thread. */
static void *sleep_for_good(void *unused)
{
    pause();
    return unused;
}

int main(int count, char **words)
{
    pthread_t thread;
    Dl_info library;
    if (count < 3 || pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) != 0 ||
        pthread_create(&thread, NULL, sleep_for_good, NULL) != 0 ||
        dladdr((void *)(uintptr_t)pthread_mutex_lock, &library) == 0)
        return 2;
    printf("%016lx %016lx\n", (unsigned long)(uintptr_t)mark,
           (unsigned long)(uintptr_t)library.dli_fbase);
    for (int word = 2; word < count; word++) {
        void (*call)(void) = NULL;
        for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
            if (strcmp(cases[index].name, words[word]) == 0)
                call = cases[index].call;
        if (call == NULL)
            return 2;
        for (int turn = atoi(words[1]); turn > 0; turn--)
            call();
        mark();
        call();
        mark();
    }
    return 0;
}
