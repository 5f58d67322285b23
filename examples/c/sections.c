/* Delegation: critical sections run on the thread that has the data in its cache. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 20000 };

static cohort_delegated_t *lock;
static long total;

struct add {
    long amount, before;
};

/* Runs in any thread: input and output pass through its argument. */
static void add(void *argument)
{
    struct add *this = argument;

    this->before = total;
    total += this->amount;
    errno = errno == ENOENT ? ERANGE : EINVAL; /* the caller's `errno` */
}

static cohort_cond_t never = COHORT_COND_INIT;

/* Within a section, the lock is not the thread's to unlock: a mistake that clang finds too. */
COHORT_ANNOTATION(no_thread_safety_analysis)
static void unlock_too_much(void *argument)
{
    long *wrong = argument;

    *wrong += cohort_delegated_unlock(lock) != EPERM;
    *wrong += cohort_cond_wait_delegated(&never, lock) != EPERM;
}

static void add_one(void *argument)
{
    (void)argument;
    total++;
}

static void *work(void *argument)
{
    long wrong = 0;

    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        struct add this = { 2, -1 };

        errno = ENOENT;
        wrong += cohort_delegate(lock, add, &this) != 0 || errno != ERANGE || this.before < 0;
        errno = ENOENT;
        wrong += cohort_delegated_lock(lock) != 0; /* a section in place */
        total++;
        wrong += cohort_delegated_unlock(lock) != 0 || errno != ENOENT;
        if (cohort_delegated_lock_try(lock) == 0) {
            total++;
            wrong += cohort_delegated_unlock(lock) != 0;
        } else {
            cohort_delegate(lock, add_one, NULL);
        }
        wrong += errno != ENOENT;
    }
    return (void *)wrong;
}

static cohort_cond_t brought = COHORT_COND_INIT;
static long here;

static void bring_one(void *argument)
{
    (void)argument;
    here++;
}

static void *bring(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        cohort_delegate(lock, bring_one, NULL);
        cohort_cond_signal(&brought);
    }
    return argument;
}

/* A section in place that waits in its middle: sections of other threads run meanwhile. */
static void *take(void *argument)
{
    long wrong = 0;

    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        cohort_delegated_lock(lock);
        while (here == 0)
            wrong += cohort_cond_wait_delegated(&brought, lock) != 0;
        here--;
        wrong += cohort_delegated_unlock(lock) != 0;
    }
    return (void *)wrong;
}

/* Half of the threads take what the others bring. */
static long pass_on(void)
{
    pthread_t threads[THREADS];
    long wrong = 0;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, i % 2 ? bring : take, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *theirs;

        pthread_join(threads[i], &theirs);
        wrong += (long)theirs;
    }
    return wrong + (here != 0);
}

/* All threads, under one lock. */
/* Likewise. */
COHORT_ANNOTATION(no_thread_safety_analysis)
static long count_under(cohort_delegated_t *made)
{
    pthread_t threads[THREADS];
    long wrong = 0;

    lock = made;
    if (!lock)
        return 1;
    total = 0;
    cohort_delegate(lock, unlock_too_much, &wrong); /* the only thread */
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *theirs;

        pthread_join(threads[i], &theirs);
        wrong += (long)theirs;
    }
    wrong += pass_on();
    wrong += cohort_delegated_unlock(lock) != EPERM; /* it is free */
    cohort_delegate(lock, unlock_too_much, &wrong);
    wrong += cohort_delegate(lock, NULL, NULL) != EINVAL;
    wrong += cohort_delegated_lock_try(lock) != 0 || cohort_delegated_lock_try(lock) != EBUSY;
    wrong += cohort_delegated_unlock(lock) != 0 || cohort_delegated_unlock(lock) != EPERM;
    cohort_delegated_free(lock);
    return wrong + (total != 4L * THREADS * ROUNDS);
}

int main(void)
{
    long wrong = count_under(cohort_delegated_new());

    wrong += count_under(cohort_delegated_new_named("sanl"));
    wrong += count_under(cohort_delegated_new_named("sanl/1000/10us"));
    wrong += count_under(cohort_delegated_new_named("sanl-flat"));
    wrong += count_under(cohort_delegated_new_named("sanl-distance-first"));
    wrong += count_under(cohort_delegated_new_named("cc-synch"));
    errno = 0;
    wrong += cohort_delegated_new_named("mcs") != NULL || errno != EINVAL;
    printf("sections: %ld\n", total);
    return wrong != 0;
}
