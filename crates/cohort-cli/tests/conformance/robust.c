/* Robust mutexes: the owner dies, and the next one learns of it. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct kind robust_recursive = {
    PTHREAD_MUTEX_RECURSIVE, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_ROBUST,
    PTHREAD_PRIO_NONE};
static const struct kind robust_errorcheck = {
    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_ROBUST,
    PTHREAD_PRIO_NONE};
static const struct kind robust_inherit = {
    PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_ROBUST,
    PTHREAD_PRIO_INHERIT};

static void *die_holding(void *argument)
{
    OK(pthread_mutex_lock(argument));
    return NULL;
}

/* Trying is last: the C library leaves an unrecoverable mutex locked by it. */
enum way { LOCK, TIMED, CLOCK, TRY, WAYS };

static int take(pthread_mutex_t *mutex, enum way way)
{
    struct timespec real = in_ms(CLOCK_REALTIME, 20000);
    struct timespec steady = in_ms(CLOCK_MONOTONIC, 20000);
    switch (way) {
    case LOCK:
        return pthread_mutex_lock(mutex);
    case TRY:
        return pthread_mutex_trylock(mutex);
    case TIMED:
        return pthread_mutex_timedlock(mutex, &real);
    default:
        return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &steady);
    }
}

static void made_consistent(const void *kind)
{
    for (int way = LOCK; way < WAYS; way++) {
        pthread_mutex_t mutex;
        kind_init(&mutex, kind);
        join(start(die_holding, &mutex));
        GIVES(EOWNERDEAD, take(&mutex, way));
        CHECK(held_for_others(&mutex));
        OK(pthread_mutex_consistent(&mutex));
        OK(pthread_mutex_unlock(&mutex));
        CHECK(!held_for_others(&mutex));
        OK(take(&mutex, way));
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_mutex_destroy(&mutex));
    }
}

static void left_inconsistent(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    join(start(die_holding, &mutex));
    GIVES(EOWNERDEAD, pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    for (int way = LOCK; way < WAYS; way++)
        GIVES(ENOTRECOVERABLE, take(&mutex, way));
    OK(pthread_mutex_destroy(&mutex));
}

struct queue {
    pthread_mutex_t mutex;
    atomic_int waiting, told, served;
};

static void *wait_for_the_dead(void *argument)
{
    struct queue *queue = argument;
    atomic_fetch_add(&queue->waiting, 1);
    int error = pthread_mutex_lock(&queue->mutex);
    if (error == EOWNERDEAD) {
        atomic_fetch_add(&queue->told, 1);
        OK(pthread_mutex_consistent(&queue->mutex));
    } else {
        OK(error);
    }
    atomic_fetch_add(&queue->served, 1);
    OK(pthread_mutex_unlock(&queue->mutex));
    return NULL;
}

static void *die_with_waiters(void *argument)
{
    struct queue *queue = argument;
    OK(pthread_mutex_lock(&queue->mutex));
    atomic_fetch_add(&queue->waiting, 1);
    await(&queue->waiting, 5);
    settle();
    return NULL;
}

/* One waiter learns of the death, all are served. */
static void dies_with_waiters(const void *kind)
{
    struct queue queue = {0};
    kind_init(&queue.mutex, kind);
    pthread_t owner = start(die_with_waiters, &queue);
    await(&queue.waiting, 1);
    pthread_t waiters[4];
    for (int i = 0; i < 4; i++)
        waiters[i] = start(wait_for_the_dead, &queue);
    join(owner);
    for (int i = 0; i < 4; i++)
        join(waiters[i]);
    CHECK_EQ(atomic_load(&queue.told), 1);
    CHECK_EQ(atomic_load(&queue.served), 4);
    OK(pthread_mutex_destroy(&queue.mutex));
}

struct meeting {
    pthread_mutex_t mutex;
    atomic_int held;
};

static void hold_for_ever(void *argument)
{
    struct meeting *meeting = argument;
    OK(pthread_mutex_lock(&meeting->mutex));
    atomic_store(&meeting->held, 1);
    for (;;)
        pause();
}

static void process_killed(const void *kind)
{
    struct meeting *meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(meeting != MAP_FAILED);
    kind_init_shared(&meeting->mutex, kind);
    pid_t child = start_child(hold_for_ever, meeting);
    await(&meeting->held, 1);
    GIVES(EBUSY, pthread_mutex_trylock(&meeting->mutex));
    CHECK_EQ(kill(child, SIGKILL), 0);
    GIVES(EOWNERDEAD, pthread_mutex_lock(&meeting->mutex));
    OK(pthread_mutex_consistent(&meeting->mutex));
    OK(pthread_mutex_unlock(&meeting->mutex));
    CHECK(!held_for_others(&meeting->mutex));
    CHECK_EQ(waitpid(child, NULL, 0), child);
}

static void *unlock_of_another(void *argument)
{
    GIVES(EPERM, pthread_mutex_unlock(argument));
    return NULL;
}

static void misuse(const void *kind)
{
    pthread_mutex_t mutex;
    kind_init(&mutex, kind);
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    GIVES(EINVAL, pthread_mutex_consistent(&mutex));
    OK(pthread_mutex_lock(&mutex));
    join(start(unlock_of_another, &mutex));
    CHECK(held_for_others(&mutex));
    int type = ((const struct kind *)kind)->type;
    if (type == PTHREAD_MUTEX_ERRORCHECK)
        GIVES(EDEADLK, pthread_mutex_lock(&mutex));
    if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
        CHECK(held_for_others(&mutex));
    }
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

#define EACH_ROBUST(prefix, run)                                               \
    CASE_WITH(prefix "/normal", run, &kinds[ROBUST]),                          \
    CASE_WITH(prefix "/recursive", run, &robust_recursive),                    \
    CASE_WITH(prefix "/errorcheck", run, &robust_errorcheck),                  \
    CASE_WITH(prefix "/inherit", run, &robust_inherit)

CASES(EACH_ROBUST("made-consistent", made_consistent),
      EACH_ROBUST("left-inconsistent", left_inconsistent),
      EACH_ROBUST("dies-with-waiters", dies_with_waiters),
      EACH_ROBUST("process-killed", process_killed),
      EACH_ROBUST("misuse", misuse))
