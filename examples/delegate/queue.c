/* A bounded queue: sections that wait lock in place, sections that count become functions. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define ROOM 8

enum { PAIRS = 2, ITEMS = 5000 };

pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied;
static long items[ROOM], put, taken, late;

static void give(long item)
{
    pthread_mutex_lock(&guard);
    while (put - taken == ROOM)
        pthread_cond_wait(&emptied, &guard);
    items[put++ % ROOM] = item;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&guard);
}

static long take(void)
{
    struct timespec until;
    long item;

    pthread_mutex_lock(&guard);
    while (put == taken) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        if (pthread_cond_timedwait(&filled, &guard, &until) == ETIMEDOUT)
            late++;
    }
    item = items[taken++ % ROOM];
    pthread_cond_broadcast(&emptied);
    pthread_mutex_unlock(&guard);
    return item;
}

static long waiting(void)
{
    long count;

    pthread_mutex_lock(&guard);
    count = put - taken;
    pthread_mutex_unlock(&guard);
    return count;
}

static void *producer(void *argument)
{
    (void)argument;
    for (int i = 0; i < ITEMS; i++)
        give(i);
    return NULL;
}

static void *consumer(void *argument)
{
    long *sum = argument;

    for (int i = 0; i < ITEMS; i++) {
        *sum += take();
        if (waiting() > ROOM)
            return NULL;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2 * PAIRS];
    long sums[PAIRS] = { 0 }, sum = 0;

    pthread_cond_init(&emptied, NULL);
    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&threads[2 * i], NULL, producer, NULL);
        pthread_create(&threads[2 * i + 1], NULL, consumer, &sums[i]);
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PAIRS; i++)
        sum += sums[i];
    printf("queue: %ld\n", sum);
    return sum != (long)PAIRS * ITEMS * (ITEMS - 1) / 2;
}
