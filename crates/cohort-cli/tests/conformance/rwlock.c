/* Read-write locks: which threads are inside together, and which get in at all. */
#include "support/check.h"
#include "support/clock.h"

struct hall {
    pthread_rwlock_t rwlock;
    atomic_int arrived, readers, writers, waiting, done;
    atomic_bool stop;
    volatile long count;
};

enum { CROWD = 32 };

static void *read_together(void *argument)
{
    struct hall *hall = argument;
    OK(pthread_rwlock_rdlock(&hall->rwlock));
    atomic_fetch_add(&hall->readers, 1);
    await(&hall->readers, CROWD);
    OK(pthread_rwlock_unlock(&hall->rwlock));
    return NULL;
}

/* No reader leaves before all are inside. */
static void readers_share(const void *with)
{
    (void)with;
    static struct hall hall = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};
    for (int round = 0; round < 5; round++) {
        atomic_store(&hall.readers, 0);
        pthread_t readers[CROWD];
        for (int i = 0; i < CROWD; i++)
            readers[i] = start(read_together, &hall);
        for (int i = 0; i < CROWD; i++)
            join(readers[i]);
        OK(pthread_rwlock_trywrlock(&hall.rwlock));
        OK(pthread_rwlock_unlock(&hall.rwlock));
    }
    OK(pthread_rwlock_destroy(&hall.rwlock));
}

enum { TURNS = 2000 };

static void *read_and_write(void *argument)
{
    struct hall *hall = argument;
    gather(&hall->arrived, 8);
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            OK(pthread_rwlock_wrlock(&hall->rwlock));
            CHECK_EQ(atomic_fetch_add(&hall->writers, 1), 0);
            CHECK_EQ(atomic_load(&hall->readers), 0);
            long count = hall->count;
            linger(i);
            hall->count = count + 1;
            CHECK_EQ(atomic_fetch_sub(&hall->writers, 1), 1);
        } else {
            OK(pthread_rwlock_rdlock(&hall->rwlock));
            atomic_fetch_add(&hall->readers, 1);
            linger(i);
            CHECK_EQ(atomic_load(&hall->writers), 0);
            atomic_fetch_sub(&hall->readers, 1);
        }
        OK(pthread_rwlock_unlock(&hall->rwlock));
    }
    return NULL;
}

static const int prefer_reader = PTHREAD_RWLOCK_PREFER_READER_NP;
static const int prefer_writer = PTHREAD_RWLOCK_PREFER_WRITER_NP;
static const int writer_first = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;

static void make(pthread_rwlock_t *rwlock, int kind)
{
    pthread_rwlockattr_t attributes;
    OK(pthread_rwlockattr_init(&attributes));
    OK(pthread_rwlockattr_setkind_np(&attributes, kind));
    OK(pthread_rwlock_init(rwlock, &attributes));
    OK(pthread_rwlockattr_destroy(&attributes));
}

static void exclusion(const void *kind)
{
    struct hall hall = {0};
    make(&hall.rwlock, *(const int *)kind);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        threads[i] = start(read_and_write, &hall);
    for (int i = 0; i < 8; i++)
        join(threads[i]);
    CHECK_EQ(hall.count, 8 * TURNS / 4);
    OK(pthread_rwlock_destroy(&hall.rwlock));
}

/* Two readers that overlap all the time: the next is inside before the last
 * one leaves. */
static void *relay(void *argument)
{
    struct hall *hall = argument;
    while (!atomic_load(&hall->stop)) {
        OK(pthread_rwlock_rdlock(&hall->rwlock));
        int turn = atomic_fetch_add(&hall->readers, 1);
        struct timespec limit = in_ms(CLOCK_MONOTONIC, 5);
        while (!atomic_load(&hall->stop) &&
               atomic_load(&hall->readers) == turn + 1 &&
               ms_between(in_ms(CLOCK_MONOTONIC, 0), limit) > 0)
            ;
        OK(pthread_rwlock_unlock(&hall->rwlock));
    }
    return NULL;
}

static void *write_some(void *argument)
{
    struct hall *hall = argument;
    for (int i = 0; i < 20; i++) {
        OK(pthread_rwlock_wrlock(&hall->rwlock));
        hall->count = hall->count + 1;
        OK(pthread_rwlock_unlock(&hall->rwlock));
    }
    atomic_store(&hall->done, 1);
    return NULL;
}

