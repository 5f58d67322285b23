/* Every kind of mutex by every way to take it. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <sched.h>

enum { SHORT_MS = 50, LONG_MS = 30000 };

/* A way to take a mutex; those without a deadline ignore it. */
struct way {
    int (*take)(pthread_mutex_t *mutex, const struct timespec *deadline);
    clockid_t clock;
};

static int by_lock(pthread_mutex_t *mutex, const struct timespec *deadline)
{
    (void)deadline;
    return pthread_mutex_lock(mutex);
}

static int by_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline)
{
    return pthread_mutex_timedlock(mutex, deadline);
}

static int by_clocklock_realtime(pthread_mutex_t *mutex,
                                 const struct timespec *deadline)
{
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, deadline);
}

static int by_clocklock_monotonic(pthread_mutex_t *mutex,
                                  const struct timespec *deadline)
{
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, deadline);
}

static const struct way lock_way = {by_lock, CLOCK_REALTIME};
static const struct way timed_way = {by_timedlock, CLOCK_REALTIME};
static const struct way realtime_way = {by_clocklock_realtime, CLOCK_REALTIME};
static const struct way monotonic_way = {by_clocklock_monotonic,
                                         CLOCK_MONOTONIC};

struct contest {
    pthread_mutex_t mutex;
    const struct kind *kind;
    const struct way *way;
    struct timespec deadline;
    atomic_int waiting, inside;
};

static void *take_in_time(void *argument)
{
    struct contest *contest = argument;
    atomic_store(&contest->waiting, 1);
    OK(contest->way->take(&contest->mutex, &contest->deadline));
    atomic_store(&contest->inside, 1);
    OK(pthread_mutex_unlock(&contest->mutex));
    return NULL;
}

/* A waiter stays out while the mutex is held, and gets in afterwards. */
static void waits_then_enters(const struct kind *kind, const struct way *way,
                              struct timespec deadline)
{
    struct contest contest = {.kind = kind, .way = way, .deadline = deadline};
    kind_init(&contest.mutex, kind);
    OK(pthread_mutex_lock(&contest.mutex));
    pthread_t waiter = start(take_in_time, &contest);
    await(&contest.waiting, 1);
    settle();
    CHECK_EQ(atomic_load(&contest.inside), 0);
    OK(pthread_mutex_unlock(&contest.mutex));
    join(waiter);
    CHECK_EQ(atomic_load(&contest.inside), 1);
    OK(pthread_mutex_destroy(&contest.mutex));
}

static void *give_up(void *argument)
{
    struct contest *contest = argument;
    const struct way *way = contest->way;
    struct timespec soon = in_ms(way->clock, SHORT_MS);
    GIVES(ETIMEDOUT, way->take(&contest->mutex, &soon));
    check_punctual(way->clock, soon);
    struct timespec past = in_ms(way->clock, -SHORT_MS);
    GIVES(ETIMEDOUT, way->take(&contest->mutex, &past));
    /* The kernel, which serves priority inheritance, calls this invalid. */
    struct timespec before_time = {-1, 0};
    int inherits = contest->kind->protocol == PTHREAD_PRIO_INHERIT;
    GIVES(inherits ? EINVAL : ETIMEDOUT,
          way->take(&contest->mutex, &before_time));
    struct timespec negative = below_zero(in_ms(way->clock, SHORT_MS));
    GIVES(EINVAL, way->take(&contest->mutex, &negative));
    struct timespec excessive = whole_second(in_ms(way->clock, SHORT_MS));
    GIVES(EINVAL, way->take(&contest->mutex, &excessive));
    return NULL;
}

static void with_deadline(const struct kind *kind, const struct way *way)
{
    waits_then_enters(kind, way, in_ms(way->clock, LONG_MS));
    /* More seconds than 32 bits hold, and more nanoseconds than 64: the year 2^31. */
    waits_then_enters(kind, way, (struct timespec){1LL << 33, 0});
    waits_then_enters(kind, way,
                      (struct timespec){((1LL << 31) - 1970) * 31556952, 0});
    struct contest contest = {.kind = kind, .way = way};
    kind_init(&contest.mutex, kind);
    OK(pthread_mutex_lock(&contest.mutex));
    join(start(give_up, &contest));
    CHECK(held_for_others(&contest.mutex));
    OK(pthread_mutex_unlock(&contest.mutex));

    /* The threads that gave up left nothing behind, and a free mutex has no use for
     * the deadline. */
    struct timespec past = in_ms(way->clock, -SHORT_MS);
    OK(way->take(&contest.mutex, &past));
    CHECK(held_for_others(&contest.mutex));
    OK(pthread_mutex_unlock(&contest.mutex));
    CHECK(!held_for_others(&contest.mutex));
    /* Nor for a deadline that is not a valid time. */
    struct timespec negative = below_zero(past), excessive = whole_second(past);
    OK(way->take(&contest.mutex, &negative));
    OK(pthread_mutex_unlock(&contest.mutex));
    OK(way->take(&contest.mutex, &excessive));
    OK(pthread_mutex_unlock(&contest.mutex));
    CHECK(!held_for_others(&contest.mutex));
    OK(pthread_mutex_destroy(&contest.mutex));
}

static void lock(const void *kind)
{
    waits_then_enters(kind, &lock_way, in_ms(CLOCK_REALTIME, LONG_MS));
}

static void timedlock(const void *kind)
{
    with_deadline(kind, &timed_way);
}

static void clocklock_realtime(const void *kind)
{
    with_deadline(kind, &realtime_way);
}

