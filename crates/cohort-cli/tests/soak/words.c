/* The mutex, rwlock, condition and token of cohort.h, and the lock that SOAK_LOCK names, by every way:
 * with deadlines, and within tokens that another thread cancels. */
#include "support/soak.h"

#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SETS = 3, LONGEST_NS = 300000 };

enum part { MUTEX, RWLOCK, NAMED, PARTS };

static struct set {
    cohort_mutex_t mutex;
    cohort_rwlock_t rwlock;
    cohort_lock_t *named;
    cohort_cond_t changed[PARTS];
    atomic_int inside[PARTS], readers;
    unsigned long counts[PARTS];
    atomic_ulong counted[PARTS];
} sets[SETS];

/* The token of each thread's present wait; cancelled by others under the mutex beside it. */
static struct own {
    pthread_mutex_t mutex;
    cohort_token_t token;
    bool waits;
} own[MOST_THREADS];

static void begin(void)
{
    const char *name = getenv("SOAK_LOCK");
    for (int k = 0; k < SETS; k++) {
        sets[k].named = cohort_lock_new(name ? name : "mcs");
        CHECK(sets[k].named);
    }
    for (int i = 0; i < MOST_THREADS; i++)
        OK(pthread_mutex_init(&own[i].mutex, NULL));
}

static cohort_token_t *begin_token(int thread)
{
    pthread_mutex_lock(&own[thread].mutex);
    cohort_token_init(&own[thread].token);
    own[thread].waits = true;
    pthread_mutex_unlock(&own[thread].mutex);
    return &own[thread].token;
}

/* No thread cancels the token from here on. */
static void end_token(int thread)
{
    pthread_mutex_lock(&own[thread].mutex);
    own[thread].waits = false;
    pthread_mutex_unlock(&own[thread].mutex);
}

static void cancel(int thread)
{
    pthread_mutex_lock(&own[thread].mutex);
    if (own[thread].waits)
        OK(cohort_token_cancel(&own[thread].token));
    pthread_mutex_unlock(&own[thread].mutex);
}

static bool had(int error, int refusal)
{
    CHECK(error == 0 || error == refusal);
    return error == 0;
}

enum way { BLOCK, TRY, UNTIL, FOR, UNLESS, WAYS };

