/* Every way to take a read-write lock, with its errors and deadlines. */
#include "support/check.h"
#include "support/clock.h"

enum { SHORT_MS = 40 };

typedef int (*timed)(pthread_rwlock_t *, const struct timespec *);
typedef int (*clocked)(pthread_rwlock_t *, clockid_t, const struct timespec *);

struct side {
    int (*lock)(pthread_rwlock_t *);
    int (*try)(pthread_rwlock_t *);
    timed timed;
    clocked clocked;
};

static const struct side read_side = {
    pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_timedrdlock,
    pthread_rwlock_clockrdlock};
static const struct side write_side = {
    pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_timedwrlock,
    pthread_rwlock_clockwrlock};

struct asked {
    pthread_rwlock_t *rwlock;
    const struct side *side;
};

static void *give_up(void *argument)
{
    const struct asked *asked = argument;
    pthread_rwlock_t *rwlock = asked->rwlock;
    const struct side *side = asked->side;
    GIVES(EBUSY, side->try(rwlock));
    struct timespec real = in_ms(CLOCK_REALTIME, SHORT_MS);
    GIVES(ETIMEDOUT, side->timed(rwlock, &real));
    check_punctual(CLOCK_REALTIME, real);
    real = in_ms(CLOCK_REALTIME, SHORT_MS);
    GIVES(ETIMEDOUT, side->clocked(rwlock, CLOCK_REALTIME, &real));
    check_punctual(CLOCK_REALTIME, real);
    struct timespec steady = in_ms(CLOCK_MONOTONIC, SHORT_MS);
    GIVES(ETIMEDOUT, side->clocked(rwlock, CLOCK_MONOTONIC, &steady));
    check_punctual(CLOCK_MONOTONIC, steady);
    struct timespec past = in_ms(CLOCK_REALTIME, -SHORT_MS);
    GIVES(ETIMEDOUT, side->timed(rwlock, &past));
    struct timespec before_time = {-1, 0};
    GIVES(ETIMEDOUT, side->timed(rwlock, &before_time));
    return NULL;
}

static void check_gives_up(pthread_rwlock_t *rwlock, const struct side *side)
{
    struct asked asked = {rwlock, side};
    join(start(give_up, &asked));
}

static void read_against_writer(const void *with)
{
    (void)with;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    OK(pthread_rwlock_wrlock(&rwlock));
    check_gives_up(&rwlock, &read_side);
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_trywrlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
}

static void write_against_writer(const void *with)
{
    (void)with;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    OK(pthread_rwlock_wrlock(&rwlock));
    check_gives_up(&rwlock, &write_side);
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_tryrdlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
}

/* Writers that gave up leave readers no one to wait for. */
static void write_against_reader(const void *with)
{
    (void)with;
    pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_t first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t *locks[] = {&plain, &first};
    for (int i = 0; i < 2; i++) {
        OK(pthread_rwlock_rdlock(locks[i]));
        check_gives_up(locks[i], &write_side);
        OK(pthread_rwlock_rdlock(locks[i]));
        OK(pthread_rwlock_unlock(locks[i]));
        OK(pthread_rwlock_unlock(locks[i]));
        OK(pthread_rwlock_trywrlock(locks[i]));
        OK(pthread_rwlock_unlock(locks[i]));
    }
}

