/* A forked child inherits locks, with queues of threads that it does not have. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITERS = 4, TURNS = 500 };

struct house {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    /* Plain on purpose: only the lock makes the count come out right. */
    volatile long count;
    int generation, tokens;
    atomic_int waiting, joined;
};

static void *count_turns(void *argument)
{
    struct house *house = argument;
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&house->mutex));
        long count = house->count;
        linger(i);
        house->count = count + 1;
        OK(pthread_mutex_unlock(&house->mutex));
    }
    return NULL;
}

/* New threads of this process use the mutex, and their count is exact. */
static void use_with_threads(struct house *house)
{
    long before = house->count;
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        threads[i] = start(count_turns, house);
    for (int i = 0; i < WAITERS; i++)
        join(threads[i]);
    CHECK_EQ(house->count, before + WAITERS * TURNS);
}

static void *queue_once(void *argument)
{
    struct house *house = argument;
    atomic_fetch_add(&house->waiting, 1);
    OK(pthread_mutex_lock(&house->mutex));
    atomic_fetch_add(&house->joined, 1);
    OK(pthread_mutex_unlock(&house->mutex));
    return NULL;
}

enum { GENERATIONS = 3 };

/* Forks with the mutex held and threads queued on it; the child does the same,
 * and so does its child.  Each generation serves exactly its own threads. */
static void inherit(void *argument)
{
    struct house *house = argument;
    int generation = house->generation++;
    pthread_t waiters[WAITERS];
    atomic_store(&house->waiting, 0);
    atomic_store(&house->joined, 0);
    if (generation > 0)
        use_with_threads(house);
    OK(pthread_mutex_lock(&house->mutex));
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = start(queue_once, house);
    await(&house->waiting, WAITERS);
    settle();
    pid_t child = fork_watched();
    if (child == 0) {
        CHECK_EQ(pthread_mutex_trylock(&house->mutex), EBUSY);
        OK(pthread_mutex_unlock(&house->mutex));
        OK(pthread_mutex_lock(&house->mutex));
        CHECK(held_for_others(&house->mutex));
        OK(pthread_mutex_unlock(&house->mutex));
        use_with_threads(house);
        CHECK_EQ(atomic_load(&house->joined), 0);
        if (generation + 1 < GENERATIONS)
            inherit(house);
        OK(pthread_mutex_destroy(&house->mutex));
        _exit(0);
    }
    OK(pthread_mutex_unlock(&house->mutex));
    for (int i = 0; i < WAITERS; i++)
        join(waiters[i]);
    CHECK_EQ(atomic_load(&house->joined), WAITERS);
    use_with_threads(house);
    join_child(child);
}

static void held_with_waiters(const void *kind)
{
    struct house house = {0};
    kind_init(&house.mutex, kind);
    inherit(&house);
}

/* A child's child, forked before the child touches any lock. */
static void untouched_in_between(const void *with)
{
    (void)with;
    struct house house = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    OK(pthread_mutex_lock(&house.mutex));
    pthread_t waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = start(queue_once, &house);
    await(&house.waiting, WAITERS);
    settle();
    pid_t child = fork_watched();
    if (child == 0) {
        pid_t grandchild = fork_watched();
        if (grandchild != 0) {
            join_child(grandchild);
            _exit(0);
        }
        OK(pthread_mutex_unlock(&house.mutex));
        use_with_threads(&house);
        _exit(0);
    }
    OK(pthread_mutex_unlock(&house.mutex));
    for (int i = 0; i < WAITERS; i++)
        join(waiters[i]);
    join_child(child);
}

static void *wait_for_token(void *argument)
{
    struct house *house = argument;
    OK(pthread_mutex_lock(&house->mutex));
    atomic_fetch_add(&house->waiting, 1);
    while (house->tokens == 0)
        OK(pthread_cond_wait(&house->cond, &house->mutex));
    house->tokens--;
    OK(pthread_mutex_unlock(&house->mutex));
    return NULL;
}

static void pass_tokens(struct house *house)
{
    atomic_store(&house->waiting, 0);
    pthread_t waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = start(wait_for_token, house);
    await(&house->waiting, WAITERS);
    for (int i = 0; i < WAITERS; i++) {
        OK(pthread_mutex_lock(&house->mutex));
        house->tokens++;
        OK(pthread_cond_signal(&house->cond));
        OK(pthread_mutex_unlock(&house->mutex));
    }
    for (int i = 0; i < WAITERS; i++)
        join(waiters[i]);
    CHECK_EQ(house->tokens, 0);
}

