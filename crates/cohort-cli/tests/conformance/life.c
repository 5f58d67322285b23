/* Locks from the first constructor to the last destructor. */
#include "early.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int count, at_start;

static int count_once(void)
{
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_rwlock_wrlock(&rwlock));
    int now = ++count;
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_mutex_unlock(&mutex));
    return now;
}

/* Before `main`: the library counted in its constructor and in a thread of it. */
__attribute__((constructor)) static void before_main(void)
{
    at_start = early_count() + count_once();
}

static void constructors(const void *with)
{
    (void)with;
    CHECK_EQ(at_start, 3);
    CHECK_EQ(early_count_again(), 3);
    CHECK_EQ(count_once(), 2);
}

static int ending;

static void say_at_exit(void)
{
    early_count_again();
    int now = count_once();
    if (ending != 0 && write(ending, &now, sizeof now) != sizeof now)
        _exit(1);
}

/* After `main`, the program's destructors come after its exit handlers. */
__attribute__((destructor)) static void after_main(void)
{
    say_at_exit();
}

static void end_in_child(void *argument)
{
    ending = *(int *)argument;
    OK(atexit(say_at_exit));
    exit(0);
}

static void exit_handlers(const void *with)
{
    (void)with;
    int ends[2], said[2] = {0};
    CHECK_EQ(pipe(ends), 0);
    join_child(start_child(end_in_child, &ends[1]));
    CHECK_EQ(close(ends[1]), 0);
    CHECK_EQ(read(ends[0], &said[0], sizeof said[0]), sizeof said[0]);
    CHECK_EQ(read(ends[0], &said[1], sizeof said[1]), sizeof said[1]);
    CHECK_EQ(said[0], count + 1);
    CHECK_EQ(said[1], count + 2);
}

static void *sleep_holding(void *argument)
{
    OK(pthread_mutex_lock(argument));
    for (;;)
        pause();
    return NULL;
}

static void *wait_for_ever(void *argument)
{
    OK(pthread_mutex_lock(argument));
    return NULL;
}

static void exit_with_threads(void *argument)
{
    static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    start(sleep_holding, &held);
    for (int i = 0; i < 4; i++)
        start(wait_for_ever, &held);
    settle();
    end_in_child(argument);
}

/* The program ends while some of its threads wait for a mutex. */
static void exit_while_others_wait(const void *with)
{
    (void)with;
    int none = 0;
    for (int i = 0; i < 10; i++)
        join_child(start_child(exit_with_threads, &none));
}

static pthread_key_t keys[3];
static atomic_int destroyed;

/* Runs when the thread has lost its other thread-local state. */
static void count_at_thread_exit(void *argument)
{
    struct timespec deadline = in_ms(CLOCK_REALTIME, 30000);
    OK(pthread_mutex_timedlock(&mutex, &deadline));
    count++;
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_rwlock_rdlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    /* Setting the key again makes the library call again, in a later round. */
    intptr_t rounds = (intptr_t)argument;
    if (rounds > 1)
        OK(pthread_setspecific(keys[0], (void *)(rounds - 1)));
    atomic_fetch_add(&destroyed, 1);
}

static void *leave_values(void *argument)
{
    OK(pthread_setspecific(keys[0], (void *)(intptr_t)3));
    OK(pthread_setspecific(keys[1], (void *)(intptr_t)1));
    OK(pthread_setspecific(keys[2], (void *)(intptr_t)1));
    return argument;
}

static void *leave_values_unlocked(void *argument)
{
    leave_values(argument);
    pthread_exit(NULL);
}

static void thread_exit(const void *with)
{
    (void)with;
    enum { THREADS = 200, CALLS = 5 };
    int before = count;
    for (int i = 0; i < 3; i++)
        OK(pthread_key_create(&keys[i], count_at_thread_exit));
    for (int i = 0; i < THREADS; i += 4) {
        pthread_t threads[4];
        for (int j = 0; j < 4; j++)
            threads[j] =
                start(j % 2 ? leave_values : leave_values_unlocked, NULL);
        for (int j = 0; j < 4; j++)
            join(threads[j]);
    }
    CHECK_EQ(atomic_load(&destroyed), THREADS * CALLS);
    CHECK_EQ(count, before + THREADS * CALLS);
}

static void opened_library(const void *with)
{
    (void)with;
    for (int round = 0; round < 20; round++) {
        void *library = dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            dprintf(2, "%s\n", dlerror());
        CHECK(library != NULL);
        int (*count_in_plugin)(int) =
            (int (*)(int))dlsym(library, "plugin_count");
        CHECK(count_in_plugin != NULL);
        CHECK_EQ(count_in_plugin(8), 8 * 500);
        CHECK_EQ(dlclose(library), 0);
    }
}

CASES(CASE("constructors", constructors), CASE("exit-handlers", exit_handlers),
      CASE("exit-while-others-wait", exit_while_others_wait),
      CASE("thread-exit", thread_exit), CASE("opened-library", opened_library))
