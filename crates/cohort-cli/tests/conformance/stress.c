/* Many threads on few processors finish, and nothing is lost or doubled. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

enum { CROWD = 64, TURNS = 100 };

struct counter {
    pthread_mutex_t mutex;
    int threads;
    atomic_int arrived;
    volatile long count;
};

static void *count_turns(void *argument)
{
    struct counter *counter = argument;
    gather(&counter->arrived, counter->threads);
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&counter->mutex));
        long count = counter->count;
        linger(i);
        counter->count = count + 1;
        OK(pthread_mutex_unlock(&counter->mutex));
    }
    return NULL;
}

static void oversubscribed(const void *kind)
{
    struct counter counter = {.threads = CROWD};
    kind_init(&counter.mutex, kind);
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        threads[i] = start(count_turns, &counter);
    for (int i = 0; i < CROWD; i++)
        join(threads[i]);
    CHECK_EQ(counter.count, CROWD * TURNS);
}

static void *count_impatiently(void *argument)
{
    struct counter *counter = argument;
    gather(&counter->arrived, counter->threads);
    for (int i = 0; i < TURNS; i++) {
        int error;
        do {
            struct timespec deadline = in_ms(CLOCK_MONOTONIC, i % 3);
            error = pthread_mutex_clocklock(&counter->mutex, CLOCK_MONOTONIC,
                                            &deadline);
        } while (error == ETIMEDOUT);
        OK(error);
        counter->count = counter->count + 1;
        if (i % 50 == 0)
            rest_ms(1);
        OK(pthread_mutex_unlock(&counter->mutex));
    }
    return NULL;
}

/* Half of the threads give up and come back all the time. */
static void impatient(const void *kind)
{
    struct counter counter = {.threads = 16};
    kind_init(&counter.mutex, kind);
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        threads[i] = start(i % 2 ? count_impatiently : count_turns, &counter);
    for (int i = 0; i < 16; i++)
        join(threads[i]);
    CHECK_EQ(counter.count, 16 * TURNS);
    CHECK(!held_for_others(&counter.mutex));
}

enum { ROOM = 4, PRODUCERS = 4, CONSUMERS = 4, GOODS = 2000 };

struct store {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    int goods[ROOM], first, held, produced, consumed;
    unsigned char seen[PRODUCERS * GOODS];
};

struct producer {
    struct store *store;
    int number;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    struct store *store = producer->store;
    for (int i = 0; i < GOODS; i++) {
        OK(pthread_mutex_lock(&store->mutex));
        while (store->held == ROOM)
            OK(pthread_cond_wait(&store->not_full, &store->mutex));
        store->goods[(store->first + store->held++) % ROOM] =
            producer->number * GOODS + i;
        store->produced++;
        OK(pthread_cond_signal(&store->not_empty));
        OK(pthread_mutex_unlock(&store->mutex));
    }
    return NULL;
}

static void *consume(void *argument)
{
    struct store *store = argument;
    OK(pthread_mutex_lock(&store->mutex));
    for (;;) {
        while (store->held == 0 && store->consumed < PRODUCERS * GOODS)
            OK(pthread_cond_wait(&store->not_empty, &store->mutex));
        if (store->held == 0)
            break;
        store->seen[store->goods[store->first]]++;
        progress();
        store->first = (store->first + 1) % ROOM;
        store->held--;
        if (++store->consumed == PRODUCERS * GOODS)
            OK(pthread_cond_broadcast(&store->not_empty));
        OK(pthread_cond_signal(&store->not_full));
        OK(pthread_mutex_unlock(&store->mutex));
        OK(pthread_mutex_lock(&store->mutex));
    }
    OK(pthread_mutex_unlock(&store->mutex));
    return NULL;
}

/* Every piece arrives exactly once. */
static void producers_and_consumers(const void *kind)
{
    static struct store store;
    kind_init(&store.mutex, kind);
    OK(pthread_cond_init(&store.not_empty, NULL));
    OK(pthread_cond_init(&store.not_full, NULL));
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS + CONSUMERS];
    for (int i = 0; i < CONSUMERS; i++)
        threads[PRODUCERS + i] = start(consume, &store);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){&store, i};
        threads[i] = start(produce, &producers[i]);
    }
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        join(threads[i]);
    CHECK_EQ(store.produced, PRODUCERS * GOODS);
    CHECK_EQ(store.consumed, PRODUCERS * GOODS);
    for (int i = 0; i < PRODUCERS * GOODS; i++)
        CHECK_EQ(store.seen[i], 1);
}

enum { PAIRS = 20000 };

struct table {
    pthread_mutex_t mutex;
    pthread_cond_t turn[2];
    int side;
};

static void *pong(void *argument)
{
    struct table *table = argument;
    OK(pthread_mutex_lock(&table->mutex));
    for (int i = 0; i < PAIRS; i++) {
        while (table->side != 1)
            OK(pthread_cond_wait(&table->turn[1], &table->mutex));
        table->side = 0;
        progress();
        OK(pthread_cond_signal(&table->turn[0]));
    }
    OK(pthread_mutex_unlock(&table->mutex));
    return NULL;
}

/* Two threads in strict turns: each signal is needed. */
static void turns(const void *with)
{
    (void)with;
    struct table table = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .turn = {PTHREAD_COND_INITIALIZER,
                                   PTHREAD_COND_INITIALIZER}};
    pthread_t other = start(pong, &table);
    OK(pthread_mutex_lock(&table.mutex));
    for (int i = 0; i < PAIRS; i++) {
        table.side = 1;
        OK(pthread_cond_signal(&table.turn[1]));
        while (table.side != 0)
            OK(pthread_cond_wait(&table.turn[0], &table.mutex));
    }
    OK(pthread_mutex_unlock(&table.mutex));
    join(other);
}

CASES(EACH_ORDINARY_KIND("oversubscribed-64", oversubscribed),
      EACH_ORDINARY_KIND("impatient", impatient),
      EACH_ORDINARY_KIND("producers-and-consumers", producers_and_consumers),
      CASE("turns", turns))
