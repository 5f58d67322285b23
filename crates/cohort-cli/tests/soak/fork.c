/* Forks beside threads that lock all the time.  The child goes on with locks that the forking thread
 * holds, so no other thread of the parent can: it unlocks them, and takes each in every way. */
#include "support/soak.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SETS = 2, LONGEST_NS = 300000, CHILD_SECONDS = 20, CHILD_THREADS = 2, CHILD_ROUNDS = 20 };

/* Locks that are all held by the forking thread. */
static struct set {
    pthread_mutex_t mutex, recursive;
    /* Held to write; the others read and write. */
    pthread_rwlock_t written;
    /* Held to read; the others only write. */
    pthread_rwlock_t read;
    pthread_cond_t changed;
    atomic_int inside[4];
} sets[SETS];
static int held;

static void init_recursive(struct set *set)
{
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutex_init(&set->recursive, &attributes));
}

static void begin(void)
{
    for (int k = 0; k < SETS; k++) {
        init_recursive(&sets[k]);
        OK(pthread_mutex_init(&sets[k].mutex, NULL));
        OK(pthread_rwlock_init(&sets[k].written, NULL));
        OK(pthread_rwlock_init(&sets[k].read, NULL));
        OK(pthread_cond_init(&sets[k].changed, NULL));
    }
}

static bool done(int error, struct dice *dice, atomic_int *inside)
{
    CHECK(error == 0 || error == EBUSY || error == ETIMEDOUT);
    if (error == 0 && inside) {
        CHECK(++*inside == 1);
        linger(dice);
        --*inside;
    } else if (error == 0) {
        linger(dice);
    }
    return error == 0;
}

static void use_mutex(pthread_mutex_t *mutex, atomic_int *inside, struct dice *dice)
{
    uint32_t way = roll(dice, 3);
    struct timespec until = in_ns(CLOCK_REALTIME, (long)roll(dice, LONGEST_NS));
    note("mutex", (int)way);
    int error = way == 0   ? pthread_mutex_lock(mutex)
                : way == 1 ? pthread_mutex_trylock(mutex)
                           : pthread_mutex_timedlock(mutex, &until);
    if (done(error, dice, inside))
        OK(pthread_mutex_unlock(mutex));
}

static void use_rwlock(pthread_rwlock_t *rwlock, atomic_int *inside, bool writes,
                       struct dice *dice)
{
    uint32_t way = roll(dice, 3);
    struct timespec until = in_ns(CLOCK_REALTIME, (long)roll(dice, LONGEST_NS));
    note(writes ? "write" : "read", (int)way);
    int error;
    if (writes)
        error = way == 0   ? pthread_rwlock_wrlock(rwlock)
                : way == 1 ? pthread_rwlock_trywrlock(rwlock)
                           : pthread_rwlock_timedwrlock(rwlock, &until);
    else
        error = way == 0   ? pthread_rwlock_rdlock(rwlock)
                : way == 1 ? pthread_rwlock_tryrdlock(rwlock)
                           : pthread_rwlock_timedrdlock(rwlock, &until);
    if (done(error, dice, writes ? inside : NULL))
        OK(pthread_rwlock_unlock(rwlock));
}

static void use(struct set *set, struct dice *dice)
{
    switch (roll(dice, 6)) {
    case 0:
        use_mutex(&set->mutex, &set->inside[0], dice);
        break;
    case 1:
        use_mutex(&set->recursive, &set->inside[1], dice);
        break;
    case 2:
    case 3:
        use_rwlock(&set->written, &set->inside[2], one_in(dice, 2), dice);
        break;
    case 4:
        use_rwlock(&set->read, &set->inside[3], true, dice);
        break;
    default: {
        struct timespec until = in_ns(CLOCK_REALTIME, (long)roll(dice, LONGEST_NS));
        OK(pthread_mutex_lock(&set->mutex));
        note("wait", 0);
        int error = pthread_cond_timedwait(&set->changed, &set->mutex, &until);
        CHECK(error == 0 || error == ETIMEDOUT);
        OK(pthread_mutex_unlock(&set->mutex));
        OK(pthread_cond_signal(&set->changed));
    }
    }
}

static void one_round(int thread, struct dice *dice)
{
    (void)thread;
    use(&sets[roll(dice, SETS)], dice);
}

static void hold(struct set *set)
{
    OK(pthread_mutex_lock(&set->mutex));
    OK(pthread_mutex_lock(&set->recursive));
    OK(pthread_rwlock_wrlock(&set->written));
    OK(pthread_rwlock_rdlock(&set->read));
    for (int i = 0; i < 4; i++)
        CHECK(set->inside[i] == 0);
}