static void free_lock(const void *with)
{
    const struct side *side = with;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec past = in_ms(CLOCK_REALTIME, -SHORT_MS);
    struct timespec steady = in_ms(CLOCK_MONOTONIC, -SHORT_MS);
    OK(side->lock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(side->try(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(side->timed(&rwlock, &past));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(side->clocked(&rwlock, CLOCK_MONOTONIC, &steady));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_trywrlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_destroy(&rwlock));
}

/* The C library looks at the deadline and the clock before the lock. */
static void bad_arguments(const void *with)
{
    const struct side *side = with;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    for (int held = 0; held < 2; held++) {
        struct timespec soon = in_ms(CLOCK_REALTIME, SHORT_MS);
        struct timespec negative = below_zero(soon);
        struct timespec excessive = whole_second(soon);
        GIVES(EINVAL, side->timed(&rwlock, &negative));
        GIVES(EINVAL, side->timed(&rwlock, &excessive));
        GIVES(EINVAL, side->clocked(&rwlock, CLOCK_MONOTONIC, &negative));
        GIVES(EINVAL, side->clocked(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &soon));
        GIVES(EINVAL, side->clocked(&rwlock, -1, &soon));
        if (held == 0) {
            OK(pthread_rwlock_trywrlock(&rwlock));
        } else {
            OK(pthread_rwlock_unlock(&rwlock));
        }
    }
    OK(pthread_rwlock_trywrlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
}

/* A writer that locks again gets an error; a reader that asks to write does not. */
static void relock(const void *with)
{
    (void)with;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20000);
    OK(pthread_rwlock_wrlock(&rwlock));
    GIVES(EDEADLK, pthread_rwlock_wrlock(&rwlock));
    GIVES(EDEADLK, pthread_rwlock_rdlock(&rwlock));
    GIVES(EDEADLK, pthread_rwlock_timedwrlock(&rwlock, &soon));
    GIVES(EDEADLK, pthread_rwlock_timedrdlock(&rwlock, &soon));
    GIVES(EDEADLK, pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &soon));
    GIVES(EDEADLK, pthread_rwlock_clockrdlock(&rwlock, CLOCK_REALTIME, &soon));
    GIVES(EBUSY, pthread_rwlock_trywrlock(&rwlock));
    GIVES(EBUSY, pthread_rwlock_tryrdlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));

    OK(pthread_rwlock_rdlock(&rwlock));
    struct timespec short_while = in_ms(CLOCK_REALTIME, SHORT_MS);
    GIVES(EBUSY, pthread_rwlock_trywrlock(&rwlock));
    GIVES(ETIMEDOUT, pthread_rwlock_timedwrlock(&rwlock, &short_while));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_trywrlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_destroy(&rwlock));
}

static void *write_and_end(void *argument)
{
    OK(pthread_rwlock_wrlock(argument));
    return NULL;
}

/* A thread that ends goes on holding the lock: the next thread, whose stack the
 * C library puts in the same place, is another one, and waits. */
static void ended_writer(const void *with)
{
    (void)with;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    join(start(write_and_end, &rwlock));
    check_gives_up(&rwlock, &read_side);
    check_gives_up(&rwlock, &write_side);
}

static void bad_attributes(const void *with)
{
    (void)with;
    pthread_rwlockattr_t attributes;
    OK(pthread_rwlockattr_init(&attributes));
    GIVES(EINVAL, pthread_rwlockattr_setkind_np(&attributes, 99));
    GIVES(EINVAL, pthread_rwlockattr_setpshared(&attributes, 99));
    pthread_rwlock_t rwlock;
    OK(pthread_rwlock_init(&rwlock, &attributes));
    OK(pthread_rwlock_wrlock(&rwlock));
    GIVES(EBUSY, pthread_rwlock_tryrdlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_destroy(&rwlock));
}

enum { READS = 1100000 };

/* One thread holds it as often as it lets itself be held, and can give all of
 * that back. */
static void many_reads(const void *with)
{
    (void)with;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec late = in_ms(CLOCK_REALTIME, 40000);
    int held = 0, refused = 0;
    while (held < READS && (refused = pthread_rwlock_rdlock(&lock)) == 0)
        held++;
    CHECK(held > 100000);
    if (refused != 0) {
        CHECK_EQ(refused, EAGAIN);
        GIVES(EAGAIN, pthread_rwlock_tryrdlock(&lock));
        GIVES(EAGAIN, pthread_rwlock_timedrdlock(&lock, &late));
    }
    GIVES(EBUSY, pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_rdlock(&lock));
    while (held-- > 0)
        OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
}

CASES(CASE("read-against-writer", read_against_writer),
      CASE("write-against-writer", write_against_writer),
      CASE("write-against-reader", write_against_reader),
      CASE_WITH("free/read", free_lock, &read_side),
      CASE_WITH("free/write", free_lock, &write_side),
      CASE_WITH("bad-arguments/read", bad_arguments, &read_side),
      CASE_WITH("bad-arguments/write", bad_arguments, &write_side),
      CASE("many-reads", many_reads),
      CASE("ended-writer", ended_writer), CASE("relock", relock), CASE("bad-attributes", bad_attributes))
