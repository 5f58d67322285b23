/* Real-time threads: the thread that they wait for may need their CPU.
 *
 * All threads of a case share one CPU, and a real-time one that uses it for
 * MOST_MS without sleeping fails the case: an ordinary thread would not have run
 * until the kernel throttles the other. */
#include "support/check.h"
#include "support/clock.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOW = 1, HIGH = 20, MOST_MS = 300 };

static void stay_on_one_cpu(void)
{
    cpu_set_t allowed, one;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void burned(int signal)
{
    (void)signal;
    static const char said[] = "a real-time thread never sleeps\n";
    ssize_t ignored = write(2, said, sizeof said - 1);
    (void)ignored;
    _exit(1);
}

static void prepare(void)
{
    stay_on_one_cpu();
    struct sigaction action = {.sa_handler = burned};
    CHECK(sigaction(SIGXCPU, &action, NULL) == 0);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_RTTIME, &limit) == 0);
    limit.rlim_cur = MOST_MS * 1000;
    CHECK(setrlimit(RLIMIT_RTTIME, &limit) == 0);
}

static void become_real_time(int priority)
{
    struct sched_param parameters = {priority};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) != 0)
        skip("a real-time priority is needed");
}

struct scene {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    atomic_int held, wanted;
    atomic_bool stop;
};

/* Arrives at any moment of the holder's section, for it is preempted at any
 * moment of its own arrival. */
static void *arrive(void *argument)
{
    struct scene *scene = argument;
    unsigned random = 1;
    while (!atomic_load(&scene->stop)) {
        random = random * 1103515245 + 12345;
        for (volatile unsigned i = (random >> 16) % 3000; i > 0; i--)
            ;
        OK(pthread_mutex_lock(&scene->mutex));
        OK(pthread_mutex_unlock(&scene->mutex));
    }
    return NULL;
}

enum { TURNS = 4000, LONG_ENOUGH_MS = 1000 };

static void *hold_and_release(void *argument)
{
    struct scene *scene = argument;
    become_real_time(LOW);
    const struct timespec moment = {0, 10000};
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&scene->mutex));
        nanosleep(&moment, NULL);
        OK(pthread_mutex_unlock(&scene->mutex));
        nanosleep(&moment, NULL);
        /* Where waiters do not sleep they spin for long before they lend the CPU. */
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (ms_between(began, now) >= LONG_ENOUGH_MS)
            break;
    }
    atomic_store(&scene->stop, true);
    return NULL;
}

/* A real-time holder releases while an ordinary thread is in the middle of
 * queueing behind it. */
static void arrival_preempted(const void *with)
{
    (void)with;
    prepare();
    static struct scene scene = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t ordinary = start(arrive, &scene);
    pthread_t holder = start(hold_and_release, &scene);
    join(holder);
    join(ordinary);
}

struct lock {
    int (*take)(struct scene *scene), (*release)(struct scene *scene);
};

static int take_mutex(struct scene *scene)
{
    return pthread_mutex_lock(&scene->mutex);
}

static int release_mutex(struct scene *scene)
{
    return pthread_mutex_unlock(&scene->mutex);
}

static int take_spin(struct scene *scene)
{
    return pthread_spin_lock(&scene->spin);
}

static int release_spin(struct scene *scene)
{
    return pthread_spin_unlock(&scene->spin);
}

static int take_rwlock(struct scene *scene)
{
    return pthread_rwlock_wrlock(&scene->rwlock);
}

static int release_rwlock(struct scene *scene)
{
    return pthread_rwlock_unlock(&scene->rwlock);
}

static const struct lock mutex = {take_mutex, release_mutex},
                         rwlock = {take_rwlock, release_rwlock},
                         spin = {take_spin, release_spin};

struct wait {
    const struct lock *lock;
    struct scene *scene;
};

static void *want(void *argument)
{
    const struct wait *wait = argument;
    become_real_time(HIGH);
    await(&wait->scene->held, 1);
    atomic_store(&wait->scene->wanted, 1);
    OK(wait->lock->take(wait->scene));
    OK(wait->lock->release(wait->scene));
    return NULL;
}

