/* Objects that several processes share. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <sys/mman.h>
#include <unistd.h>

enum { CHILDREN = 4, TURNS = 2000 };

struct yard {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    /* Plain on purpose: only the lock makes the count come out right. */
    volatile long count;
    atomic_int inside, ready;
    int tokens, waiting;
};

static struct yard *make_yard(const struct kind *kind)
{
    struct yard *yard = mmap(NULL, sizeof *yard, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(yard != MAP_FAILED);
    kind_init_shared(&yard->mutex, kind);

    pthread_condattr_t cond;
    OK(pthread_condattr_init(&cond));
    OK(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_setclock(&cond, CLOCK_MONOTONIC));
    OK(pthread_cond_init(&yard->cond, &cond));

    pthread_rwlockattr_t rwlock;
    OK(pthread_rwlockattr_init(&rwlock));
    OK(pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlock_init(&yard->rwlock, &rwlock));
    OK(pthread_spin_init(&yard->spin, PTHREAD_PROCESS_SHARED));
    return yard;
}

static void by_children(struct yard *yard, void (*run)(void *))
{
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++)
        children[i] = start_child(run, yard);
    for (int i = 0; i < CHILDREN; i++)
        join_child(children[i]);
}

static void visit(struct yard *yard)
{
    CHECK_EQ(atomic_fetch_add(&yard->inside, 1), 0);
    long count = yard->count;
    linger((int)count);
    yard->count = count + 1;
    CHECK_EQ(atomic_fetch_sub(&yard->inside, 1), 1);
}

static void count_by_mutex(void *argument)
{
    struct yard *yard = argument;
    gather(&yard->ready, CHILDREN);
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&yard->mutex));
        visit(yard);
        OK(pthread_mutex_unlock(&yard->mutex));
    }
}

static void mutex(const void *kind)
{
    struct yard *yard = make_yard(kind);
    by_children(yard, count_by_mutex);
    CHECK_EQ(yard->count, CHILDREN * TURNS);
}

static void count_by_spin(void *argument)
{
    struct yard *yard = argument;
    gather(&yard->ready, CHILDREN);
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_spin_lock(&yard->spin));
        visit(yard);
        OK(pthread_spin_unlock(&yard->spin));
    }
}

static void spin(const void *with)
{
    (void)with;
    struct yard *yard = make_yard(&kinds[NORMAL]);
    by_children(yard, count_by_spin);
    CHECK_EQ(yard->count, CHILDREN * TURNS);
}

static void count_by_rwlock(void *argument)
{
    struct yard *yard = argument;
    gather(&yard->ready, CHILDREN);
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_rwlock_wrlock(&yard->rwlock));
        visit(yard);
        OK(pthread_rwlock_unlock(&yard->rwlock));
        OK(pthread_rwlock_rdlock(&yard->rwlock));
        CHECK_EQ(atomic_load(&yard->inside), 0);
        OK(pthread_rwlock_unlock(&yard->rwlock));
    }
}

static void rwlock_writers(const void *with)
{
    (void)with;
    struct yard *yard = make_yard(&kinds[NORMAL]);
    by_children(yard, count_by_rwlock);
    CHECK_EQ(yard->count, CHILDREN * TURNS);
}

static void read_together(void *argument)
{
    struct yard *yard = argument;
    OK(pthread_rwlock_rdlock(&yard->rwlock));
    atomic_fetch_add(&yard->ready, 1);
    await(&yard->ready, CHILDREN);
    GIVES(EBUSY, pthread_rwlock_trywrlock(&yard->rwlock));
    atomic_fetch_add(&yard->ready, 1);
    await(&yard->ready, 2 * CHILDREN);
    OK(pthread_rwlock_unlock(&yard->rwlock));
}

/* Readers of different processes are inside at the same time. */
static void rwlock_readers(const void *with)
{
    (void)with;
    struct yard *yard = make_yard(&kinds[NORMAL]);
    by_children(yard, read_together);
    OK(pthread_rwlock_trywrlock(&yard->rwlock));
    OK(pthread_rwlock_unlock(&yard->rwlock));
}

static void take_token(void *argument)
{
    struct yard *yard = argument;
    OK(pthread_mutex_lock(&yard->mutex));
    yard->waiting++;
    while (yard->tokens == 0)
        OK(pthread_cond_wait(&yard->cond, &yard->mutex));
    yard->tokens--;
    yard->waiting--;
    OK(pthread_mutex_unlock(&yard->mutex));
}

static void cond(const void *kind)
{
    struct yard *yard = make_yard(kind);
    for (int round = 0; round < 4; round++) {
        pid_t children[CHILDREN];
        for (int i = 0; i < CHILDREN; i++)
            children[i] = start_child(take_token, yard);
        for (int inside = 0; inside < CHILDREN;) {
            OK(pthread_mutex_lock(&yard->mutex));
            inside = yard->waiting;
            if (inside == CHILDREN)
                yard->tokens = round % 2 ? 1 : CHILDREN;
            OK(pthread_mutex_unlock(&yard->mutex));
            rest_ms(1);
        }
        if (round % 2 == 0) {
            OK(pthread_cond_broadcast(&yard->cond));
        } else {
            OK(pthread_cond_signal(&yard->cond));
            for (int more = 1; more < CHILDREN; more++) {
                OK(pthread_mutex_lock(&yard->mutex));
                yard->tokens++;
                OK(pthread_cond_signal(&yard->cond));
                OK(pthread_mutex_unlock(&yard->mutex));
            }
        }
        for (int i = 0; i < CHILDREN; i++)
            join_child(children[i]);
        CHECK_EQ(yard->tokens, 0);
    }
    OK(pthread_mutex_lock(&yard->mutex));
    struct timespec deadline = in_ms(CLOCK_MONOTONIC, 20);
    int error;
    while ((error = pthread_cond_timedwait(&yard->cond, &yard->mutex,
                                           &deadline)) == 0)
        ;
    GIVES(ETIMEDOUT, error);
    check_punctual(CLOCK_MONOTONIC, deadline);
    OK(pthread_mutex_unlock(&yard->mutex));
}

/* The same object mapped at two addresses is one object. */
static void two_addresses(const void *with)
{
    (void)with;
    int file = memfd_create("shared", MFD_CLOEXEC);
    CHECK(file >= 0);
    CHECK_EQ(ftruncate(file, 4096), 0);
    pthread_mutex_t *here =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_mutex_t *there =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(here != MAP_FAILED && there != MAP_FAILED && here != there);
    kind_init_shared(here, &kinds[NORMAL]);
    OK(pthread_mutex_lock(here));
    GIVES(EBUSY, pthread_mutex_trylock(there));
    OK(pthread_mutex_unlock(there));
    CHECK(!held_for_others(here));
}

CASES(EACH_KIND("mutex", mutex), EACH_KIND("cond", cond), CASE("spin", spin),
      CASE("rwlock-writers", rwlock_writers),
      CASE("rwlock-readers", rwlock_readers),
      CASE("two-addresses", two_addresses))