static void let_go(struct set *set)
{
    OK(pthread_rwlock_unlock(&set->read));
    OK(pthread_rwlock_unlock(&set->written));
    OK(pthread_mutex_unlock(&set->mutex));
}

static uint64_t child_seed;

static void *in_child(void *set)
{
    struct dice dice = {child_seed ^ (uint64_t)(uintptr_t)&dice};
    for (int i = 0; i < CHILD_ROUNDS; i++)
        use(set, &dice);
    return NULL;
}

static pthread_t threads[CHILD_THREADS];

static void start_threads(struct set *set, struct dice *dice)
{
    note("child starts threads", 0);
    child_seed = ((uint64_t)roll(dice, UINT32_MAX) << 32) | 1;
    for (int i = 0; i < CHILD_THREADS; i++)
        OK(pthread_create(&threads[i], NULL, in_child, set));
}

static void join_threads(void)
{
    for (int i = 0; i < CHILD_THREADS; i++)
        OK(pthread_join(threads[i], NULL));
}

/* A lock that was given back: every way to take it works, and the first try as well. */
static void try_all(struct set *set, struct dice *dice)
{
    bool reads_first = one_in(dice, 2);
    note("child tries", 0);
    OK(pthread_mutex_trylock(&set->mutex));
    OK(pthread_mutex_unlock(&set->mutex));
    OK(pthread_mutex_trylock(&set->recursive));
    OK(pthread_mutex_unlock(&set->recursive));
    for (int i = 0; i < 2; i++) {
        pthread_rwlock_t *rwlock = i ? &set->read : &set->written;
        for (int j = 0; j < 2; j++) {
            note("child tries rwlock", i);
            if (reads_first)
                OK(pthread_rwlock_tryrdlock(rwlock));
            else
                OK(pthread_rwlock_trywrlock(rwlock));
            OK(pthread_rwlock_unlock(rwlock));
            reads_first = !reads_first;
        }
        note("child writes", i);
        OK(pthread_rwlock_wrlock(rwlock));
        OK(pthread_rwlock_unlock(rwlock));
        note("child reads", i);
        OK(pthread_rwlock_rdlock(rwlock));
        OK(pthread_rwlock_unlock(rwlock));
    }
}

/* Its threads begin when its locks are free, or wait for those that it holds. */
static void child(struct set *set, struct dice *dice)
{
    /* Its owner is a thread of the parent's. */
    init_recursive(set);
    if (one_in(dice, 2)) {
        start_threads(set, dice);
        usleep(roll(dice, 1000));
        let_go(set);
        join_threads();
        try_all(set, dice);
    } else {
        let_go(set);
        try_all(set, dice);
        start_threads(set, dice);
        in_child(set);
        join_threads();
    }
    _exit(0);
}

static void beside(struct dice *dice)
{
    held = (int)roll(dice, SETS);
    note("hold", held);
    hold(&sets[held]);
    if (one_in(dice, 2))
        usleep(roll(dice, 1000));
    struct dice of_child = {((uint64_t)roll(dice, UINT32_MAX) << 32) | 1};
    note("fork", held);
    pid_t id = fork();
    CHECK(id >= 0);
    if (id == 0) {
        watch_child(CHILD_SECONDS);
        child(&sets[held], &of_child);
    }
    note("let go", held);
    let_go(&sets[held]);
    OK(pthread_mutex_unlock(&sets[held].recursive));
    note("await the child", held);
    int status;
    while (waitpid(id, &status, 0) != id)
        CHECK(errno == EINTR);
    if (status != 0)
        wrong(__FILE__, __LINE__, "the child ended with status %#x", status);
}

static void show(void)
{
    for (int k = 0; k < SETS; k++) {
        show_words("mutex", k, &sets[k].mutex, sizeof(pthread_mutex_t));
        show_words("recursive mutex", k, &sets[k].recursive, sizeof(pthread_mutex_t));
        show_words("rwlock held to write", k, &sets[k].written, sizeof(pthread_rwlock_t));
        show_words("rwlock held to read", k, &sets[k].read, sizeof(pthread_rwlock_t));
        show_words("condition", k, &sets[k].changed, sizeof(pthread_cond_t));
    }
}

static void end(void)
{
    for (int k = 0; k < SETS; k++) {
        OK(pthread_mutex_destroy(&sets[k].mutex));
        OK(pthread_mutex_destroy(&sets[k].recursive));
        OK(pthread_rwlock_destroy(&sets[k].written));
        OK(pthread_rwlock_destroy(&sets[k].read));
        OK(pthread_cond_destroy(&sets[k].changed));
    }
}

int main(int argc, char **argv)
{
    static const struct soak soak = {begin, one_round, beside, show, end};
    return soak_main(argc, argv, &soak);
}
