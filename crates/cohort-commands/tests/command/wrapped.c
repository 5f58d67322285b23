/* A program and, with -DLIBRARY, a library to be preloaded beside ours, which puts wrappers round functions
 * of the C library, each under a mutex of its own: what a lock calls there calls the lock again. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY
#define WRAP(type, name, parameters, ...)                                                             \
    static pthread_mutex_t mutex_of_##name = PTHREAD_MUTEX_INITIALIZER;                                \
    type name parameters                                                                               \
    {                                                                                                  \
        static type(*next) parameters;                                                                 \
        pthread_mutex_lock(&mutex_of_##name);                                                          \
        if (next == NULL)                                                                              \
            next = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                        \
        type result = next(__VA_ARGS__);                                                               \
        /* Others wait meanwhile. */                                                                   \
        sched_yield();                                                                                 \
        pthread_mutex_unlock(&mutex_of_##name);                                                        \
        return result;                                                                                 \
    }

WRAP(int, clock_gettime, (clockid_t clock, struct timespec *at), clock, at)
WRAP(int, open, (const char *path, int flags, mode_t mode), path, flags, mode)
WRAP(int, openat, (int folder, const char *path, int flags, mode_t mode), folder, path, flags, mode)
WRAP(ssize_t, read, (int file, void *to, size_t size), file, to, size)
WRAP(ssize_t, write, (int file, const void *from, size_t size), file, from, size)
WRAP(ssize_t, readlink, (const char *path, char *to, size_t size), path, to, size)
WRAP(void *, mmap, (void *at, size_t size, int may, int flags, int file, off_t from), at, size, may, flags, file,
     from)
WRAP(int, munmap, (void *at, size_t size), at, size)
WRAP(int, madvise, (void *at, size_t size, int advice), at, size, advice)
WRAP(int, sched_getaffinity, (pid_t thread, size_t size, cpu_set_t *set), thread, size, set)
WRAP(int, sched_getcpu, (void), )
WRAP(pid_t, getpid, (void), )
WRAP(pid_t, gettid, (void), )
WRAP(pthread_t, pthread_self, (void), )
WRAP(int, pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), thread, clock)
WRAP(int, pthread_setcanceltype, (int type, int *before), type, before)
WRAP(int, pthread_mutexattr_gettype, (const pthread_mutexattr_t *attributes, int *type), attributes, type)
WRAP(int, pthread_condattr_getclock, (const pthread_condattr_t *attributes, clockid_t *clock), attributes, clock)
#else
enum { THREADS = 4, ROUNDS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long count;
static int turn;

static void *work(void *argument)
{
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec++;
        if (round % 3 == 0 ? pthread_mutex_timedlock(&mutex, &soon) : pthread_mutex_lock(&mutex))
            continue;
        pthread_mutex_lock(&recursive);
        pthread_rwlock_wrlock(&rwlock);
        count++;
        if (round % 16 == 0)
            sched_yield();
        pthread_rwlock_unlock(&rwlock);
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        close(-1);
        pthread_rwlock_unlock(&rwlock);
    }
    for (int round = 0; round < ROUNDS / 10; round++) {
        pthread_mutex_lock(&mutex);
        while (turn % THREADS != me)
            pthread_cond_wait(&cond, &mutex);
        turn++;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], NULL, work, (void *)thread);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    printf("%d\n", count > THREADS * ROUNDS / 2 && turn == THREADS * ROUNDS / 10);
    return 0;
}
#endif
