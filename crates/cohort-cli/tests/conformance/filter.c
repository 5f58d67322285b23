/* A process that forbids itself what it does not need: locks make no system call
 * that the C library's locks do not make. */
#include "support/check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20000, THREADS = 4, TURNS = 200 };

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Newer than the headers. */
enum { RSEQ_SLICE_YIELD = 471 };

#define KILL_FOR(call)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* Kills for what the C library's locks never do. */
static struct sock_filter instructions[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    KILL_FOR(SYS_membarrier),
    KILL_FOR(SYS_sched_yield),
    KILL_FOR(SYS_gettid),
    KILL_FOR(SYS_getpid),
    KILL_FOR(SYS_tgkill),
    KILL_FOR(SYS_openat),
    KILL_FOR(SYS_prctl),
    KILL_FOR(RSEQ_SLICE_YIELD),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static const struct sock_fprog filter = {
    .len = sizeof instructions / sizeof *instructions,
    .filter = instructions,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static volatile long count;
static int turn;

static void *quietly(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(&mutex));
        count = count + 1;
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static void *together(void *argument)
{
    int me = (int)(size_t)argument;
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&mutex));
        count = count + 1;
        while (turn != me)
            OK(pthread_cond_wait(&cond, &mutex));
        turn = (me + 1) % THREADS;
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_rwlock_wrlock(&rwlock));
        OK(pthread_rwlock_unlock(&rwlock));
        OK(pthread_rwlock_rdlock(&rwlock));
        OK(pthread_rwlock_unlock(&rwlock));
    }
    return NULL;
}

static int by_prctl(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int by_syscall(void)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

struct way {
    int (*install)(void);
};

/* The mutex has long been quiet when the filter is installed, and is contended after. */
static void is_killed_for_nothing(const void *with)
{
    const struct way *way = with;
    quietly(NULL);
    join(start(quietly, NULL));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || way->install() != 0)
        skip("this system takes no filters");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = start(together, (void *)i);
    for (int i = 0; i < THREADS; i++)
        join(threads[i]);
    CHECK_EQ(count, 2 * ROUNDS + THREADS * TURNS);
}

/* Probing for support of filters, with an invalid filter, installs none. */
static void none_is_none(const void *with)
{
    (void)with;
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL), -1);
    errno = 0;
    CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL), -1);
    CHECK(errno != 0);
    CHECK_EQ(syscall(SYS_getpid), getpid());
    quietly(NULL);
}

#define BY(name, call)                                                         \
    CASE_WITH(name, is_killed_for_nothing, (&(const struct way){call}))

/* The kernel cannot read the filter, or not all of it, and says so. */
static void bad_address(const void *with)
{
    (void)with;
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    OK(munmap(pages + page, page));
    struct sock_fprog beyond = filter;
    beyond.filter = (struct sock_filter *)(pages + page) - 1;
    const void *filters[] = {NULL, (void *)8, (void *)-8, pages + page - 8,
                             pages + page, &beyond};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        errno = 0;
        CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters[i]), -1);
        CHECK_EQ(errno, EFAULT);
        errno = 0;
        CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filters[i]),
                 -1);
        CHECK_EQ(errno, EFAULT);
    }
}

CASES(BY("prctl", by_prctl), BY("syscall", by_syscall),
      CASE("none", none_is_none), CASE("bad-address", bad_address))