static void writer_progress(int kind)
{
    struct hall hall = {0};
    make(&hall.rwlock, kind);
    pthread_t readers[3];
    for (int i = 0; i < 3; i++)
        readers[i] = start(relay, &hall);
    await(&hall.readers, 10);
    pthread_t writer = start(write_some, &hall);
    await(&hall.done, 1);
    atomic_store(&hall.stop, true);
    join(writer);
    for (int i = 0; i < 3; i++)
        join(readers[i]);
    CHECK_EQ(hall.count, 20);
}

static void writer_progress_default(const void *with)
{
    (void)with;
    writer_progress(PTHREAD_RWLOCK_DEFAULT_NP);
}

static void writer_progress_first(const void *with)
{
    (void)with;
    writer_progress(writer_first);
}

static void *write_without_end(void *argument)
{
    struct hall *hall = argument;
    while (!atomic_load(&hall->stop)) {
        OK(pthread_rwlock_wrlock(&hall->rwlock));
        atomic_fetch_add(&hall->writers, 1);
        hall->count = hall->count + 1;
        OK(pthread_rwlock_unlock(&hall->rwlock));
    }
    return NULL;
}

static void *read_some(void *argument)
{
    struct hall *hall = argument;
    for (int i = 0; i < 50; i++) {
        OK(pthread_rwlock_rdlock(&hall->rwlock));
        OK(pthread_rwlock_unlock(&hall->rwlock));
    }
    atomic_store(&hall->done, 1);
    return NULL;
}

static void reader_progress(const void *with)
{
    (void)with;
    struct hall hall = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};
    pthread_t writers[3];
    for (int i = 0; i < 3; i++)
        writers[i] = start(write_without_end, &hall);
    await(&hall.writers, 10);
    pthread_t reader = start(read_some, &hall);
    await(&hall.done, 1);
    atomic_store(&hall.stop, true);
    join(reader);
    for (int i = 0; i < 3; i++)
        join(writers[i]);
}

static void *write_once(void *argument)
{
    struct hall *hall = argument;
    atomic_fetch_add(&hall->waiting, 1);
    OK(pthread_rwlock_wrlock(&hall->rwlock));
    atomic_fetch_add(&hall->writers, 1);
    OK(pthread_rwlock_unlock(&hall->rwlock));
    return NULL;
}

/* The default kind promises that a reader may read again, whatever thread waits. */
static void recursive_read(const void *kind)
{
    for (int round = 0; round < 20; round++) {
        struct hall hall = {0};
        make(&hall.rwlock, *(const int *)kind);
        OK(pthread_rwlock_rdlock(&hall.rwlock));
        pthread_t writers[2];
        for (int i = 0; i < 2; i++)
            writers[i] = start(write_once, &hall);
        await(&hall.waiting, 2);
        settle();
        struct timespec deadline = in_ms(CLOCK_REALTIME, 30000);
        OK(pthread_rwlock_tryrdlock(&hall.rwlock));
        OK(pthread_rwlock_rdlock(&hall.rwlock));
        OK(pthread_rwlock_timedrdlock(&hall.rwlock, &deadline));
        for (int held = 4; held > 0; held--) {
            CHECK_EQ(atomic_load(&hall.writers), 0);
            OK(pthread_rwlock_unlock(&hall.rwlock));
        }
        for (int i = 0; i < 2; i++)
            join(writers[i]);
        CHECK_EQ(atomic_load(&hall.writers), 2);
        OK(pthread_rwlock_destroy(&hall.rwlock));
    }
}

/* How a reader takes a lock for which a writer waits: in any way it gets in at last. */
static void read_trying(pthread_rwlock_t *rwlock)
{
    int error;
    while ((error = pthread_rwlock_tryrdlock(rwlock)) != 0) {
        GIVES(EBUSY, error);
        rest_ms(1);
    }
}

static void read_hurriedly(pthread_rwlock_t *rwlock, clockid_t clock)
{
    int error;
    struct timespec soon;
    do {
        soon = in_ms(clock, 2);
        error = clock == CLOCK_REALTIME
                    ? pthread_rwlock_timedrdlock(rwlock, &soon)
                    : pthread_rwlock_clockrdlock(rwlock, clock, &soon);
    } while (error == ETIMEDOUT);
    OK(error);
}

static void read_timed(pthread_rwlock_t *rwlock)
{
    read_hurriedly(rwlock, CLOCK_REALTIME);
}

static void read_clock(pthread_rwlock_t *rwlock)
{
    read_hurriedly(rwlock, CLOCK_MONOTONIC);
}

static void read_waiting(pthread_rwlock_t *rwlock)
{
    OK(pthread_rwlock_rdlock(rwlock));
}

struct way {
    void (*read)(pthread_rwlock_t *rwlock);
    struct hall *hall;
};

/* As many that each waiting for the writer would take ten seconds. */
enum { READS = 2000, MOST_MS = 2500 };

