/* Threads wait until another thread cancels their waits. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static cohort_mutex_t mutex = COHORT_MUTEX_INIT;
static cohort_mutex_t other = COHORT_MUTEX_INIT;
static cohort_rwlock_t rwlock = COHORT_RWLOCK_INIT;
static cohort_cond_t never = COHORT_COND_INIT;
static cohort_token_t stop = COHORT_TOKEN_INIT;
static cohort_lock_t *lock;

static void *for_mutex(void *result)
{
    *(int *)result = cohort_mutex_lock_unless(&mutex, &stop);
    return NULL;
}

static void *for_reading(void *result)
{
    *(int *)result = cohort_rwlock_read_unless(&rwlock, &stop);
    return NULL;
}

static void *for_writing(void *result)
{
    *(int *)result = cohort_rwlock_write_unless(&rwlock, &stop);
    return NULL;
}

static void *for_named(void *result)
{
    *(int *)result = cohort_lock_acquire_unless(lock, &stop);
    return NULL;
}

static void *for_address(void *result)
{
    *(int *)result = cohort_gls_lock_unless(&never, &stop);
    return NULL;
}

static void *for_signal(void *result)
{
    int error;

    cohort_mutex_lock(&other);
    do
        error = cohort_cond_wait_unless(&never, &other, &stop);
    while (error == 0);
    /* The mutex is locked again. */
    cohort_mutex_unlock(&other);
    *(int *)result = error;
    return NULL;
}

/* Its waiters give up, and its mistakes are refused: beyond clang's analysis. */
COHORT_ANNOTATION(no_thread_safety_analysis)
int main(void)
{
    void *(*const waits[])(void *) = {for_mutex, for_reading, for_writing, for_named, for_address,
                                    for_signal};
    enum { COUNT = sizeof waits / sizeof *waits };
    pthread_t threads[COUNT];
    int results[COUNT];

    lock = cohort_lock_new("hmcs-t-2");
    if (lock == NULL)
        return 1;
    cohort_mutex_lock(&mutex);
    cohort_rwlock_write(&rwlock);
    cohort_lock_acquire(lock);
    cohort_gls_lock(&never);
    const struct timespec past = {0, 0};
    if (cohort_gls_lock_try(&never) != EBUSY ||
        cohort_gls_lock_for(&never, 1000000) != ETIMEDOUT ||
        cohort_gls_lock_until(&never, CLOCK_MONOTONIC, &past) != ETIMEDOUT)
        return 1;
    for (int i = 0; i < COUNT; i++)
        pthread_create(&threads[i], NULL, waits[i], &results[i]);
    /* Present and later waiters give up. */
    cohort_token_cancel(&stop);
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        if (results[i] != ECANCELED)
            return 1;
    }
    cohort_mutex_unlock(&mutex);
    cohort_rwlock_unlock(&rwlock);
    cohort_lock_release(lock);
    cohort_lock_free(lock);
    cohort_gls_unlock(&never);
    if (cohort_gls_lock_for(&never, 0) != 0 || cohort_gls_unlock(&never) != 0)
        return 1;

    /* A free lock is acquired nevertheless. */
    if (!cohort_token_is_cancelled(&stop) || cohort_mutex_lock_unless(&mutex, &stop) != 0)
        return 1;
    cohort_mutex_unlock(&mutex);
    if (cohort_token_init(&stop) != 0 || cohort_token_is_cancelled(&stop) ||
        cohort_token_cancel(NULL) != EINVAL || cohort_mutex_lock_unless(&mutex, NULL) != EINVAL)
        return 1;
    printf("cancel: %d waits ended\n", COUNT);
    return 0;
}
