/* Condition variables: which waiters are woken, with which kinds of mutex, for how long a
 * condition variable lives. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <sched.h>
#include <string.h>

struct party {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int waiting, tokens, served;
};

static void *take_token(void *argument)
{
    struct party *party = argument;
    OK(pthread_mutex_lock(&party->mutex));
    party->waiting++;
    while (party->tokens == 0)
        OK(pthread_cond_wait(&party->cond, &party->mutex));
    party->tokens--;
    party->served++;
    OK(pthread_mutex_unlock(&party->mutex));
    return NULL;
}

/* Returns with the mutex held, and so many threads inside the wait. */
static void lock_when_waiting(struct party *party, int waiting)
{
    for (;;) {
        OK(pthread_mutex_lock(&party->mutex));
        if (party->waiting == waiting)
            return;
        OK(pthread_mutex_unlock(&party->mutex));
        rest_ms(1);
    }
}

enum { CROWD = 50 };

static void static_initialiser(const void *with)
{
    (void)with;
    static struct party party = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .cond = PTHREAD_COND_INITIALIZER};
    pthread_t waiter = start(take_token, &party);
    lock_when_waiting(&party, 1);
    party.tokens = 1;
    OK(pthread_cond_signal(&party.cond));
    OK(pthread_mutex_unlock(&party.mutex));
    join(waiter);
    CHECK_EQ(party.served, 1);
}

static void signal_each(const void *with)
{
    (void)with;
    static struct party party;
    OK(pthread_mutex_init(&party.mutex, NULL));
    OK(pthread_cond_init(&party.cond, NULL));
    pthread_t waiters[CROWD];
    for (int i = 0; i < CROWD; i++)
        waiters[i] = start(take_token, &party);
    lock_when_waiting(&party, CROWD);
    OK(pthread_mutex_unlock(&party.mutex));
    /* With the mutex held and without it: both are allowed. */
    for (int i = 0; i < CROWD; i++) {
        OK(pthread_mutex_lock(&party.mutex));
        party.tokens++;
        if (i % 2 == 0)
            OK(pthread_cond_signal(&party.cond));
        OK(pthread_mutex_unlock(&party.mutex));
        if (i % 2 == 1)
            OK(pthread_cond_signal(&party.cond));
    }
    for (int i = 0; i < CROWD; i++)
        join(waiters[i]);
    CHECK_EQ(party.served, CROWD);
    CHECK_EQ(party.tokens, 0);
    OK(pthread_cond_destroy(&party.cond));
    OK(pthread_mutex_destroy(&party.mutex));
}

static void broadcast(const void *with)
{
    (void)with;
    static struct party party;
    OK(pthread_mutex_init(&party.mutex, NULL));
    OK(pthread_cond_init(&party.cond, NULL));
    for (int round = 1; round <= 5; round++) {
        pthread_t waiters[CROWD];
        for (int i = 0; i < CROWD; i++)
            waiters[i] = start(take_token, &party);
        lock_when_waiting(&party, CROWD * round);
        party.tokens = CROWD;
        OK(pthread_cond_broadcast(&party.cond));
        OK(pthread_mutex_unlock(&party.mutex));
        for (int i = 0; i < CROWD; i++)
            join(waiters[i]);
        CHECK_EQ(party.served, CROWD * round);
        CHECK_EQ(party.tokens, 0);
    }
    OK(pthread_cond_destroy(&party.cond));
    OK(pthread_mutex_destroy(&party.mutex));
}

/* A signal that no thread waits for is lost. */
static void without_waiters(const void *with)
{
    (void)with;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    for (int i = 0; i < 1000; i++) {
        OK(pthread_cond_signal(&cond));
        OK(pthread_cond_broadcast(&cond));
    }
    OK(pthread_mutex_lock(&mutex));
    struct timespec deadline = in_ms(CLOCK_REALTIME, 50);
    int spurious = 0, error;
    while ((error = pthread_cond_timedwait(&cond, &mutex, &deadline)) == 0)
        spurious++;
    GIVES(ETIMEDOUT, error);
    check_punctual(CLOCK_REALTIME, deadline);
    CHECK_BELOW(spurious, 10);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_destroy(&cond));
}