/* Waiters that the child does not have swallow none of its signals. */
static void cond_with_waiters(const void *with)
{
    (void)with;
    struct house house = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .cond = PTHREAD_COND_INITIALIZER};
    pthread_t waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = start(wait_for_token, &house);
    await(&house.waiting, WAITERS);
    settle();
    OK(pthread_mutex_lock(&house.mutex));
    pid_t child = fork_watched();
    if (child == 0) {
        OK(pthread_mutex_unlock(&house.mutex));
        pass_tokens(&house);
        OK(pthread_cond_broadcast(&house.cond));
        pass_tokens(&house);
        OK(pthread_cond_destroy(&house.cond));
        _exit(0);
    }
    house.tokens = WAITERS;
    OK(pthread_cond_broadcast(&house.cond));
    OK(pthread_mutex_unlock(&house.mutex));
    for (int i = 0; i < WAITERS; i++)
        join(waiters[i]);
    join_child(child);
}

static void *write_once(void *argument)
{
    struct house *house = argument;
    atomic_fetch_add(&house->waiting, 1);
    OK(pthread_rwlock_wrlock(&house->rwlock));
    atomic_fetch_add(&house->joined, 1);
    OK(pthread_rwlock_unlock(&house->rwlock));
    return NULL;
}

static void *write_and_read(void *argument)
{
    struct house *house = argument;
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_rwlock_wrlock(&house->rwlock));
        house->count = house->count + 1;
        OK(pthread_rwlock_unlock(&house->rwlock));
        OK(pthread_rwlock_rdlock(&house->rwlock));
        OK(pthread_rwlock_unlock(&house->rwlock));
    }
    return NULL;
}

static void rwlock_with_waiters(const void *write)
{
    struct house house = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};
    OK(write ? pthread_rwlock_wrlock(&house.rwlock)
             : pthread_rwlock_rdlock(&house.rwlock));
    pthread_t waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = start(write_once, &house);
    await(&house.waiting, WAITERS);
    settle();
    pid_t child = fork_watched();
    if (child == 0) {
        GIVES(EBUSY, pthread_rwlock_trywrlock(&house.rwlock));
        OK(pthread_rwlock_unlock(&house.rwlock));
        /* The parent's waiters refuse no try. */
        OK(pthread_rwlock_tryrdlock(&house.rwlock));
        OK(pthread_rwlock_unlock(&house.rwlock));
        OK(pthread_rwlock_trywrlock(&house.rwlock));
        OK(pthread_rwlock_unlock(&house.rwlock));
        pthread_t threads[WAITERS];
        for (int i = 0; i < WAITERS; i++)
            threads[i] = start(write_and_read, &house);
        for (int i = 0; i < WAITERS; i++)
            join(threads[i]);
        CHECK_EQ(house.count, WAITERS * TURNS);
        CHECK_EQ(atomic_load(&house.joined), 0);
        OK(pthread_rwlock_destroy(&house.rwlock));
        _exit(0);
    }
    OK(pthread_rwlock_unlock(&house.rwlock));
    for (int i = 0; i < WAITERS; i++)
        join(waiters[i]);
    CHECK_EQ(atomic_load(&house.joined), WAITERS);
    join_child(child);
}

static void *read_on(void *argument)
{
    struct house *house = argument;
    while (atomic_load(&house->joined) == 0) {
        OK(pthread_rwlock_rdlock(&house->rwlock));
        OK(pthread_rwlock_unlock(&house->rwlock));
    }
    return NULL;
}

/* A child has threads before it releases what it inherited: no reader of the
 * parent, about to wait for the lock, keeps them out. */
static void rwlock_beside_threads(const void *with)
{
    (void)with;
    struct house house = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};
    pthread_t readers[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        readers[i] = start(read_on, &house);
    for (int i = 0; i < 200; i++) {
        OK(pthread_rwlock_wrlock(&house.rwlock));
        pid_t child = fork_watched();
        if (child == 0) {
            pthread_t threads[2];
            for (int j = 0; j < 2; j++)
                threads[j] = start(write_and_read, &house);
            sched_yield();
            OK(pthread_rwlock_unlock(&house.rwlock));
            for (int j = 0; j < 2; j++)
                join(threads[j]);
            CHECK_EQ(house.count, 2 * TURNS);
            OK(pthread_rwlock_trywrlock(&house.rwlock));
            _exit(0);
        }
        OK(pthread_rwlock_unlock(&house.rwlock));
        join_child(child);
        progress();
    }
    atomic_store(&house.joined, 1);
    for (int i = 0; i < WAITERS; i++)
        join(readers[i]);
}

static struct house guarded = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                               .cond = PTHREAD_COND_INITIALIZER,
                               .rwlock = PTHREAD_RWLOCK_INITIALIZER};
static atomic_bool stop;

static void take_all(void)
{
    OK(pthread_mutex_lock(&guarded.mutex));
    OK(pthread_rwlock_wrlock(&guarded.rwlock));
}

static void give_all(void)
{
    OK(pthread_rwlock_unlock(&guarded.rwlock));
    OK(pthread_mutex_unlock(&guarded.mutex));
}

static void renew_all(void)
{
    OK(pthread_rwlock_init(&guarded.rwlock, NULL));
    OK(pthread_mutex_unlock(&guarded.mutex));
}

