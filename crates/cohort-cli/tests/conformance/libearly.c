/* A library with a constructor that takes locks before the constructors of the
 * program, and of a preloaded library, have run; its destructor takes them
 * after theirs. */
#include "early.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t initialised;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static int count;

/* A failure here has no caller to be returned to. */
static void must(int error)
{
    if (error != 0) {
        static const char words[] = "libearly: a lock failed\n";
        ssize_t ignored = write(2, words, sizeof words - 1);
        (void)ignored;
        _exit(1);
    }
}

int early_count_again(void)
{
    must(pthread_mutex_lock(&normal));
    must(pthread_mutex_lock(&recursive));
    must(pthread_mutex_trylock(&recursive));
    must(pthread_mutex_lock(&initialised));
    must(pthread_rwlock_wrlock(&rwlock));
    must(pthread_spin_lock(&spin));
    must(pthread_cond_signal(&cond));
    int now = ++count;
    must(pthread_spin_unlock(&spin));
    must(pthread_rwlock_unlock(&rwlock));
    must(pthread_mutex_unlock(&initialised));
    must(pthread_mutex_unlock(&recursive));
    must(pthread_mutex_unlock(&recursive));
    must(pthread_mutex_unlock(&normal));
    return now;
}

int early_count(void)
{
    must(pthread_rwlock_rdlock(&rwlock));
    int now = count;
    must(pthread_rwlock_unlock(&rwlock));
    return now;
}

static void *count_in_thread(void *argument)
{
    early_count_again();
    return argument;
}

__attribute__((constructor)) static void begin(void)
{
    must(pthread_mutex_init(&initialised, NULL));
    must(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    early_count_again();
    pthread_t thread;
    must(pthread_create(&thread, NULL, count_in_thread, NULL));
    must(pthread_join(thread, NULL));
}

__attribute__((destructor)) static void end(void)
{
    early_count_again();
    must(pthread_mutex_destroy(&initialised));
}
