/* Two orders by threads that never run at once: each is joined before the next begins. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;

static void take(pthread_mutex_t *one, pthread_mutex_t *other)
{
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}

static void *forwards(void *nothing)
{
    take(&first, &second);
    return nothing;
}

static void *on(void *nothing)
{
    take(&second, &third);
    return nothing;
}

static void *around(void *nothing)
{
    take(&third, &first);
    return nothing;
}

/* Creates another thread and joins it. */
static void *through(void *body)
{
    pthread_t inner;
    pthread_create(&inner, NULL, (void *(*)(void *))body, NULL);
    pthread_join(inner, NULL);
    return NULL;
}

static void *stay(void *nothing)
{
    pause();
    return nothing;
}

/* Each lock function in turn. */
static void join(pthread_t thread)
{
    static int turn;
    const struct timespec late = { .tv_sec = 1L << 33 };
    switch (turn++ % 4) {
    case 0:
        pthread_join(thread, NULL);
        break;
    case 1:
        while (pthread_tryjoin_np(thread, NULL) == EBUSY)
            usleep(100);
        break;
    case 2:
        pthread_timedjoin_np(thread, NULL, &late);
        break;
    case 3:
        pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &late);
        break;
    }
}

static void run(void *(*body)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, through, (void *)body);
    join(thread);
}

int main(void)
{
    pthread_t other;
    /* The process always has several threads. */
    pthread_create(&other, NULL, stay, NULL);
    take(&second, &first);
    for (int i = 0; i < 200; i++) {
        run(forwards);
        take(&second, &first);
    }
    run(on);
    run(around);
    return 0;
}