static void clocklock_monotonic(const void *kind)
{
    with_deadline(kind, &monotonic_way);
}

static void bad_clock(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    struct timespec deadline = in_ms(CLOCK_REALTIME, SHORT_MS);
    static const clockid_t others[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME,
                                       -1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        GIVES(EINVAL, pthread_mutex_clocklock(&mutex, others[i], &deadline));
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void trylock(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    OK(pthread_mutex_trylock(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_lock(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

enum { HAMMERS = 8, BLOWS = 2000 };

struct anvil {
    pthread_mutex_t mutex;
    /* Plain on purpose: only the mutex makes the count come out right. */
    volatile long blows;
    atomic_int arrived, inside;
};

static void *hammer(void *argument)
{
    struct anvil *anvil = argument;
    gather(&anvil->arrived, HAMMERS);
    for (int i = 0; i < BLOWS; i++) {
        if (i % 4 == 3) {
            while (pthread_mutex_trylock(&anvil->mutex) != 0)
                sched_yield();
        } else {
            OK(pthread_mutex_lock(&anvil->mutex));
        }
        CHECK_EQ(atomic_fetch_add(&anvil->inside, 1), 0);
        long blows = anvil->blows;
        linger(i);
        anvil->blows = blows + 1;
        CHECK_EQ(atomic_fetch_sub(&anvil->inside, 1), 1);
        OK(pthread_mutex_unlock(&anvil->mutex));
    }
    return NULL;
}

static void exact_count(const void *kind)
{
    struct anvil anvil = {0};
    kind_init(&anvil.mutex, kind);
    pthread_t hammers[HAMMERS];
    for (int i = 0; i < HAMMERS; i++)
        hammers[i] = start(hammer, &anvil);
    for (int i = 0; i < HAMMERS; i++)
        join(hammers[i]);
    CHECK_EQ(anvil.blows, HAMMERS * BLOWS);
    OK(pthread_mutex_destroy(&anvil.mutex));
}

enum { HOGS = 3, VISITS = 3, TAKES = 300 };

struct hoard {
    pthread_mutex_t mutex;
    volatile long count;
    atomic_long added;
    atomic_int arrived, takers;
    atomic_bool stop;
};

static void *hog(void *argument)
{
    struct hoard *hoard = argument;
    atomic_fetch_add(&hoard->arrived, 1);
    while (!atomic_load(&hoard->stop)) {
        OK(pthread_mutex_lock(&hoard->mutex));
        for (int i = 0; i < 1000; i++)
            hoard->count = hoard->count + 1;
        OK(pthread_mutex_unlock(&hoard->mutex));
    }
    return NULL;
}

/* A waiter with a deadline gets in, though others want the mutex all the time. */
static void not_passed_over(const void *kind)
{
    struct hoard hoard = {0};
    kind_init(&hoard.mutex, kind);
    pthread_t hogs[HOGS];
    for (int i = 0; i < HOGS; i++)
        hogs[i] = start(hog, &hoard);
    await(&hoard.arrived, HOGS);
    for (int i = 0; i < VISITS; i++) {
        settle();
        struct timespec deadline = in_ms(CLOCK_REALTIME, LONG_MS / 2);
        OK(pthread_mutex_timedlock(&hoard.mutex, &deadline));
        OK(pthread_mutex_unlock(&hoard.mutex));
    }
    atomic_store(&hoard.stop, true);
    for (int i = 0; i < HOGS; i++)
        join(hogs[i]);
    CHECK(!held_for_others(&hoard.mutex));
    OK(pthread_mutex_destroy(&hoard.mutex));
}

/* Every other one has a deadline, now or soon. */
static void *take_some(void *argument)
{
    struct hoard *hoard = argument;
    int patient = atomic_fetch_add(&hoard->takers, 1) % 2;
    for (int i = 0; i < TAKES; i++) {
        if (patient) {
            OK(pthread_mutex_lock(&hoard->mutex));
        } else {
            struct timespec deadline = in_ms(CLOCK_REALTIME, i % 5);
            int error = pthread_mutex_timedlock(&hoard->mutex, &deadline);
            if (error == ETIMEDOUT)
                continue;
            CHECK_EQ(error, 0);
        }
        long count = hoard->count;
        linger(i);
        hoard->count = count + 1;
        atomic_fetch_add(&hoard->added, 1);
        OK(pthread_mutex_unlock(&hoard->mutex));
    }
    return NULL;
}

/* Threads that give up and threads that do not exclude each other, and no thread is left
 * waiting. */
static void some_give_up(const void *kind)
{
    struct hoard hoard = {0};
    kind_init(&hoard.mutex, kind);
    pthread_t takers[HAMMERS];
    for (int i = 0; i < HAMMERS; i++)
        takers[i] = start(take_some, &hoard);
    for (int i = 0; i < HAMMERS; i++)
        join(takers[i]);
    CHECK_EQ(hoard.count, atomic_load(&hoard.added));
    CHECK(!held_for_others(&hoard.mutex));
    OK(pthread_mutex_destroy(&hoard.mutex));
}

CASES(EACH_KIND("lock", lock), EACH_KIND("trylock", trylock),
      EACH_KIND("timedlock", timedlock),
      EACH_KIND("clocklock-realtime", clocklock_realtime),
      EACH_KIND("clocklock-monotonic", clocklock_monotonic),
      EACH_KIND("bad-clock", bad_clock),
      EACH_KIND("exact-count", exact_count),
      EACH_ORDINARY_KIND("not-passed-over", not_passed_over),
      EACH_ORDINARY_KIND("some-give-up", some_give_up))