static void *hammer(void *argument)
{
    (void)argument;
    while (!atomic_load(&stop)) {
        OK(pthread_mutex_lock(&guarded.mutex));
        guarded.count = guarded.count + 1;
        OK(pthread_mutex_unlock(&guarded.mutex));
        OK(pthread_rwlock_rdlock(&guarded.rwlock));
        OK(pthread_rwlock_unlock(&guarded.rwlock));
        /* Not to see how fair the lock is: some locks promise little of it. */
        sched_yield();
    }
    return NULL;
}

static void use_guarded(void *argument)
{
    (void)argument;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = start(count_turns, &guarded);
    OK(pthread_mutex_lock(&guarded.mutex));
    OK(pthread_mutex_unlock(&guarded.mutex));
    for (int i = 0; i < 2; i++)
        join(threads[i]);
    OK(pthread_rwlock_wrlock(&guarded.rwlock));
    OK(pthread_rwlock_unlock(&guarded.rwlock));
}

/* The usual discipline of a library that must survive a fork: its locks are
 * taken before and released after on both sides, while other threads hammer. */
static void hammered(const void *with)
{
    (void)with;
    OK(pthread_atfork(take_all, give_all, renew_all));
    pthread_t hammers[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        hammers[i] = start(hammer, NULL);
    for (int i = 0; i < 200; i++) {
        join_child(start_child(use_guarded, NULL));
        progress();
    }
    atomic_store(&stop, true);
    for (int i = 0; i < WAITERS; i++)
        join(hammers[i]);
    use_guarded(NULL);
}

static void *fork_often(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20; i++)
        join_child(start_child(use_guarded, NULL));
    return NULL;
}

static void fork_from_threads(void *argument)
{
    (void)argument;
    pthread_t forkers[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        forkers[i] = start(fork_often, NULL);
    for (int i = 0; i < WAITERS; i++)
        join(forkers[i]);
}

/* Several threads of a child, itself forked from a busy parent, fork too. */
static void from_many_threaded_child(const void *with)
{
    (void)with;
    OK(pthread_atfork(take_all, give_all, renew_all));
    pthread_t hammers[2];
    for (int i = 0; i < 2; i++)
        hammers[i] = start(hammer, NULL);
    join_child(start_child(fork_from_threads, NULL));
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        join(hammers[i]);
}

static char *const program[] = {"true", NULL}, *const environment[] = {NULL};

static pid_t spawn(void)
{
    pid_t child;
    OK(posix_spawn(&child, "/bin/true", NULL, NULL, program, environment));
    return child;
}

static pid_t spawn_by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execve("/bin/true", program, environment);
        _exit(9);
    }
    CHECK(child > 0);
    return child;
}

/* Children that share our memory until they become another program. */
static void spawned(const void *with)
{
    (void)with;
    struct house house = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < 20; i++) {
        atomic_store(&house.waiting, 0);
        OK(pthread_mutex_lock(&house.mutex));
        pthread_t waiters[2];
        for (int j = 0; j < 2; j++)
            waiters[j] = start(queue_once, &house);
        await(&house.waiting, 2);
        join_child(i % 2 ? spawn() : spawn_by_vfork());
        CHECK(held_for_others(&house.mutex));
        OK(pthread_mutex_unlock(&house.mutex));
        for (int j = 0; j < 2; j++)
            join(waiters[j]);
    }
    use_with_threads(&house);
}

/* From here on, and in what this process becomes, every advice about memory is
 * answered with success and followed by none, as some emulators do. */
static void ignore_advice(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog all = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        skip("this kernel filters no system calls");
}

/* A page that is to be wiped in a forked child, and is not. */
static void advice_ignored(const void *with)
{
    (void)with;
    static const char mark[] = "COHORT_TEST_ADVICE_IGNORED";
    if (getenv(mark) == NULL) {
        ignore_advice();
        CHECK(setenv(mark, "1", 1) == 0);
        execl("/proc/self/exe", "fork", "advice-ignored", (char *)NULL);
        CHECK(!"executed itself");
    }
    held_with_waiters(&kinds[NORMAL]);
}

static const int write_held = 1;

CASES(CASE_WITH("held-with-waiters/normal", held_with_waiters, &kinds[NORMAL]),
      CASE_WITH("held-with-waiters/adaptive", held_with_waiters,
                &kinds[ADAPTIVE]),
      CASE("untouched-in-between", untouched_in_between),
      CASE("advice-ignored", advice_ignored),
      BEYOND("cond-with-waiters", cond_with_waiters),
      BEYOND("rwlock-read-with-waiters", rwlock_with_waiters),
      {"rwlock-written-with-waiters", rwlock_with_waiters, &write_held, true},
      BEYOND("rwlock-written-beside-threads", rwlock_beside_threads),
      CASE("hammered", hammered),
      CASE("from-many-threaded-child", from_many_threaded_child),
      CASE("spawned", spawned))
