/* Many mutexes, many threads, and every order of unlocking. */
#include "support/check.h"
#include "support/kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HELD = 10 };

static void check_all(pthread_mutex_t *mutexes, const bool *held)
{
    for (int i = 0; i < HELD; i++)
        CHECK_EQ(held_for_others(&mutexes[i]), held[i]);
}

/* Ten nested, and unlocked first-in-first-out, inside out and shuffled. */
static void unlock_orders(const void *kind)
{
    static const int orders[][HELD] = {
        {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
        {4, 5, 3, 6, 2, 7, 1, 8, 0, 9}, {7, 0, 3, 9, 1, 8, 5, 2, 6, 4},
        {1, 3, 5, 7, 9, 0, 2, 4, 6, 8},
    };
    for (size_t order = 0; order < sizeof orders / sizeof *orders; order++) {
        pthread_mutex_t mutexes[HELD];
        bool held[HELD];
        for (int i = 0; i < HELD; i++) {
            kind_init(&mutexes[i], kind);
            OK(pthread_mutex_lock(&mutexes[i]));
            held[i] = true;
        }
        check_all(mutexes, held);
        for (int i = 0; i < HELD; i++) {
            OK(pthread_mutex_unlock(&mutexes[orders[order][i]]));
            held[orders[order][i]] = false;
            check_all(mutexes, held);
        }
    }
}

struct street {
    atomic_int arrived;
    pthread_mutex_t mutexes[HELD];
    volatile long counts[HELD];
};

enum { WALKERS = 8, WALKS = 300 };

/* Hand over hand down the street, then all of it at once: never last-in
 * first-out, and every mutex contended. */
static void *walk(void *argument)
{
    struct street *street = argument;
    gather(&street->arrived, WALKERS);
    for (int walk = 0; walk < WALKS; walk++) {
        OK(pthread_mutex_lock(&street->mutexes[0]));
        for (int i = 1; i < HELD; i++) {
            OK(pthread_mutex_lock(&street->mutexes[i]));
            long count = street->counts[i - 1];
            linger(walk + i);
            street->counts[i - 1] = count + 1;
            OK(pthread_mutex_unlock(&street->mutexes[i - 1]));
        }
        street->counts[HELD - 1] = street->counts[HELD - 1] + 1;
        OK(pthread_mutex_unlock(&street->mutexes[HELD - 1]));

        for (int i = 0; i < HELD; i++)
            OK(pthread_mutex_lock(&street->mutexes[i]));
        for (int i = 0; i < HELD; i++) {
            int next = (i * 7 + walk) % HELD;
            street->counts[next] = street->counts[next] + 1;
            OK(pthread_mutex_unlock(&street->mutexes[next]));
        }
    }
    return NULL;
}

static void contended_nesting(const void *kind)
{
    struct street street = {0};
    for (int i = 0; i < HELD; i++)
        kind_init(&street.mutexes[i], kind);
    pthread_t walkers[WALKERS];
    for (int i = 0; i < WALKERS; i++)
        walkers[i] = start(walk, &street);
    for (int i = 0; i < WALKERS; i++)
        join(walkers[i]);
    for (int i = 0; i < HELD; i++)
        CHECK_EQ(street.counts[i], WALKERS * WALKS * 2);
}

enum { ALIVE = 100000 };

struct city {
    pthread_mutex_t *mutexes;
    volatile unsigned char *counts;
    atomic_int arrived;
};

static void *visit_every(void *argument)
{
    struct city *city = argument;
    gather(&city->arrived, 4);
    for (int i = 0; i < ALIVE; i++) {
        OK(pthread_mutex_lock(&city->mutexes[i]));
        city->counts[i] = city->counts[i] + 1;
        progress();
        OK(pthread_mutex_unlock(&city->mutexes[i]));
    }
    return NULL;
}

/* Memory that the process has written to, in KiB: code that is met late is not counted. */
static long written_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    long resident, of_files;
    CHECK_EQ(fscanf(file, "%*d %ld %ld", &resident, &of_files), 2);
    fclose(file);
    return (resident - of_files) * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Alive, all used by several threads, all held at once by one. */
static void mutexes_alive(const void *with)
{
    (void)with;
    struct city city = {.mutexes = calloc(ALIVE, sizeof(pthread_mutex_t)),
                        .counts = calloc(ALIVE, 1)};
    CHECK(city.mutexes != NULL && city.counts != NULL);
    pthread_t visitors[4];
    for (int i = 0; i < 4; i++)
        visitors[i] = start(visit_every, &city);
    for (int i = 0; i < 4; i++)
        join(visitors[i]);
    for (int i = 0; i < ALIVE; i++)
        CHECK_EQ(city.counts[i], 4);
    for (int i = 0; i < ALIVE; i++)
        OK(pthread_mutex_lock(&city.mutexes[i]));
    for (int i = 0; i < ALIVE; i += 999)
        CHECK(held_for_others(&city.mutexes[i]));
    for (int i = 0; i < ALIVE; i++)
        OK(pthread_mutex_unlock(&city.mutexes[i]));
}

/* Idle mutexes cost nothing beyond their own bytes. */
static void idle_memory(const void *with)
{
    (void)with;
    pthread_mutex_t *mutexes = calloc(ALIVE, sizeof *mutexes);
    CHECK(mutexes != NULL);
    for (size_t i = 0; i < ALIVE * sizeof *mutexes; i++)
        ((volatile char *)mutexes)[i] = 0;
    long before = written_kib();
    for (int i = 0; i < ALIVE; i++) {
        OK(pthread_mutex_lock(&mutexes[i]));
        OK(pthread_mutex_unlock(&mutexes[i]));
    }
    /* One byte a mutex is 97 KiB. */
    CHECK_BELOW(written_kib() - before, 512);
}

enum { THREADS = 10000, WAVE = 50 };

struct shore {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    volatile long count;
};

static void *land(void *argument)
{
    struct shore *shore = argument;
    for (int i = 0; i < 4; i++) {
        OK(pthread_mutex_lock(&shore->mutex));
        shore->count = shore->count + 1;
        progress();
        OK(pthread_mutex_unlock(&shore->mutex));
    }
    OK(pthread_rwlock_rdlock(&shore->rwlock));
    OK(pthread_rwlock_unlock(&shore->rwlock));
    return NULL;
}

/* What threads leave behind does not add up. */
static void threads_over_a_life(const void *with)
{
    (void)with;
    struct shore shore = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .rwlock = PTHREAD_RWLOCK_INITIALIZER};
    long early = 0;
    for (int wave = 0; wave < THREADS / WAVE; wave++) {
        pthread_t threads[WAVE];
        OK(pthread_mutex_lock(&shore.mutex));
        for (int i = 0; i < WAVE; i++)
            threads[i] = start(land, &shore);
        OK(pthread_mutex_unlock(&shore.mutex));
        for (int i = 0; i < WAVE; i++)
            join(threads[i]);
        if (wave == THREADS / WAVE / 10)
            early = written_kib();
    }
    CHECK_EQ(shore.count, THREADS * 4);
    /* Half a cache line for each of the later threads would be 281 KiB. */
    CHECK_BELOW(written_kib() - early, 256);
}

