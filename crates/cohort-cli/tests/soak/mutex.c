/* Mutexes of each kind by every way to lock them, conditions, cancellation, signals, and
 * threads that move between CPUs. */
#include "support/soak.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { KINDS = 7, MUTEXES = 2 * KINDS, HOT = 2, LONGEST_NS = 300000 };

/* The last three are served by the C library under Cohort too. */
static const struct kind {
    int type, robust, shared, protocol;
} kinds[KINDS] = {
    {.type = PTHREAD_MUTEX_NORMAL},
    {.type = PTHREAD_MUTEX_RECURSIVE},
    {.type = PTHREAD_MUTEX_ERRORCHECK},
    {.type = PTHREAD_MUTEX_ADAPTIVE_NP},
    {.type = PTHREAD_MUTEX_ERRORCHECK, .robust = PTHREAD_MUTEX_ROBUST},
    {.type = PTHREAD_MUTEX_NORMAL, .shared = PTHREAD_PROCESS_SHARED},
    {.type = PTHREAD_MUTEX_RECURSIVE, .protocol = PTHREAD_PRIO_INHERIT},
};

static struct object {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    atomic_int inside;
    /* Guarded by the mutex, and the same counted by each thread. */
    unsigned long count;
    atomic_ulong counted;
} objects[MUTEXES];

static const struct kind *kind_of(int k)
{
    return &kinds[k % KINDS];
}

static bool is_ours(int k)
{
    const struct kind *kind = kind_of(k);
    return !kind->robust && !kind->shared && !kind->protocol;
}

static void begin(void)
{
    for (int k = 0; k < MUTEXES; k++) {
        pthread_mutexattr_t attributes;
        OK(pthread_mutexattr_init(&attributes));
        OK(pthread_mutexattr_settype(&attributes, kind_of(k)->type));
        OK(pthread_mutexattr_setrobust(&attributes, kind_of(k)->robust));
        OK(pthread_mutexattr_setpshared(&attributes, kind_of(k)->shared));
        OK(pthread_mutexattr_setprotocol(&attributes, kind_of(k)->protocol));
        OK(pthread_mutex_init(&objects[k].mutex, &attributes));
        OK(pthread_cond_init(&objects[k].changed, NULL));
    }
}

static void enter(struct object *object)
{
    CHECK(++object->inside == 1);
    object->count++;
    object->counted++;
}

static void leave(struct object *object)
{
    CHECK(--object->inside == 0);
}

/* Locks in a way that the dice choose; whether it was locked. */
static bool take(int k, struct dice *dice)
{
    pthread_mutex_t *mutex = &objects[k].mutex;
    long patience = (long)roll(dice, LONGEST_NS);
    int error;
    switch (roll(dice, 4)) {
    case 0:
        note("lock", k);
        OK(pthread_mutex_lock(mutex));
        return true;
    case 1:
        note("trylock", k);
        error = pthread_mutex_trylock(mutex);
        CHECK(error == 0 || error == EBUSY);
        return error == 0;
    case 2: {
        note("timedlock", k);
        struct timespec until = in_ns(CLOCK_REALTIME, patience);
        error = pthread_mutex_timedlock(mutex, &until);
        if (error == ETIMEDOUT)
            check_passed(CLOCK_REALTIME, &until);
        break;
    }
    default: {
        note("clocklock", k);
        struct timespec until = in_ns(CLOCK_MONOTONIC, patience);
        error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
        /* A kernel before 5.14 knows no such deadline for a mutex with priority inheritance. */
        if (error == EINVAL && kind_of(k)->protocol)
            return false;
        if (error == ETIMEDOUT)
            check_passed(CLOCK_MONOTONIC, &until);
        break;
    }
    }
    CHECK(error == 0 || error == ETIMEDOUT);
    return error == 0;
}