static void *read_many(void *argument)
{
    const struct way *way = argument;
    for (int i = 0; i < READS; i++) {
        way->read(&way->hall->rwlock);
        CHECK_EQ(atomic_load(&way->hall->writers), 0);
        OK(pthread_rwlock_unlock(&way->hall->rwlock));
    }
    return NULL;
}

/* A reader depends on the reads of another thread, while a writer waits for it. */
static void reads_for_a_reader(const void *with)
{
    struct hall hall = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};
    struct way way = *(const struct way *)with;
    way.hall = &hall;
    OK(pthread_rwlock_rdlock(&hall.rwlock));
    pthread_t writer = start(write_once, &hall);
    await(&hall.waiting, 1);
    settle();
    struct timespec began = in_ms(CLOCK_MONOTONIC, 0);
    join(start(read_many, &way));
    CHECK_BELOW(ms_between(began, in_ms(CLOCK_MONOTONIC, 0)), MOST_MS);
    OK(pthread_rwlock_unlock(&hall.rwlock));
    join(writer);
    CHECK_EQ(atomic_load(&hall.writers), 1);
    OK(pthread_rwlock_destroy(&hall.rwlock));
}

static const struct way trying = {read_trying, NULL};
static const struct way timed = {read_timed, NULL};
static const struct way by_clock = {read_clock, NULL};
static const struct way waiting = {read_waiting, NULL};

static void *read_once(void *argument)
{
    struct hall *hall = argument;
    OK(pthread_rwlock_rdlock(&hall->rwlock));
    CHECK_EQ(atomic_load(&hall->writers), 1);
    OK(pthread_rwlock_unlock(&hall->rwlock));
    return NULL;
}

/* The kind that puts writers first lets no new reader pass a waiting writer. */
static void writers_first(const void *with)
{
    (void)with;
    struct hall hall = {0};
    make(&hall.rwlock, writer_first);
    OK(pthread_rwlock_rdlock(&hall.rwlock));
    pthread_t writer = start(write_once, &hall);
    int error;
    while ((error = pthread_rwlock_tryrdlock(&hall.rwlock)) == 0) {
        OK(pthread_rwlock_unlock(&hall.rwlock));
        rest_ms(1);
    }
    GIVES(EBUSY, error);
    struct timespec deadline = in_ms(CLOCK_REALTIME, 30);
    GIVES(ETIMEDOUT, pthread_rwlock_timedrdlock(&hall.rwlock, &deadline));
    check_punctual(CLOCK_REALTIME, deadline);
    pthread_t readers[4];
    for (int i = 0; i < 4; i++)
        readers[i] = start(read_once, &hall);
    settle();
    CHECK_EQ(atomic_load(&hall.writers), 0);
    OK(pthread_rwlock_unlock(&hall.rwlock));
    join(writer);
    for (int i = 0; i < 4; i++)
        join(readers[i]);
    OK(pthread_rwlock_tryrdlock(&hall.rwlock));
    OK(pthread_rwlock_unlock(&hall.rwlock));
    OK(pthread_rwlock_destroy(&hall.rwlock));
}

static void static_initialisers(const void *with)
{
    (void)with;
    static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t first =
        PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t *locks[] = {&plain, &first};
    for (int i = 0; i < 2; i++) {
        OK(pthread_rwlock_rdlock(locks[i]));
        OK(pthread_rwlock_rdlock(locks[i]));
        GIVES(EBUSY, pthread_rwlock_trywrlock(locks[i]));
        OK(pthread_rwlock_unlock(locks[i]));
        GIVES(EBUSY, pthread_rwlock_trywrlock(locks[i]));
        OK(pthread_rwlock_unlock(locks[i]));
        OK(pthread_rwlock_wrlock(locks[i]));
        GIVES(EBUSY, pthread_rwlock_tryrdlock(locks[i]));
        OK(pthread_rwlock_unlock(locks[i]));
        OK(pthread_rwlock_destroy(locks[i]));
    }
}

enum { MANY = 1025 };

static void *find_held(void *argument)
{
    pthread_rwlock_t *locks = argument;
    for (int i = 0; i < MANY; i++) {
        GIVES(EBUSY, pthread_rwlock_trywrlock(&locks[i]));
        if (i % 2 == 0) {
            GIVES(EBUSY, pthread_rwlock_tryrdlock(&locks[i]));
        } else {
            OK(pthread_rwlock_tryrdlock(&locks[i]));
            OK(pthread_rwlock_unlock(&locks[i]));
        }
    }
    return NULL;
}

