/* A queue that one thread drains slowly while two fill it, to be watched by `cohort top` and
 * `cohort profile snapshot`. It runs for ten seconds, or as many as its argument says.
 *
 *   cc -g -O1 -o queue queue.c -lpthread
 *   cohort run --observe -- ./queue 60 & cohort top $!
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FILLERS = 2 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t settings = PTHREAD_RWLOCK_INITIALIZER;
static long length;
static atomic_int is_over;

static void rest(long microseconds)
{
    struct timespec time = { microseconds / 1000000, microseconds % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

static void *drain(void *nothing)
{
    pthread_setname_np(pthread_self(), "drain");
    while (!is_over) {
        pthread_mutex_lock(&queue_lock);
        length = 0;
        rest(5000);
        pthread_mutex_unlock(&queue_lock);
        rest(100);
    }
    return nothing;
}

static void *fill(void *nothing)
{
    pthread_setname_np(pthread_self(), "fill");
    while (!is_over) {
        pthread_rwlock_rdlock(&settings);
        pthread_rwlock_unlock(&settings);
        pthread_mutex_lock(&queue_lock);
        length++;
        pthread_mutex_unlock(&queue_lock);
        rest(100);
    }
    return nothing;
}

int main(int count, char **words)
{
    pthread_t threads[1 + FILLERS];
    pthread_create(&threads[0], NULL, drain, NULL);
    for (int number = 1; number <= FILLERS; number++)
        pthread_create(&threads[number], NULL, fill, NULL);
    pthread_mutex_lock(&queue_lock);
    pthread_mutex_unlock(&queue_lock);
    puts("running");
    fflush(stdout);
    rest((count > 1 ? atol(words[1]) : 10) * 1000000);
    is_over = 1;
    for (int number = 0; number <= FILLERS; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