/* The condition releases the mutex while waiting and holds it afterwards. */
static void wait_with(const struct kind *kind, int shared)
{
    static struct party party;
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, shared));
    OK(pthread_cond_init(&party.cond, &attributes));
    OK(pthread_condattr_destroy(&attributes));
    kind_init(&party.mutex, kind);

    for (int round = 0; round < 20; round++) {
        pthread_t waiters[3];
        party.waiting = 0;
        for (int i = 0; i < 3; i++)
            waiters[i] = start(take_token, &party);
        lock_when_waiting(&party, 3);
        party.tokens = 3;
        OK(pthread_cond_signal(&party.cond));
        OK(pthread_cond_broadcast(&party.cond));
        rest_ms(1);
        CHECK_EQ(party.tokens, 3);
        OK(pthread_mutex_unlock(&party.mutex));
        for (int i = 0; i < 3; i++)
            join(waiters[i]);
        CHECK_EQ(party.served, 3 * (round + 1));
    }

    OK(pthread_mutex_lock(&party.mutex));
    struct timespec deadline = in_ms(CLOCK_REALTIME, 10);
    int error;
    do
        error = pthread_cond_timedwait(&party.cond, &party.mutex, &deadline);
    while (error == 0);
    GIVES(ETIMEDOUT, error);
    CHECK(held_for_others(&party.mutex));
    OK(pthread_mutex_unlock(&party.mutex));
    CHECK(!held_for_others(&party.mutex));
    OK(pthread_cond_destroy(&party.cond));
    OK(pthread_mutex_destroy(&party.mutex));
}

static void private_cond(const void *kind)
{
    wait_with(kind, PTHREAD_PROCESS_PRIVATE);
}

static void shared_cond(const void *kind)
{
    wait_with(kind, PTHREAD_PROCESS_SHARED);
}

/* After waiting, the kind still knows its owner and its depth. */
static void owner_after_wait(const void *with)
{
    (void)with;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec past = in_ms(CLOCK_REALTIME, -10);

    pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    GIVES(EPERM, pthread_cond_wait(&cond, &errorcheck));
    GIVES(EPERM, pthread_cond_timedwait(&cond, &errorcheck, &past));
    OK(pthread_mutex_lock(&errorcheck));
    GIVES(ETIMEDOUT, pthread_cond_timedwait(&cond, &errorcheck, &past));
    GIVES(EDEADLK, pthread_mutex_lock(&errorcheck));
    OK(pthread_mutex_unlock(&errorcheck));
    GIVES(EPERM, pthread_mutex_unlock(&errorcheck));

    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    GIVES(EPERM, pthread_cond_wait(&cond, &recursive));
    OK(pthread_mutex_lock(&recursive));
    GIVES(ETIMEDOUT, pthread_cond_timedwait(&cond, &recursive, &past));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    CHECK(held_for_others(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    GIVES(EPERM, pthread_mutex_unlock(&recursive));
    OK(pthread_cond_destroy(&cond));
}

static atomic_bool told, back;

static void *wait_as_owner(void *argument)
{
    struct party *party = argument;
    OK(pthread_mutex_lock(&party->mutex));
    OK(pthread_mutex_lock(&party->mutex));
    while (!atomic_load(&told))
        OK(pthread_cond_wait(&party->cond, &party->mutex));
    OK(pthread_mutex_unlock(&party->mutex));
    CHECK(held_for_others(&party->mutex));
    OK(pthread_mutex_unlock(&party->mutex));
    atomic_store(&back, true);
    return NULL;
}

/* A thread that locked a recursive mutex twice holds it while it waits, so another lets it go
 * without the mutex. */
static void owner_while_waiting(const void *with)
{
    (void)with;
    static struct party party;
    kind_init(&party.mutex, &kinds[RECURSIVE]);
    OK(pthread_cond_init(&party.cond, NULL));
    pthread_t waiter = start(wait_as_owner, &party);
    rest_ms(10);
    CHECK(held_for_others(&party.mutex));
    atomic_store(&told, true);
    while (!atomic_load(&back)) {
        OK(pthread_cond_signal(&party.cond));
        rest_ms(1);
    }
    join(waiter);
    OK(pthread_cond_destroy(&party.cond));
    OK(pthread_mutex_destroy(&party.mutex));
}

static void *bring_token(void *argument)
{
    struct party *party = argument;
    OK(pthread_mutex_lock(&party->mutex));
    party->tokens = 1;
    OK(pthread_mutex_unlock(&party->mutex));
    return NULL;
}

/* A wait that is late releases the mutex too, at a shared condition as well. */
static void released_when_late(const void *with)
{
    const int *shared = with;
    static struct party party;
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, *shared));
    OK(pthread_cond_init(&party.cond, &attributes));
    OK(pthread_condattr_destroy(&attributes));
    OK(pthread_mutex_init(&party.mutex, NULL));
    struct timespec past = in_ms(CLOCK_REALTIME, -10);
    OK(pthread_mutex_lock(&party.mutex));
    pthread_t bringer = start(bring_token, &party);
    while (party.tokens == 0)
        GIVES(ETIMEDOUT, pthread_cond_timedwait(&party.cond, &party.mutex, &past));
    OK(pthread_mutex_unlock(&party.mutex));
    join(bringer);
    OK(pthread_cond_destroy(&party.cond));
    OK(pthread_mutex_destroy(&party.mutex));
}

