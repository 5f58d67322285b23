/* A signal handler runs in the middle of every wait, and the wait goes on. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <signal.h>

enum { SIGNALS = 20 };

struct scene {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    atomic_int waiting, finished;
    bool open;
};

static atomic_int handled;

static void handle(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

static void *in_lock(void *argument)
{
    struct scene *scene = argument;
    atomic_store(&scene->waiting, 1);
    OK(pthread_mutex_lock(&scene->mutex));
    atomic_store(&scene->finished, 1);
    OK(pthread_mutex_unlock(&scene->mutex));
    return NULL;
}

static void *in_timedlock(void *argument)
{
    struct scene *scene = argument;
    struct timespec deadline = in_ms(CLOCK_REALTIME, 40000);
    atomic_store(&scene->waiting, 1);
    OK(pthread_mutex_timedlock(&scene->mutex, &deadline));
    atomic_store(&scene->finished, 1);
    OK(pthread_mutex_unlock(&scene->mutex));
    return NULL;
}

static void *in_cond_wait(void *argument)
{
    struct scene *scene = argument;
    OK(pthread_mutex_lock(&scene->mutex));
    atomic_store(&scene->waiting, 1);
    while (!scene->open)
        OK(pthread_cond_wait(&scene->cond, &scene->mutex));
    atomic_store(&scene->finished, 1);
    OK(pthread_mutex_unlock(&scene->mutex));
    return NULL;
}

static void *in_cond_timedwait(void *argument)
{
    struct scene *scene = argument;
    struct timespec deadline = in_ms(CLOCK_REALTIME, 40000);
    OK(pthread_mutex_lock(&scene->mutex));
    atomic_store(&scene->waiting, 1);
    while (!scene->open)
        OK(pthread_cond_timedwait(&scene->cond, &scene->mutex, &deadline));
    atomic_store(&scene->finished, 1);
    OK(pthread_mutex_unlock(&scene->mutex));
    return NULL;
}

static void *in_rdlock(void *argument)
{
    struct scene *scene = argument;
    atomic_store(&scene->waiting, 1);
    OK(pthread_rwlock_rdlock(&scene->rwlock));
    atomic_store(&scene->finished, 1);
    OK(pthread_rwlock_unlock(&scene->rwlock));
    return NULL;
}

static void *in_timedwrlock(void *argument)
{
    struct scene *scene = argument;
    struct timespec deadline = in_ms(CLOCK_REALTIME, 40000);
    atomic_store(&scene->waiting, 1);
    OK(pthread_rwlock_timedwrlock(&scene->rwlock, &deadline));
    atomic_store(&scene->finished, 1);
    OK(pthread_rwlock_unlock(&scene->rwlock));
    return NULL;
}

static void *in_spin_lock(void *argument)
{
    struct scene *scene = argument;
    atomic_store(&scene->waiting, 1);
    OK(pthread_spin_lock(&scene->spin));
    atomic_store(&scene->finished, 1);
    OK(pthread_spin_unlock(&scene->spin));
    return NULL;
}

struct wait {
    void *(*in)(void *);
    const struct kind *kind;
};

static void interrupt(pthread_t thread)
{
    for (int sent = 1; sent <= SIGNALS; sent++) {
        OK(pthread_kill(thread, SIGUSR1));
        await(&handled, sent);
    }
}

static void keeps_waiting(const void *with)
{
    const struct wait *wait = with;
    struct sigaction action = {.sa_handler = handle};
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    struct scene scene = {.cond = PTHREAD_COND_INITIALIZER,
                          .rwlock = PTHREAD_RWLOCK_INITIALIZER};
    kind_init(&scene.mutex, wait->kind);
    OK(pthread_spin_init(&scene.spin, PTHREAD_PROCESS_PRIVATE));
    bool on_cond = wait->in == in_cond_wait || wait->in == in_cond_timedwait;

    if (!on_cond)
        OK(pthread_mutex_lock(&scene.mutex));
    OK(pthread_rwlock_wrlock(&scene.rwlock));
    OK(pthread_spin_lock(&scene.spin));
    pthread_t waiter = start(wait->in, &scene);
    await(&scene.waiting, 1);
    settle();
    interrupt(waiter);
    settle();
    CHECK_EQ(atomic_load(&scene.finished), 0);
    OK(pthread_spin_unlock(&scene.spin));
    OK(pthread_rwlock_unlock(&scene.rwlock));
    if (on_cond)
        OK(pthread_mutex_lock(&scene.mutex));
    scene.open = true;
    OK(pthread_mutex_unlock(&scene.mutex));
    OK(pthread_cond_broadcast(&scene.cond));
    join(waiter);
    CHECK_EQ(atomic_load(&scene.finished), 1);
    CHECK_EQ(atomic_load(&handled), SIGNALS);
}

static pthread_mutex_t of_handler = PTHREAD_MUTEX_INITIALIZER;
static int turns_of_handler;

static void lock_in_handler(int signal)
{
    (void)signal;
    int saved = errno;
    OK(pthread_mutex_lock(&of_handler));
    turns_of_handler++;
    OK(pthread_mutex_unlock(&of_handler));
    errno = saved;
    atomic_fetch_add(&handled, 1);
}

/* The handler of a waiting thread takes another mutex: a second wait inside
 * the first. */
