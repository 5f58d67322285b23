/* Threads that lock in a known pattern: pattern THREADS ROUNDS INSIDE OUTSIDE [fork|abort|queue]. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long rounds, inside, outside, items;
static int is_queue;

static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000L + at.tv_nsec;
}

static void spin(long nanoseconds)
{
    long end = now() + nanoseconds;
    while (now() < end) {
    }
}

static void *work(void *argument)
{
    (void)argument;
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&hot);
        spin(inside);
        if (round % 100 == 0) {
            pthread_mutex_lock(&inner);
            pthread_mutex_unlock(&inner);
        }
        pthread_mutex_unlock(&hot);
        spin(outside);
    }
    return NULL;
}

static void *consume(void *argument)
{
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&hot);
        while (items == 0)
            pthread_cond_wait(&filled, &hot);
        items--;
        pthread_mutex_unlock(&hot);
        spin(inside);
    }
    return argument;
}

static void *produce(void *argument)
{
    for (long round = 0; round < rounds; round++) {
        spin(outside);
        pthread_mutex_lock(&hot);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&hot);
    }
    return argument;
}

int main(int count, char **words)
{
    pthread_t threads[64];
    const char *then = count > 5 ? words[5] : "";
    if (count < 5)
        return 2;
    long wanted = atol(words[1]);
    rounds = atol(words[2]);
    inside = atol(words[3]);
    outside = atol(words[4]);
    is_queue = strcmp(then, "queue") == 0;
    pthread_mutex_init(&inner, NULL);
    for (long place = 0; place < wanted; place++) {
        void *(*routine)(void *) = is_queue ? (place % 2 ? produce : consume) : work;
        pthread_create(&threads[place], NULL, routine, NULL);
    }
    for (long place = 0; place < wanted; place++)
        pthread_join(threads[place], NULL);
    if (strcmp(then, "fork") == 0) {
        if (fork() == 0) {
            work(NULL);
            _exit(0);
        }
        wait(NULL);
    }
    if (strcmp(then, "abort") == 0)
        abort();
    return 3;
}