enum { LATE = 4 };

struct late {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    atomic_int arrived, waiting;
    bool open;
};

static void *come_late(void *argument)
{
    struct late *late = argument;
    gather(&late->arrived, LATE + 1);
    OK(pthread_mutex_lock(&late->mutex));
    atomic_fetch_add(&late->waiting, 1);
    while (!late->open)
        OK(pthread_cond_wait(&late->cond, &late->mutex));
    OK(pthread_mutex_unlock(&late->mutex));
    return NULL;
}

/* The first wait of a process whose address space is used up: the mutex and
 * the condition need none. */
static void no_address_space(const void *with)
{
    (void)with;
    static struct late late = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                               .cond = PTHREAD_COND_INITIALIZER};
    pthread_t threads[LATE];
    for (int i = 0; i < LATE; i++)
        threads[i] = start(come_late, &late);
    struct rlimit before, none;
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 1 << 20;
    CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
    while (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED)
        continue;
    gather(&late.arrived, LATE + 1);
    await(&late.waiting, LATE);
    OK(pthread_mutex_lock(&late.mutex));
    late.open = true;
    OK(pthread_cond_broadcast(&late.cond));
    settle();
    OK(pthread_mutex_unlock(&late.mutex));
    for (int i = 0; i < LATE; i++)
        join(threads[i]);
    CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

CASES(EACH_KIND("unlock-orders", unlock_orders),
      EACH_ORDINARY_KIND("contended-nesting", contended_nesting),
      CASE("100000-mutexes-alive", mutexes_alive),
      CASE("idle-memory", idle_memory),
      CASE("no-address-space", no_address_space),
      CASE("10000-threads-over-a-life", threads_over_a_life))
