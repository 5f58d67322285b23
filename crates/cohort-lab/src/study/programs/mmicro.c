/* Threads allocate a block of 64 bytes, write its first four words and free it, with a pause after each of
 * the two calls (Dice et al. 2015, section 5.2).
 *
 *     mmicro THREADS PAIRS NANOSECONDS OF PAUSE
 *
 * All threads together make PAIRS pairs of calls; each block's words are checked before it is freed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIZE = 64, WORDS = 4, MOST_THREADS = 256 };

static int64_t pause_ns;

struct worker {
    pthread_t thread;
    long pairs, wrong;
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void compute(void)
{
    if (pause_ns > 0)
        for (int64_t end = now() + pause_ns; now() < end;)
            ;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    for (long done = 0; done < self->pairs; done++) {
        volatile uint64_t *block = malloc(SIZE);
        if (block == NULL)
            abort();
        for (int at = 0; at < WORDS; at++)
            block[at] = (uint64_t)(uintptr_t)self + at;
        compute();
        for (int at = 0; at < WORDS; at++)
            self->wrong += block[at] != (uint64_t)(uintptr_t)self + at;
        free((void *)block);
        compute();
    }
    return NULL;
}

int main(int count, char **words)
{
    static struct worker workers[MOST_THREADS];
    int threads = count == 4 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: mmicro THREADS PAIRS NANOSECONDS, 1 to %d threads\n", MOST_THREADS);
        return 2;
    }
    pause_ns = atoll(words[3]);
    int64_t began = now();
    long wrong = 0, pairs = 0;
    for (int at = 0; at < threads; at++) {
        workers[at].pairs = atol(words[2]) / threads;
        if (pthread_create(&workers[at].thread, NULL, work, &workers[at]) != 0)
            abort();
    }
    for (int at = 0; at < threads; at++) {
        pthread_join(workers[at].thread, NULL);
        wrong += workers[at].wrong;
        pairs += workers[at].pairs;
    }
    printf("seconds: %.6f\n%ld pairs, %ld wrong\n", (double)(now() - began) / 1e9, pairs, wrong);
    return wrong != 0;
}
