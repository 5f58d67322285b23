/* Mutexes of every kind that a configuration file can give locks of their own: variables, an array
 * that one place initialises, one that is never initialised, a recursive one, one with a condition.
 * Threads hold two at a time, so that records of different locks pass through one thread's hands.
 * Says which of the process's locks serves each, from 1, the process's own; and what was counted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PLACES = 5 };

pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t *table[PLACES];
static pthread_mutex_t *nobodys;
static struct { long first; pthread_mutex_t lock; } part;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn, rounds;
static long counts[6];

__attribute__((noinline)) static void open_table(int place)
{
    table[place] = malloc(sizeof *table[place]);
    pthread_mutex_init(table[place], NULL);
    __asm__ volatile("");
}

__attribute__((noinline)) static void touch(void)
{
    pthread_mutex_lock(nobodys); /* first */
    counts[2]++;
    pthread_mutex_unlock(nobodys);
}

static void *work(void *number)
{
    int me = (int)(long)number;
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_t *one = table[round % PLACES];
        pthread_mutex_lock(&stats_lock);
        pthread_mutex_lock(one);
        counts[0]++;
        pthread_mutex_unlock(&stats_lock);
        pthread_mutex_unlock(one);
        touch();
        if (pthread_mutex_trylock(&plain) != 0)
            pthread_mutex_lock(&plain);
        counts[3]++;
        pthread_mutex_unlock(&plain);
        pthread_mutex_lock(&again);
        pthread_mutex_lock(&again);
        counts[4]++;
        pthread_mutex_unlock(&again);
        pthread_mutex_unlock(&again);
        if (round % 64 == 0) {
            pthread_mutex_lock(&part.lock);
            while (turn % THREADS != me)
                pthread_cond_wait(&changed, &part.lock);
            turn++;
            counts[5]++;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&part.lock);
        }
    }
    return NULL;
}

static unsigned place(pthread_mutex_t *mutex)
{
    return ((unsigned *)mutex)[4] >> 16 & 0xff;
}

static void all(void)
{
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, work, (void *)number);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    nobodys = calloc(1, sizeof *nobodys);
    for (int number = 0; number < PLACES; number++)
        open_table(number);
    all();
    printf("stats %u table %u nobodys %u plain %u again %u part %u\n", place(&stats_lock),
           place(table[1]), place(nobodys), place(&plain), place(&again), place(&part.lock));
    long wanted = (long)THREADS * rounds, met = (rounds + 63L) / 64 * THREADS;
    int right = counts[0] == wanted && counts[2] == wanted && counts[3] == wanted
        && counts[4] == wanted && counts[5] == met;
    printf("%s\n", right ? "all are counted" : "some are lost");
    fflush(stdout);
    /* The child goes on with what its parent left held. */
    pthread_mutex_lock(&stats_lock);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_unlock(&stats_lock);
        turn = 0;
        all();
        _exit(counts[0] == 2 * wanted && counts[2] == 2 * wanted ? 0 : 1);
    }
    pthread_mutex_unlock(&stats_lock);
    int status = 0;
    waitpid(child, &status, 0);
    printf("%s\n", status == 0 ? "the child too" : "not in the child");
    for (int number = 0; number < PLACES; number++)
        right &= pthread_mutex_destroy(table[number]) == 0;
    right &= pthread_mutex_destroy(&stats_lock) == 0;
    return right && status == 0 ? 0 : 1;
}
