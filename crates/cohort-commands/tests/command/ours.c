// Threads that wait for ever for locks of the library for C.

#include <cohort.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

// What stands behind a mutex must not be taken for a part of it: this looks like a rwlock's.
static struct {
    cohort_mutex_t lock;
    int used;
    int size;
} pool = {COHORT_MUTEX_INIT, 2, 1};
static cohort_mutex_t plain = COHORT_MUTEX_INIT;
static cohort_rwlock_t table = COHORT_RWLOCK_INIT;
static cohort_mutex_t guard = COHORT_MUTEX_INIT;
static cohort_cond_t changed = COHORT_COND_INIT;

static void *wants_pool(void *nothing)
{
    cohort_mutex_lock(&pool.lock);
    return nothing;
}

static void *wants_plain(void *nothing)
{
    cohort_mutex_lock(&plain);
    return nothing;
}

static void *writes(void *nothing)
{
    cohort_rwlock_write(&table);
    return nothing;
}

static void *waits(void *nothing)
{
    cohort_mutex_lock(&guard);
    cohort_cond_wait(&changed, &guard);
    return nothing;
}

int main(void)
{
    cohort_mutex_lock(&pool.lock);
    cohort_mutex_lock(&plain);
    cohort_rwlock_write(&table);
    void *(*bodies[])(void *) = {wants_pool, wants_plain, writes, writes, waits};
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, bodies[i], NULL);
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    pause();
}