static const int is_private = PTHREAD_PROCESS_PRIVATE, is_shared = PTHREAD_PROCESS_SHARED;

static void *die_holding(void *argument)
{
    struct party *party = argument;
    lock_when_waiting(party, 1);
    party->tokens = 1;
    OK(pthread_cond_signal(&party->cond));
    return NULL;
}

/* The signaller dies with the robust mutex held: the wait says so. */
static void owner_died(const void *with)
{
    (void)with;
    static struct party party;
    kind_init(&party.mutex, &kinds[ROBUST]);
    OK(pthread_cond_init(&party.cond, NULL));
    OK(pthread_mutex_lock(&party.mutex));
    party.waiting = 1;
    pthread_t signaller = start(die_holding, &party);
    int error = 0;
    while (party.tokens == 0 && error == 0)
        error = pthread_cond_wait(&party.cond, &party.mutex);
    GIVES(EOWNERDEAD, error);
    OK(pthread_mutex_consistent(&party.mutex));
    OK(pthread_mutex_unlock(&party.mutex));
    CHECK(!held_for_others(&party.mutex));
    join(signaller);
}

/* A moment's condition variable: its last waiter destroys it, and its mutex,
 * and uses the memory for something else at once. */
struct moment {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool open;
    int inside;
};

enum { MOMENTS = 10000, GUESTS = 3, POISON = 0xA5 };

static _Atomic(struct moment *) invitation;
static atomic_int arrived, left;

static bool wait_and_leave(struct moment *moment)
{
    OK(pthread_mutex_lock(&moment->mutex));
    moment->inside++;
    atomic_fetch_add(&arrived, 1);
    while (!moment->open)
        OK(pthread_cond_wait(&moment->cond, &moment->mutex));
    bool last = --moment->inside == 0;
    OK(pthread_mutex_unlock(&moment->mutex));
    return last;
}

static void *guest(void *argument)
{
    (void)argument;
    for (int i = 0; i < MOMENTS; i++) {
        int before = i * GUESTS;
        struct moment *moment;
        while ((moment = atomic_load(&invitation)) == NULL ||
               atomic_load(&left) < before)
            sched_yield();
        if (wait_and_leave(moment)) {
            OK(pthread_cond_destroy(&moment->cond));
            memset(&moment->cond, POISON, sizeof moment->cond);
            atomic_store(&invitation, NULL);
        }
        atomic_fetch_add(&left, 1);
        while (atomic_load(&left) < before + GUESTS)
            sched_yield();
    }
    return NULL;
}

static bool still_poisoned(const struct moment *moment)
{
    const unsigned char *byte = (const unsigned char *)&moment->cond;
    for (size_t i = 0; i < sizeof moment->cond; i++)
        if (byte[i] != POISON)
            return false;
    return true;
}

static void destroyed_by_last_waiter(const void *with)
{
    (void)with;
    pthread_t guests[GUESTS];
    for (int i = 0; i < GUESTS; i++)
        guests[i] = start(guest, NULL);
    for (int i = 0; i < MOMENTS; i++) {
        struct moment moment;
        OK(pthread_mutex_init(&moment.mutex, NULL));
        OK(pthread_cond_init(&moment.cond, NULL));
        moment.open = false;
        moment.inside = 0;
        atomic_store(&invitation, &moment);
        while (atomic_load(&arrived) < (i + 1) * GUESTS)
            sched_yield();
        OK(pthread_mutex_lock(&moment.mutex));
        moment.open = true;
        OK(pthread_cond_broadcast(&moment.cond));
        OK(pthread_mutex_unlock(&moment.mutex));
        while (atomic_load(&left) < (i + 1) * GUESTS)
            sched_yield();
        CHECK(still_poisoned(&moment));
        progress();
        OK(pthread_mutex_destroy(&moment.mutex));
    }
    for (int i = 0; i < GUESTS; i++)
        join(guests[i]);
}

CASES(CASE("static-initialiser", static_initialiser),
      CASE("signal-each-of-50", signal_each), CASE("broadcast-to-50", broadcast),
      CASE("without-waiters", without_waiters),
      EACH_KIND("private", private_cond), EACH_KIND("shared", shared_cond),
      CASE("owner-after-wait", owner_after_wait),
      CASE("owner-while-waiting", owner_while_waiting),
      CASE_WITH("released-when-late/private", released_when_late, &is_private),
      CASE_WITH("released-when-late/shared", released_when_late, &is_shared),
      CASE("owner-died", owner_died),
      CASE("destroyed-by-last-waiter", destroyed_by_last_waiter))
