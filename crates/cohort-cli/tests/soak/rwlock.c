/* Rwlocks of both kinds by every way to take them, reading again, signals, and threads that move
 * between CPUs. */
#include "support/soak.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { RWLOCKS = 10, HOT = 2, LONGEST_NS = 300000 };

static struct object {
    pthread_rwlock_t rwlock;
    atomic_int readers, writers;
    /* Guarded by the write lock, and the same counted by each thread. */
    unsigned long count;
    atomic_ulong counted;
} objects[RWLOCKS];

static bool prefers_writers(int k)
{
    return k % 2 != 0;
}

static void begin(void)
{
    for (int k = 0; k < RWLOCKS; k++) {
        pthread_rwlockattr_t attributes;
        OK(pthread_rwlockattr_init(&attributes));
        OK(pthread_rwlockattr_setkind_np(
            &attributes, prefers_writers(k) ? PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
                                            : PTHREAD_RWLOCK_PREFER_READER_NP));
        OK(pthread_rwlock_init(&objects[k].rwlock, &attributes));
    }
}

/* What a wait with a deadline returned: whether the lock is held. */
static bool in_time(int error, clockid_t clock, const struct timespec *until)
{
    CHECK(error == 0 || error == ETIMEDOUT);
    if (error)
        check_passed(clock, until);
    return error == 0;
}

static bool tried(int error)
{
    CHECK(error == 0 || error == EBUSY);
    return error == 0;
}

static bool take(int k, bool writes, struct dice *dice)
{
    pthread_rwlock_t *rwlock = &objects[k].rwlock;
    long patience = (long)roll(dice, LONGEST_NS);
    uint32_t way = roll(dice, 4);
    clockid_t clock = way == 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec until = in_ns(clock, patience);
    switch (way) {
    case 0:
        note(writes ? "wrlock" : "rdlock", k);
        OK(writes ? pthread_rwlock_wrlock(rwlock) : pthread_rwlock_rdlock(rwlock));
        return true;
    case 1:
        note(writes ? "trywrlock" : "tryrdlock", k);
        return tried(writes ? pthread_rwlock_trywrlock(rwlock)
                            : pthread_rwlock_tryrdlock(rwlock));
    case 2:
        note(writes ? "timedwrlock" : "timedrdlock", k);
        return in_time(writes ? pthread_rwlock_timedwrlock(rwlock, &until)
                              : pthread_rwlock_timedrdlock(rwlock, &until),
                       clock, &until);
    default:
        note(writes ? "clockwrlock" : "clockrdlock", k);
        return in_time(writes ? pthread_rwlock_clockwrlock(rwlock, clock, &until)
                              : pthread_rwlock_clockrdlock(rwlock, clock, &until),
                       clock, &until);
    }
}

static void unlock(int k)
{
    note("unlock", k);
    OK(pthread_rwlock_unlock(&objects[k].rwlock));
}

static void write_it(int k, struct dice *dice)
{
    struct object *object = &objects[k];
    CHECK(++object->writers == 1 && object->readers == 0);
    object->count++;
    object->counted++;
    linger(dice);
    CHECK(object->readers == 0 && --object->writers == 0);
    unlock(k);
}

static void read_it(int k, struct dice *dice)
{
    struct object *object = &objects[k];
    object->readers++;
    CHECK(object->writers == 0);
    unsigned long before = object->count;
    linger(dice);
    if (!prefers_writers(k) && one_in(dice, 64)) {
        note("rdlock again", k);
        OK(pthread_rwlock_rdlock(&object->rwlock));
        linger(dice);
        unlock(k);
    }
    CHECK(object->writers == 0 && object->count == before);
    object->readers--;
    unlock(k);
}

static void one_round(int thread, struct dice *dice)
{
    (void)thread;
    int k = draw(dice, HOT, RWLOCKS);
    bool writes = one_in(dice, 2);
    if (take(k, writes, dice)) {
        if (writes)
            write_it(k, dice);
        else
            read_it(k, dice);
    }
    if (one_in(dice, 512))
        move_about(dice);
    if (one_in(dice, 512))
        usleep(roll(dice, 2000));
}

static void beside(struct dice *dice)
{
    usleep(100 + roll(dice, 200));
    interrupt_one(dice);
}

static void show(void)
{
    for (int k = 0; k < RWLOCKS; k++) {
        printf("%d read, %d write: ", objects[k].readers, objects[k].writers);
        show_words("rwlock", k, &objects[k].rwlock, sizeof(pthread_rwlock_t));
    }
}

static void end(void)
{
    for (int k = 0; k < RWLOCKS; k++) {
        struct object *object = &objects[k];
        CHECK(object->count == object->counted);
        /* What the last waiters left is gone after some use. */
        for (int i = 0; i < 3; i++) {
            note("lock at the end", k);
            OK(pthread_rwlock_trywrlock(&object->rwlock));
            OK(pthread_rwlock_unlock(&object->rwlock));
            OK(pthread_rwlock_tryrdlock(&object->rwlock));
            OK(pthread_rwlock_tryrdlock(&object->rwlock));
            OK(pthread_rwlock_unlock(&object->rwlock));
            OK(pthread_rwlock_unlock(&object->rwlock));
            OK(pthread_rwlock_wrlock(&object->rwlock));
            OK(pthread_rwlock_unlock(&object->rwlock));
        }
        if (is_default_rwlock() && !rests(&object->rwlock))
            wrong(__FILE__, __LINE__, "rwlock %d is free and not at rest", k);
        OK(pthread_rwlock_destroy(&object->rwlock));
    }
}

int main(int argc, char **argv)
{
    static const struct soak soak = {begin, one_round, beside, show, end};
    return soak_main(argc, argv, &soak);
}
