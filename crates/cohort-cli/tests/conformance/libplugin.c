/* A library that is opened, used and closed while the program runs. */
#include <pthread.h>

enum { TURNS = 500, MOST = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t rwlock;
static volatile int count;

static void prepare(void)
{
    pthread_rwlock_init(&rwlock, NULL);
}

static void *count_turns(void *argument)
{
    pthread_once(&once, prepare);
    for (int i = 0; i < TURNS; i++) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_mutex_lock(&mutex);
        count = count + 1;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_unlock(&rwlock);
    }
    return argument;
}

/* Counts 500 times by each of so many threads: the sum, or -1. */
int plugin_count(int threads)
{
    pthread_t running[MOST];
    if (threads > MOST)
        return -1;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&running[i], NULL, count_turns, NULL) != 0)
            return -1;
    for (int i = 0; i < threads; i++)
        if (pthread_join(running[i], NULL) != 0)
            return -1;
    return count;
}

__attribute__((constructor)) static void opened(void)
{
    pthread_mutex_lock(&mutex);
    count = 0;
    pthread_mutex_unlock(&mutex);
}

__attribute__((destructor)) static void closed(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