/* The holder locks again what knows its owner. */
static void again(int k, struct dice *dice)
{
    pthread_mutex_t *mutex = &objects[k].mutex;
    note("lock again", k);
    if (kind_of(k)->type == PTHREAD_MUTEX_RECURSIVE) {
        OK(one_in(dice, 2) ? pthread_mutex_lock(mutex) : pthread_mutex_trylock(mutex));
        OK(pthread_mutex_unlock(mutex));
    } else if (kind_of(k)->type == PTHREAD_MUTEX_ERRORCHECK) {
        GIVES(EDEADLK, pthread_mutex_lock(mutex));
    }
}

static void wait_a_moment(int k, struct dice *dice)
{
    struct object *object = &objects[k];
    bool monotonic = one_in(dice, 2);
    clockid_t clock = monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec until = in_ns(clock, (long)roll(dice, 1000000));
    leave(object);
    note("wait", k);
    int error = monotonic
                    ? pthread_cond_clockwait(&object->changed, &object->mutex, clock, &until)
                    : pthread_cond_timedwait(&object->changed, &object->mutex, &until);
    enter(object);
    CHECK(error == 0 || error == ETIMEDOUT);
    if (error)
        check_passed(clock, &until);
}

static void leave_cancelled(void *object)
{
    enter(object);
    leave(object);
    OK(pthread_mutex_unlock(&((struct object *)object)->mutex));
}

/* Waits until it is cancelled, which is the only end of its waits. */
static void *sleeper(void *object_)
{
    struct object *object = object_;
    OK(pthread_mutex_lock(&object->mutex));
    pthread_cleanup_push(leave_cancelled, object);
    for (;;) {
        pthread_cond_wait(&object->changed, &object->mutex);
        enter(object);
        leave(object);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel_a_sleeper(int k, struct dice *dice)
{
    pthread_t thread;
    note("cancel", k);
    OK(pthread_create(&thread, NULL, sleeper, &objects[k]));
    usleep(roll(dice, 500));
    OK(pthread_cancel(thread));
    void *result;
    OK(pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

static void one_round(int thread, struct dice *dice)
{
    (void)thread;
    int k = draw(dice, HOT, MUTEXES);
    if (take(k, dice)) {
        enter(&objects[k]);
        linger(dice);
        if (one_in(dice, 8))
            again(k, dice);
        if (one_in(dice, 16))
            wait_a_moment(k, dice);
        leave(&objects[k]);
        note("unlock", k);
        OK(pthread_mutex_unlock(&objects[k].mutex));
        if (one_in(dice, 8)) {
            note("signal", k);
            OK(one_in(dice, 2) ? pthread_cond_signal(&objects[k].changed)
                               : pthread_cond_broadcast(&objects[k].changed));
        }
    }
    if (one_in(dice, 256))
        cancel_a_sleeper((int)roll(dice, MUTEXES), dice);
    if (one_in(dice, 512))
        move_about(dice);
}

static void beside(struct dice *dice)
{
    usleep(100 + roll(dice, 200));
    interrupt_one(dice);
}

static void show(void)
{
    for (int k = 0; k < MUTEXES; k++) {
        printf("kind %d, %d inside: ", k % KINDS, objects[k].inside);
        show_words("mutex", k, &objects[k].mutex, sizeof(pthread_mutex_t));
    }
}

static void end(void)
{
    for (int k = 0; k < MUTEXES; k++) {
        struct object *object = &objects[k];
        CHECK(object->count == object->counted && object->inside == 0);
        /* A waiter that gave up may leave a mark, which a release wipes out half a millisecond
         * later. */
        usleep(2000);
        for (int i = 0; i < 3; i++) {
            note("lock at the end", k);
            OK(i % 2 ? pthread_mutex_trylock(&object->mutex)
                     : pthread_mutex_lock(&object->mutex));
            OK(pthread_mutex_unlock(&object->mutex));
        }
        if (is_ours(k) && is_default_mutex() && word_of(&object->mutex, 0) != 0)
            wrong(__FILE__, __LINE__, "mutex %d is free and not at rest", k);
        OK(pthread_mutex_destroy(&object->mutex));
        OK(pthread_cond_destroy(&object->changed));
    }
}

int main(int argc, char **argv)
{
    static const struct soak soak = {begin, one_round, beside, show, end};
    return soak_main(argc, argv, &soak);
}
