/* Spin locks. */
#include "support/check.h"

#include <sched.h>

static void *find_held(void *argument)
{
    GIVES(EBUSY, pthread_spin_trylock(argument));
    return NULL;
}

static void forms(const void *with)
{
    for (int round = 0; round < 2; round++) {
        pthread_spinlock_t spin;
        OK(pthread_spin_init(&spin, *(const int *)with));
        OK(pthread_spin_lock(&spin));
        GIVES(EBUSY, pthread_spin_trylock(&spin));
        join(start(find_held, (void *)&spin));
        OK(pthread_spin_unlock(&spin));
        OK(pthread_spin_trylock(&spin));
        join(start(find_held, (void *)&spin));
        OK(pthread_spin_unlock(&spin));
        OK(pthread_spin_destroy(&spin));
    }
}

static void *unlock_for_another(void *argument)
{
    OK(pthread_spin_unlock(argument));
    return NULL;
}

static void unlocked_by_another(const void *with)
{
    (void)with;
    pthread_spinlock_t spin;
    OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_lock(&spin));
    join(start(unlock_for_another, (void *)&spin));
    OK(pthread_spin_trylock(&spin));
    OK(pthread_spin_unlock(&spin));
    OK(pthread_spin_destroy(&spin));
}

enum { THREADS = 8, TURNS = 5000 };

struct anvil {
    pthread_spinlock_t spin;
    /* Neighbours of the small lock: it may not write beyond itself. */
    unsigned guard;
    atomic_int arrived, inside;
    volatile long count;
};

static void *hammer(void *argument)
{
    struct anvil *anvil = argument;
    gather(&anvil->arrived, THREADS);
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 3) {
            while (pthread_spin_trylock(&anvil->spin) != 0)
                sched_yield();
        } else {
            OK(pthread_spin_lock(&anvil->spin));
        }
        CHECK_EQ(atomic_fetch_add(&anvil->inside, 1), 0);
        long count = anvil->count;
        linger(i);
        anvil->count = count + 1;
        CHECK_EQ(atomic_fetch_sub(&anvil->inside, 1), 1);
        OK(pthread_spin_unlock(&anvil->spin));
    }
    return NULL;
}

static void exact_count(const void *with)
{
    struct anvil anvil = {.guard = 0x5AFE5AFE};
    OK(pthread_spin_init(&anvil.spin, *(const int *)with));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(hammer, &anvil);
    for (int i = 0; i < THREADS; i++)
        join(threads[i]);
    CHECK_EQ(anvil.count, THREADS * TURNS);
    CHECK_EQ(anvil.guard, 0x5AFE5AFE);
    OK(pthread_spin_destroy(&anvil.spin));
}

static const int private = PTHREAD_PROCESS_PRIVATE;
static const int shared = PTHREAD_PROCESS_SHARED;

CASES(CASE_WITH("forms/private", forms, &private),
      CASE_WITH("forms/shared", forms, &shared),
      CASE("unlocked-by-another", unlocked_by_another),
      CASE_WITH("exact-count/private", exact_count, &private),
      CASE_WITH("exact-count/shared", exact_count, &shared))