static void handler_locks(const void *with)
{
    (void)with;
    struct sigaction action = {.sa_handler = lock_in_handler};
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    struct scene scene = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    OK(pthread_mutex_lock(&scene.mutex));
    OK(pthread_mutex_lock(&of_handler));
    pthread_t waiter = start(in_lock, &scene);
    await(&scene.waiting, 1);
    settle();
    OK(pthread_kill(waiter, SIGUSR1));
    settle();
    OK(pthread_mutex_unlock(&of_handler));
    await(&handled, 1);
    for (int sent = 2; sent <= SIGNALS; sent++) {
        OK(pthread_kill(waiter, SIGUSR1));
        await(&handled, sent);
    }
    CHECK_EQ(atomic_load(&scene.finished), 0);
    OK(pthread_mutex_unlock(&scene.mutex));
    join(waiter);
    OK(pthread_mutex_lock(&of_handler));
    CHECK_EQ(turns_of_handler, SIGNALS);
    OK(pthread_mutex_unlock(&of_handler));
}

enum { NESTED = 3, PACES = 24 };

static pthread_mutex_t of_handlers[NESTED] = {PTHREAD_MUTEX_INITIALIZER,
                                              PTHREAD_MUTEX_INITIALIZER,
                                              PTHREAD_MUTEX_INITIALIZER};
static int steps, pace;

/* At every so manieth instruction.  What is taken first is given back first, so
 * that the order of whatever the thread keeps for its locks is another then. */
static void nest_in_handler(int signal)
{
    (void)signal;
    if (++steps % pace != 0)
        return;
    for (int i = 0; i < NESTED; i++)
        OK(pthread_mutex_lock(&of_handlers[i]));
    for (int i = 0; i < NESTED; i++)
        OK(pthread_mutex_unlock(&of_handlers[i]));
}

/* The processor stops after each instruction from here on, or no more. */
static void step_by_step(bool on)
{
#if defined(__x86_64__)
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
#else
    (void)on;
    skip("this processor has no single steps");
#endif
}

/* A handler takes mutexes that its thread never takes otherwise, in the middle
 * of the thread's own locking. */
static void handler_nests(const void *kind)
{
    pthread_mutex_t outer, inner;
    kind_init(&outer, kind);
    kind_init(&inner, kind);
    struct sigaction action = {.sa_handler = nest_in_handler};
    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    for (pace = 1; pace <= PACES; pace++) {
        step_by_step(true);
        int failed = pthread_mutex_lock(&outer);
        failed |= pthread_mutex_lock(&inner);
        failed |= pthread_mutex_unlock(&outer);
        failed |= pthread_mutex_unlock(&inner);
        step_by_step(false);
        OK(failed);
        CHECK(steps > 0);
    }
    CHECK(!held_for_others(&outer) && !held_for_others(&inner));
    for (int i = 0; i < NESTED; i++)
        CHECK(!held_for_others(&of_handlers[i]));
    OK(pthread_mutex_destroy(&outer));
    OK(pthread_mutex_destroy(&inner));
}

/* Locks leave errno alone: handlers and callers rely on it. */
static void errno_kept(const void *with)
{
    (void)with;
    struct scene scene = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .cond = PTHREAD_COND_INITIALIZER};
    OK(pthread_mutex_lock(&scene.mutex));
    pthread_t waiter = start(in_lock, &scene);
    await(&scene.waiting, 1);
    settle();
    errno = 12345;
    struct timespec deadline = in_ms(CLOCK_REALTIME, 5);
    GIVES(ETIMEDOUT, pthread_mutex_timedlock(&scene.mutex, &deadline));
    GIVES(EBUSY, pthread_mutex_trylock(&scene.mutex));
    GIVES(ETIMEDOUT,
          pthread_cond_timedwait(&scene.cond, &scene.mutex, &deadline));
    OK(pthread_cond_signal(&scene.cond));
    OK(pthread_mutex_unlock(&scene.mutex));
    CHECK_EQ(errno, 12345);
    join(waiter);
}

#define WAIT(name, in, kind)                                                   \
    CASE_WITH(name, keeps_waiting, (&(const struct wait){in, &kinds[kind]}))

CASES(WAIT("lock/normal", in_lock, NORMAL),
      WAIT("lock/recursive", in_lock, RECURSIVE),
      WAIT("lock/errorcheck", in_lock, ERRORCHECK),
      WAIT("lock/adaptive", in_lock, ADAPTIVE),
      WAIT("lock/shared", in_lock, SHARED), WAIT("lock/robust", in_lock, ROBUST),
      WAIT("lock/inherit", in_lock, INHERIT),
      WAIT("timedlock/normal", in_timedlock, NORMAL),
      WAIT("timedlock/robust", in_timedlock, ROBUST),
      WAIT("cond-wait/normal", in_cond_wait, NORMAL),
      WAIT("cond-wait/recursive", in_cond_wait, RECURSIVE),
      WAIT("cond-wait/inherit", in_cond_wait, INHERIT),
      WAIT("cond-timedwait/normal", in_cond_timedwait, NORMAL),
      WAIT("rdlock", in_rdlock, NORMAL), WAIT("timedwrlock", in_timedwrlock, NORMAL),
      WAIT("spin-lock", in_spin_lock, NORMAL),
      CASE("handler-locks", handler_locks),
      CASE_WITH("handler-nests/normal", handler_nests, &kinds[NORMAL]),
      CASE_WITH("handler-nests/recursive", handler_nests, &kinds[RECURSIVE]),
      CASE("errno-kept", errno_kept))
