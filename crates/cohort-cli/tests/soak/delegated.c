/* Sections that are brought to a lock (cohort.h), beside threads that lock it, wait in it and end
 * soon; and locks that their last user frees. */
#include "support/soak.h"

#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOCKS = 4 };

static struct object {
    cohort_delegated_t *lock;
    cohort_cond_t changed;
    atomic_int inside;
    unsigned long count;
    atomic_ulong counted;
} objects[LOCKS];

static void begin(void)
{
    for (int k = 0; k < LOCKS; k++) {
        objects[k].lock = cohort_delegated_new();
        CHECK(objects[k].lock);
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

/* In a frame of the thread that brings it. */
struct section {
    struct object *object;
    uint32_t turns;
    uint32_t done;
};

static void run(void *section_)
{
    struct section *section = section_;
    enter(section->object);
    for (uint32_t i = 0; i < section->turns; i++)
        section->done = section->done + 1;
    leave(section->object);
}

/* Returns only when the section has run, once. */
static void bring(int k, struct dice *dice)
{
    note("delegate", k);
    struct section section = {&objects[k], roll(dice, 2000) + 1, 0};
    errno = k + 1;
    OK(cohort_delegate(objects[k].lock, run, &section));
    CHECK(section.done == section.turns && errno == k + 1);
}

static void lock(int k, struct dice *dice)
{
    struct object *object = &objects[k];
    note("lock", k);
    if (one_in(dice, 2) || cohort_delegated_lock_try(object->lock) != 0)
        OK(cohort_delegated_lock(object->lock));
    enter(object);
    linger(dice);
    if (one_in(dice, 4)) {
        struct timespec until = in_ns(CLOCK_MONOTONIC, (long)roll(dice, 1000000));
        leave(object);
        note("wait", k);
        int error = cohort_cond_wait_delegated_until(&object->changed, object->lock,
                                                     CLOCK_MONOTONIC, &until);
        CHECK(error == 0 || error == ETIMEDOUT);
        enter(object);
    }
    leave(object);
    note("unlock", k);
    OK(cohort_delegated_unlock(object->lock));
    if (one_in(dice, 4))
        OK(cohort_cond_signal(&object->changed));
}

/* A thread's first sections, and its last. */
static void *short_lived(void *dice_)
{
    struct dice dice = *(struct dice *)dice_;
    for (int i = 0; i < 4; i++)
        bring((int)roll(&dice, LOCKS), &dice);
    return NULL;
}

/* A lock that threads share until the last of them frees it. */
struct shared {
    cohort_delegated_t *lock;
    int references;
    unsigned long sum;
};

static void count_down(void *shared_)
{
    struct shared *shared = shared_;
    shared->sum++;
    shared->references--;
}

static void *last_frees(void *shared_)
{
    struct shared *shared = shared_;
    OK(cohort_delegate(shared->lock, count_down, shared));
    OK(cohort_delegated_lock(shared->lock));
    bool is_last = --shared->references == 0;
    OK(cohort_delegated_unlock(shared->lock));
    if (is_last) {
        cohort_delegated_free(shared->lock);
        free(shared);
    }
    return NULL;
}

static void churn(struct dice *dice)
{
    enum { SHARERS = 3 };
    pthread_t threads[SHARERS];
    note("churn", 0);
    if (one_in(dice, 2)) {
        struct dice own[SHARERS];
        for (int i = 0; i < SHARERS; i++) {
            own[i].state = ((uint64_t)roll(dice, UINT32_MAX) << 32) | 1;
            OK(pthread_create(&threads[i], NULL, short_lived, &own[i]));
        }
        for (int i = 0; i < SHARERS; i++)
            OK(pthread_join(threads[i], NULL));
        return;
    }
    struct shared *shared = malloc(sizeof *shared);
    CHECK(shared);
    /* Each counts twice: in its section, and locked. */
    *shared = (struct shared){cohort_delegated_new(), 2 * SHARERS, 0};
    CHECK(shared->lock);
    for (int i = 0; i < SHARERS; i++)
        OK(pthread_create(&threads[i], NULL, last_frees, shared));
    for (int i = 0; i < SHARERS; i++)
        OK(pthread_join(threads[i], NULL));
}

static void one_round(int thread, struct dice *dice)
{
    (void)thread;
    int k = (int)roll(dice, LOCKS);
    if (one_in(dice, 8))
        lock(k, dice);
    else
        bring(k, dice);
    if (one_in(dice, 512))
        churn(dice);
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
    for (int k = 0; k < LOCKS; k++)
        printf("lock %d: %d inside, %lu times\n", k, objects[k].inside, objects[k].counted);
}

static void end(void)
{
    for (int k = 0; k < LOCKS; k++) {
        struct dice dice = {1};
        CHECK(objects[k].count == objects[k].counted);
        bring(k, &dice);
        cohort_delegated_free(objects[k].lock);
        OK(cohort_cond_destroy(&objects[k].changed));
    }
}

int main(int argc, char **argv)
{
    static const struct soak soak = {begin, one_round, beside, show, end};
    return soak_main(argc, argv, &soak);
}