/* One thread holds more locks than any fixed table of a thread would. */
static void many_held(const void *with)
{
    (void)with;
    static pthread_rwlock_t locks[MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            OK(pthread_rwlock_init(&locks[i], NULL));
        for (int i = 0; i < MANY; i++)
            OK(i % 2 == 0 ? pthread_rwlock_wrlock(&locks[i])
                          : pthread_rwlock_rdlock(&locks[i]));
        join(start(find_held, locks));
        for (int i = 0; i < MANY; i++)
            OK(pthread_rwlock_unlock(&locks[(i * 7) % MANY]));
        for (int i = 0; i < MANY; i++) {
            OK(pthread_rwlock_trywrlock(&locks[i]));
            OK(pthread_rwlock_unlock(&locks[i]));
            OK(pthread_rwlock_destroy(&locks[i]));
        }
    }
}

static void *write_on(void *argument)
{
    struct hall *hall = argument;
    atomic_fetch_add(&hall->arrived, 1);
    while (!atomic_load(&hall->stop)) {
        OK(pthread_rwlock_wrlock(&hall->rwlock));
        for (int i = 0; i < 1000; i++)
            hall->count = hall->count + 1;
        OK(pthread_rwlock_unlock(&hall->rwlock));
    }
    return NULL;
}

/* A writer with a deadline gets in, though others want to write all the time. */
static void timed_writer_progress(const void *kind)
{
    enum { WRITERS = 3, VISITS = 3, LONG_MS = 15000 };
    struct hall hall = {0};
    make(&hall.rwlock, *(const int *)kind);
    pthread_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        writers[i] = start(write_on, &hall);
    await(&hall.arrived, WRITERS);
    for (int i = 0; i < VISITS; i++) {
        settle();
        struct timespec deadline = in_ms(CLOCK_REALTIME, LONG_MS);
        OK(pthread_rwlock_timedwrlock(&hall.rwlock, &deadline));
        OK(pthread_rwlock_unlock(&hall.rwlock));
    }
    atomic_store(&hall.stop, true);
    for (int i = 0; i < WRITERS; i++)
        join(writers[i]);
    OK(pthread_rwlock_trywrlock(&hall.rwlock));
    OK(pthread_rwlock_unlock(&hall.rwlock));
    OK(pthread_rwlock_destroy(&hall.rwlock));
}

static void *exchange_reads(void *argument)
{
    pthread_rwlock_t *rwlock = argument;
    OK(pthread_rwlock_unlock(rwlock));
    OK(pthread_rwlock_rdlock(rwlock));
    return NULL;
}

/* POSIX leaves it undefined, and programs do it: another thread releases a read lock. */
static void released_by_another(const void *with)
{
    (void)with;
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    for (int round = 0; round < 200; round++) {
        OK(pthread_rwlock_rdlock(&rwlock));
        OK(pthread_rwlock_rdlock(&rwlock));
        join(start(exchange_reads, &rwlock));
        OK(pthread_rwlock_unlock(&rwlock));
        GIVES(EBUSY, pthread_rwlock_trywrlock(&rwlock));
        OK(pthread_rwlock_unlock(&rwlock));
        OK(pthread_rwlock_wrlock(&rwlock));
        OK(pthread_rwlock_unlock(&rwlock));
    }
}

#define EACH_RWLOCK(prefix, run)                                               \
    CASE_WITH(prefix "/prefer-reader", run, &prefer_reader),                   \
    CASE_WITH(prefix "/prefer-writer", run, &prefer_writer),                   \
    CASE_WITH(prefix "/writer-first", run, &writer_first)

CASES(CASE("readers-share", readers_share), EACH_RWLOCK("exclusion", exclusion),
      BEYOND("writer-progress/default", writer_progress_default),
      CASE("writer-progress/writer-first", writer_progress_first),
      CASE("reader-progress", reader_progress),
      EACH_RWLOCK("timed-writer-progress", timed_writer_progress),
      CASE_WITH("recursive-read/prefer-reader", recursive_read, &prefer_reader),
      CASE_WITH("recursive-read/prefer-writer", recursive_read, &prefer_writer),
      CASE_WITH("reads-for-a-reader/try", reads_for_a_reader, &trying),
      CASE_WITH("reads-for-a-reader/timed", reads_for_a_reader, &timed),
      CASE_WITH("reads-for-a-reader/clock", reads_for_a_reader, &by_clock),
      CASE_WITH("reads-for-a-reader/wait", reads_for_a_reader, &waiting),
      CASE("writers-first", writers_first),
      CASE("static-initialisers", static_initialisers),
      CASE("released-by-another", released_by_another),
      CASE("many-held", many_held))