/* A real-time thread waits for a lock with an ordinary holder that would go on at once,
 * if it had a CPU. */
static void holder_preempted(const void *with)
{
    prepare();
    static struct scene scene = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .rwlock = PTHREAD_RWLOCK_INITIALIZER};
    OK(pthread_spin_init(&scene.spin, PTHREAD_PROCESS_PRIVATE));
    struct wait wait = {with, &scene};
    pthread_t waiter = start(want, &wait);
    OK(wait.lock->take(&scene));
    atomic_store(&scene.held, 1);
    while (!atomic_load(&scene.wanted))
        ;
    OK(wait.lock->release(&scene));
    join(waiter);
}

static void *write_once(void *argument)
{
    struct scene *scene = argument;
    become_real_time(HIGH);
    atomic_fetch_add(&scene->wanted, 1);
    OK(pthread_rwlock_wrlock(&scene->rwlock));
    OK(pthread_rwlock_unlock(&scene->rwlock));
    return NULL;
}

/* A writer leaves, and wakes one of a higher priority before it has done with
 * the lock. */
static void writer_preempted(const void *with)
{
    (void)with;
    prepare();
    become_real_time(LOW);
    static struct scene scene = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};
    OK(pthread_rwlock_wrlock(&scene.rwlock));
    pthread_t waiter = start(write_once, &scene);
    await(&scene.wanted, 1);
    settle();
    OK(pthread_rwlock_unlock(&scene.rwlock));
    join(waiter);
}

enum { WAITERS = 3 };

static const int PRIORITIES[WAITERS] = {5, 20, 10};

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    /* The number of waiters, and the priorities in the order of their wake-ups. */
    int waiting, gone, order[WAITERS];
};

struct waiter {
    struct queue *queue;
    int priority;
};

static void *wait_in_queue(void *argument)
{
    const struct waiter *waiter = argument;
    struct queue *queue = waiter->queue;
    become_real_time(waiter->priority);
    OK(pthread_mutex_lock(&queue->mutex));
    queue->waiting++;
    /* No loop: a spurious wake-up would spoil the order, and fails the case. */
    OK(pthread_cond_wait(&queue->condition, &queue->mutex));
    queue->order[queue->gone++] = waiter->priority;
    OK(pthread_mutex_unlock(&queue->mutex));
    return NULL;
}

static bool all_wait(struct queue *queue, int so_many)
{
    OK(pthread_mutex_lock(&queue->mutex));
    bool all = queue->waiting == so_many;
    OK(pthread_mutex_unlock(&queue->mutex));
    return all;
}

/* A condition wakes the waiter of the highest priority first. */
static void by_priority(const void *with)
{
    prepare();
    become_real_time(LOW);
    static struct queue queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .condition = PTHREAD_COND_INITIALIZER};
    struct waiter waiters[WAITERS];
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = (struct waiter){&queue, PRIORITIES[i]};
        threads[i] = start(wait_in_queue, &waiters[i]);
        while (!all_wait(&queue, i + 1))
            settle();
    }
    const bool *at_once = with;
    for (int i = 0; i < (*at_once ? 1 : WAITERS); i++)
        OK(*at_once ? pthread_cond_broadcast(&queue.condition)
                    : pthread_cond_signal(&queue.condition));
    for (int i = 0; i < WAITERS; i++)
        join(threads[i]);
    CHECK(queue.order[0] == 20 && queue.order[1] == 10 && queue.order[2] == 5);
}

static const bool one_by_one = false, at_once = true;

CASES(CASE("arrival-preempted", arrival_preempted),
      CASE_WITH("holder-preempted/mutex", holder_preempted, &mutex),
      CASE_WITH("holder-preempted/rwlock", holder_preempted, &rwlock),
      {"holder-preempted/spin", holder_preempted, &spin, true},
      CASE("writer-preempted", writer_preempted),
      CASE_WITH("by-priority/signal", by_priority, &one_by_one),
      CASE_WITH("by-priority/broadcast", by_priority, &at_once))