static bool take(struct set *set, enum part part, bool writes, int thread, struct dice *dice)
{
    enum way way = roll(dice, WAYS);
    clockid_t clock = one_in(dice, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec until = in_ns(clock, (long)roll(dice, LONGEST_NS));
    uint64_t within = roll(dice, LONGEST_NS);
    static const char *const names[WAYS] = {"lock", "try", "until", "for", "unless"};
    note(names[way], (int)part);
    cohort_token_t *token = way == UNLESS ? begin_token(thread) : NULL;
    int error = 0;
#define BY(block, try, deadline, limit, cancelled)                             \
    error = way == BLOCK   ? (block)                                           \
            : way == TRY   ? (try)                                             \
            : way == UNTIL ? (deadline)                                        \
            : way == FOR   ? (limit)                                           \
                           : (cancelled)
    if (part == MUTEX) {
        cohort_mutex_t *lock = &set->mutex;
        BY(cohort_mutex_lock(lock), cohort_mutex_lock_try(lock),
           cohort_mutex_lock_until(lock, clock, &until), cohort_mutex_lock_for(lock, within),
           cohort_mutex_lock_unless(lock, token));
    } else if (part == NAMED) {
        cohort_lock_t *lock = set->named;
        BY(cohort_lock_acquire(lock), cohort_lock_acquire_try(lock),
           cohort_lock_acquire_until(lock, clock, &until),
           cohort_lock_acquire_for(lock, within), cohort_lock_acquire_unless(lock, token));
    } else if (writes) {
        cohort_rwlock_t *lock = &set->rwlock;
        BY(cohort_rwlock_write(lock), cohort_rwlock_write_try(lock),
           cohort_rwlock_write_until(lock, clock, &until),
           cohort_rwlock_write_for(lock, within), cohort_rwlock_write_unless(lock, token));
    } else {
        cohort_rwlock_t *lock = &set->rwlock;
        BY(cohort_rwlock_read(lock), cohort_rwlock_read_try(lock),
           cohort_rwlock_read_until(lock, clock, &until),
           cohort_rwlock_read_for(lock, within), cohort_rwlock_read_unless(lock, token));
    }
    if (token)
        end_token(thread);
    static const int refusals[WAYS] = {0, EBUSY, ETIMEDOUT, ETIMEDOUT, ECANCELED};
    if (had(error, refusals[way]))
        return true;
    if (way == UNTIL)
        check_passed(clock, &until);
    return false;
}

static void enter(struct set *set, enum part part)
{
    CHECK(++set->inside[part] == 1);
    set->counts[part]++;
    set->counted[part]++;
}

static void leave(struct set *set, enum part part)
{
    CHECK(--set->inside[part] == 0);
}

static void wait_a_moment(struct set *set, enum part part, int thread, struct dice *dice)
{
    cohort_cond_t *changed = &set->changed[part];
    leave(set, part);
    note("wait", (int)part);
    if (one_in(dice, 2)) {
        uint64_t within = roll(dice, 1000000);
        had(part == MUTEX ? cohort_cond_wait_for(changed, &set->mutex, within)
                          : cohort_cond_wait_lock_for(changed, set->named, within),
            ETIMEDOUT);
    } else {
        cohort_token_t *token = begin_token(thread);
        had(part == MUTEX ? cohort_cond_wait_unless(changed, &set->mutex, token)
                          : cohort_cond_wait_lock_unless(changed, set->named, token),
            ECANCELED);
        end_token(thread);
    }
    enter(set, part);
}

static void unlock(struct set *set, enum part part)
{
    note("unlock", (int)part);
    OK(part == MUTEX    ? cohort_mutex_unlock(&set->mutex)
       : part == RWLOCK ? cohort_rwlock_unlock(&set->rwlock)
                        : cohort_lock_release(set->named));
}

static void one_round(int thread, struct dice *dice)
{
    struct set *set = &sets[roll(dice, SETS)];
    enum part part = roll(dice, PARTS);
    bool writes = part != RWLOCK || one_in(dice, 2);
    if (take(set, part, writes, thread, dice)) {
        if (writes) {
            CHECK(part != RWLOCK || set->readers == 0);
            enter(set, part);
            linger(dice);
            if (part != RWLOCK && one_in(dice, 16))
                wait_a_moment(set, part, thread, dice);
            leave(set, part);
        } else {
            set->readers++;
            CHECK(set->inside[RWLOCK] == 0);
            linger(dice);
            set->readers--;
        }
        unlock(set, part);
        if (part != RWLOCK && one_in(dice, 8)) {
            note("signal", (int)part);
            OK(one_in(dice, 2) ? cohort_cond_signal(&set->changed[part])
                               : cohort_cond_broadcast(&set->changed[part]));
        }
    }
    if (one_in(dice, 512))
        move_about(dice);
}

/* Waits without a deadline end by their token. */
static void beside(struct dice *dice)
{
    usleep(50 + roll(dice, 100));
    for (int i = 0; i < 2; i++) {
        note("cancel", 0);
        cancel((int)roll(dice, (uint32_t)soak_threads()));
    }
    interrupt_one(dice);
}

static void show(void)
{
    for (int k = 0; k < SETS; k++) {
        printf("inside %d, %d, %d: ", sets[k].inside[MUTEX], sets[k].inside[RWLOCK],
               sets[k].inside[NAMED]);
        show_words("mutex", k, &sets[k].mutex, sizeof(cohort_mutex_t));
        show_words("rwlock", k, &sets[k].rwlock, sizeof(cohort_rwlock_t));
        bool is_held = sets[k].named && cohort_lock_is_held(sets[k].named);
        printf("named %d is %s\n", k, is_held ? "held" : "free");
    }
}

static void end(void)
{
    for (int k = 0; k < SETS; k++) {
        struct set *set = &sets[k];
        for (int i = 0; i < PARTS; i++)
            CHECK(set->counts[i] == set->counted[i]);
        /* As in mutex.c, for marks of waiters that gave up. */
        usleep(2000);
        for (int i = 0; i < 3; i++) {
            note("lock at the end", k);
            OK(cohort_mutex_lock_try(&set->mutex));
            OK(cohort_mutex_unlock(&set->mutex));
            OK(cohort_rwlock_write_try(&set->rwlock));
            OK(cohort_rwlock_unlock(&set->rwlock));
            OK(cohort_rwlock_read_try(&set->rwlock));
            OK(cohort_rwlock_unlock(&set->rwlock));
            OK(cohort_lock_acquire_try(set->named));
            OK(cohort_lock_release(set->named));
        }
        if (word_of(&set->mutex, 0) != 0 || !rests(&set->rwlock))
            wrong(__FILE__, __LINE__, "a lock of set %d is free and not at rest", k);
        OK(cohort_mutex_destroy(&set->mutex));
        OK(cohort_rwlock_destroy(&set->rwlock));
        OK(cohort_lock_free(set->named));
        set->named = NULL;
        for (int i = 0; i < PARTS; i++)
            OK(cohort_cond_destroy(&set->changed[i]));
    }
}

int main(int argc, char **argv)
{
    static const struct soak soak = {begin, one_round, beside, show, end};
    return soak_main(argc, argv, &soak);
}
