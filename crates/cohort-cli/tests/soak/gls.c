/* Locks of addresses (cohort.h), by every way, nested in order, and freed beside their use. */
#include "support/soak.h"

#include <cohort.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { KEYS = 16, LONGEST_NS = 300000 };

static struct key {
    atomic_int inside;
    /* Guarded by the address's lock, and the same counted by each thread. */
    unsigned long count;
    atomic_ulong counted;
} keys[KEYS];

static bool take(int k, struct dice *dice)
{
    const void *address = &keys[k];
    uint32_t way = roll(dice, 4);
    clockid_t clock = way == 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec until = in_ns(clock, (long)roll(dice, LONGEST_NS));
    int error;
    switch (way) {
    case 0:
        note("lock", k);
        OK(cohort_gls_lock(address));
        return true;
    case 1:
        note("trylock", k);
        error = cohort_gls_trylock(address);
        CHECK(error == 0 || error == EBUSY);
        return error == 0;
    case 2:
        note("timedlock", k);
        error = cohort_gls_timedlock(address, &until);
        break;
    default:
        note("clocklock", k);
        error = cohort_gls_clocklock(address, clock, &until);
        break;
    }
    CHECK(error == 0 || error == ETIMEDOUT);
    if (error)
        check_passed(clock, &until);
    return error == 0;
}

static void free_one(int k)
{
    note("free", k);
    int error = cohort_gls_free(&keys[k]);
    CHECK(error == 0 || error == EBUSY);
}

/* Takes a key and then, in order, others. */
static void use(int k, struct dice *dice)
{
    if (!take(k, dice))
        return;
    CHECK(++keys[k].inside == 1);
    keys[k].count++;
    keys[k].counted++;
    linger(dice);
    if (one_in(dice, 4) && k + 1 < KEYS)
        use(k + 1 + (int)roll(dice, (uint32_t)(KEYS - k - 1)), dice);
    if (one_in(dice, 8))
        free_one((int)roll(dice, KEYS));
    CHECK(--keys[k].inside == 0);
    note("unlock", k);
    OK(cohort_gls_unlock(&keys[k]));
    if (one_in(dice, 4))
        free_one(k);
}

static void one_round(int thread, struct dice *dice)
{
    (void)thread;
    use((int)roll(dice, KEYS), dice);
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
    for (int k = 0; k < KEYS; k++)
        printf("key %d: %d inside, %lu times\n", k, keys[k].inside, keys[k].counted);
}

static void end(void)
{
    for (int k = 0; k < KEYS; k++) {
        CHECK(keys[k].count == keys[k].counted);
        note("lock at the end", k);
        OK(cohort_gls_trylock(&keys[k]));
        OK(cohort_gls_unlock(&keys[k]));
        OK(cohort_gls_free(&keys[k]));
    }
    OK(cohort_gls_destroy());
}

int main(int argc, char **argv)
{
    static const struct soak soak = {NULL, one_round, beside, show, end};
    return soak_main(argc, argv, &soak);
}
