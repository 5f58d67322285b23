// Threads that wait for ever: for a recursive mutex, a plain one, a rwlock and a condition.

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t owned;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *wants_owned(void *nothing)
{
    pthread_mutex_lock(&owned);
    return nothing;
}

static void *wants_plain(void *nothing)
{
    pthread_mutex_lock(&plain);
    return nothing;
}

static void *reads(void *nothing)
{
    pthread_rwlock_rdlock(&table);
    return nothing;
}

static void *waits(void *nothing)
{
    pthread_mutex_lock(&guard);
    pthread_cond_wait(&changed, &guard);
    return nothing;
}

int main(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&owned, &recursive);
    pthread_mutex_lock(&owned);
    pthread_mutex_lock(&plain);
    pthread_rwlock_wrlock(&table);
    void *(*bodies[])(void *) = {wants_owned, wants_plain, reads, waits};
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, bodies[i], NULL);
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    pause();
}
