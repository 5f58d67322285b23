/* Data that a lock guards, and that it does not, for programs that look for races.
 *
 *   races guarded    every kind of lock, with nothing to report
 *   races open       an addition without a lock
 *   races reading    an addition while others read
 *   races apart      an addition under two locks
 */
#include <cohort.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 40, THREADS = 3 };

static cohort_mutex_t mutex = COHORT_MUTEX_INIT;
static cohort_mutex_t others = COHORT_MUTEX_INIT;
static cohort_rwlock_t rwlock = COHORT_RWLOCK_INIT;
static cohort_cond_t cond = COHORT_COND_INIT;
static cohort_token_t token = COHORT_TOKEN_INIT;
static cohort_lock_t *named;
static cohort_shared_t *shared;
static cohort_delegated_t *delegated;
static struct timespec past;
/* Each guarded by what it is named for; of the condition by the mutex, of the token by its cancellation. */
static long of_mutex, of_rwlock, of_cond, of_named, of_shared, of_address, of_algorithm, of_delegated;
static long of_token;
static long of_no_lock;
static int arrived;

/* Any of the acquiring functions with a timeout. */
static void lock_mutex(int round)
{
    switch (round % 5) {
    case 0: cohort_mutex_lock(&mutex); break;
    case 1: while (cohort_mutex_lock_try(&mutex)) {} break;
    case 2: while (cohort_mutex_lock_for(&mutex, 1000)) {} break;
    case 3: while (cohort_mutex_lock_until(&mutex, CLOCK_MONOTONIC, &past)) {} break;
    case 4: cohort_mutex_lock_unless(&mutex, &(cohort_token_t)COHORT_TOKEN_INIT); break;
    }
}

static void lock_named(int round, cohort_context_t *context)
{
    switch (round % 3) {
    case 0: cohort_lock_acquire(named); break;
    case 1: while (cohort_lock_acquire_try(named)) {} break;
    case 2: cohort_lock_acquire_by(named, context); break;
    }
}

static void section(void *argument)
{
    of_delegated += *(int *)argument;
}

static void *guarded(void *argument)
{
    cohort_context_t context;
    int one = 1;
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        lock_mutex(round);
        of_mutex++;
        cohort_mutex_unlock(&mutex);

        if (round % 2) {
            cohort_rwlock_write(&rwlock);
            of_rwlock++;
        } else {
            while (cohort_rwlock_read_for(&rwlock, 1000)) {}
            if (of_rwlock > 3 * ROUNDS * THREADS)
                puts("too many");
        }
        cohort_rwlock_unlock(&rwlock);

        /* A reader that becomes the writer, and reads on. */
        if (round % 3 == 0)
            cohort_rwlock_read_upgradable(&rwlock);
        else
            while (cohort_rwlock_read_upgradable_try(&rwlock)) {}
        if (of_rwlock % 2) {
            cohort_rwlock_unlock_upgradable(&rwlock);
        } else {
            cohort_rwlock_upgrade(&rwlock);
            of_rwlock += 2;
            cohort_rwlock_downgrade(&rwlock);
            if (of_rwlock % 2)
                puts("odd");
            cohort_rwlock_unlock_fair(&rwlock);
        }

        if (round % 2) {
            cohort_shared_write(shared);
            of_shared++;
        } else {
            while (cohort_shared_read_for(shared, 1000)) {}
            if (of_shared > ROUNDS * THREADS)
                puts("too many");
        }
        cohort_shared_unlock(shared);

        lock_named(round, &context);
        of_named++;
        if (round % 3 == 2)
            cohort_lock_release_by(named, &context);
        else
            cohort_lock_release(named);

        cohort_gls_lock(&of_address);
        of_address++;
        cohort_gls_unlock(&of_address);
        while (cohort_gls_mcs_trylock(&of_algorithm)) {}
        of_algorithm++;
        cohort_gls_mcs_unlock(&of_algorithm);

        if (round % 2) {
            cohort_delegate(delegated, section, &one);
        } else {
            if (cohort_delegated_lock_try(delegated) != 0)
                cohort_delegated_lock(delegated);
            of_delegated++;
            cohort_delegated_unlock(delegated);
        }
    }
    /* The last thread to arrive lets the others go. */
    cohort_mutex_lock(&mutex);
    of_cond++;
    if (++arrived == THREADS)
        cohort_cond_broadcast(&cond);
    while (arrived < THREADS)
        cohort_cond_wait(&cond, &mutex);
    of_cond++;
    cohort_mutex_unlock(&mutex);
    return NULL;
}

static void *ended(void *argument)
{
    (void)argument;
    if (cohort_mutex_lock_unless(&others, &token) == 0)
        puts("not cancelled");
    of_token++;
    return NULL;
}

static void *open(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++)
        of_no_lock++;
    return NULL;
}

static void *reading(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        cohort_rwlock_read(&rwlock);
        of_no_lock++;
        cohort_rwlock_unlock(&rwlock);
    }
    return NULL;
}

static void *apart(void *argument)
{
    cohort_mutex_t *own = argument;
    for (int round = 0; round < ROUNDS; round++) {
        cohort_mutex_lock(own);
        of_no_lock++;
        cohort_mutex_unlock(own);
    }
    return NULL;
}

static void together(void *(*body)(void *))
{
    static cohort_mutex_t own[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, &own[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "open") == 0)
        together(open);
    else if (strcmp(what, "reading") == 0)
        together(reading);
    else if (strcmp(what, "apart") == 0)
        together(apart);
    if (strcmp(what, "guarded") != 0)
        return 0;

    named = cohort_lock_new("mcs");
    shared = cohort_shared_new("c-rw-np");
    delegated = cohort_delegated_new();
    together(guarded);

    pthread_t waiter;
    cohort_mutex_lock(&others);
    pthread_create(&waiter, NULL, ended, NULL);
    of_token++;
    cohort_token_cancel(&token);
    pthread_join(waiter, NULL);
    cohort_mutex_unlock(&others);

    const long each = (long)ROUNDS * THREADS;
    const int is_right = of_mutex == each && of_rwlock % 2 == each / 2 % 2 && of_named == each
        && of_shared == each / 2
        && of_address == each && of_algorithm == each && of_delegated == each
        && of_cond == 2 * THREADS && of_token == 2;
    cohort_delegated_free(delegated);
    return is_right && cohort_lock_free(named) == 0 && cohort_shared_free(shared) == 0 ? 0 : 1;
}
