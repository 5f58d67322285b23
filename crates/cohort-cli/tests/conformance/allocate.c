/* Threads that allocate: with an allocator that locks, each call is a lock that
 * is taken inside everything else, and first of all. */
#include "support/check.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Names a symbol that only the allocator to be checked has. */
static const char allocator_variable[] = "CHECK_ALLOCATOR_SYMBOL";

enum { THREADS = 8, TURNS = 2000, KEPT = 64, MOST = 3000 };

static void check_allocator(void)
{
    const char *symbol = getenv(allocator_variable);
    if (symbol != NULL)
        CHECK(dlsym(RTLD_DEFAULT, symbol) != NULL);
}

/* Fills what it gets and looks at it again before giving it back. */
static void *churn(void *argument)
{
    unsigned seed = *(const unsigned *)argument;
    unsigned char *kept[KEPT] = {0};
    size_t sizes[KEPT] = {0};
    for (int turn = 0; turn < TURNS; turn++) {
        int place = rand_r(&seed) % KEPT;
        unsigned char mark = (unsigned char)(place + 1);
        for (size_t i = 0; i < sizes[place]; i++)
            CHECK_EQ(kept[place][i], mark);
        sizes[place] = 1 + rand_r(&seed) % MOST;
        if (turn % 3 == 0) {
            free(kept[place]);
            kept[place] = calloc(1, sizes[place]);
        } else {
            kept[place] = realloc(kept[place], sizes[place]);
        }
        CHECK(kept[place] != NULL);
        memset(kept[place], mark, sizes[place]);
        progress();
    }
    for (int place = 0; place < KEPT; place++)
        free(kept[place]);
    return NULL;
}

static void churn_by_threads(void *argument)
{
    (void)argument;
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        threads[i] = start(churn, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++)
        join(threads[i]);
}

static void threads(const void *with)
{
    (void)with;
    check_allocator();
    churn_by_threads(NULL);
}

static atomic_bool stop;

static void *churn_on(void *argument)
{
    while (!atomic_load(&stop))
        churn(argument);
    return NULL;
}

/* Children of a process with threads inside the allocator. */
static void forked(const void *with)
{
    (void)with;
    check_allocator();
    pthread_t busy[4];
    unsigned seed = 7;
    for (int i = 0; i < 4; i++)
        busy[i] = start(churn_on, &seed);
    for (int i = 0; i < 20; i++)
        join_child(start_child(churn_by_threads, NULL));
    atomic_store(&stop, true);
    for (int i = 0; i < 4; i++)
        join(busy[i]);
}

static pthread_key_t key;

static void free_value(void *value)
{
    free(value);
    free(malloc(100));
}

static void *leave_value(void *argument)
{
    void *value = malloc(100);
    CHECK(value != NULL);
    OK(pthread_setspecific(key, value));
    return argument;
}

/* Short-lived threads that free at last. */
static void thread_exit(const void *with)
{
    (void)with;
    check_allocator();
    OK(pthread_key_create(&key, free_value));
    for (int i = 0; i < 250; i++) {
        pthread_t threads[4];
        for (int j = 0; j < 4; j++)
            threads[j] = start(leave_value, NULL);
        for (int j = 0; j < 4; j++)
            join(threads[j]);
    }
}

CASES(CASE("threads", threads), CASE("forked", forked),
      CASE("thread-exit", thread_exit))
