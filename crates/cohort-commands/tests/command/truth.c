/* Programs that time their own lock, `truth`, and print nanoseconds: the mean wait, the mean hold, and the share of
   acquisitions that waited for longer than a microsecond, or of `tries` that found the lock held.

   truth bank|sleepers|tries|tight|herd|readers|spike */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 24, HERD = 24 };

static pthread_mutex_t truth = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int is_called;
static double calls_at;

/* What one thread took. */
struct sums {
    double waited, held;
    long taken, slow;
};

static struct sums sums[MOST];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void rest(long microseconds)
{
    struct timespec time = { 0, microseconds * 1000 };
    nanosleep(&time, NULL);
}

static void took(struct sums *sum, double came, double got, double left)
{
    sum->waited += got - came;
    sum->held += left - got;
    sum->slow += got - came > 1000;
    sum->taken++;
}

/* Holds the lock for so long, so many times, and rests in between. */
static void turns(struct sums *sum, int number, long hold, long pause)
{
    while (number-- > 0) {
        double came = now();
        pthread_mutex_lock(&truth);
        double got = now();
        if (hold > 0)
            rest(hold);
        double left = now();
        pthread_mutex_unlock(&truth);
        took(sum, came, got, left);
        rest(pause);
    }
}

static void *bank(void *argument)
{
    struct sums *sum = argument;
    if (sum == sums)
        turns(sum, 30, 3000, 700);
    else
        turns(sum, 300, 0, 100);
    return NULL;
}

static void *sleepers(void *argument)
{
    struct sums *sum = argument;
    turns(sum, 300, sum == sums ? 1000 : 1, 50);
    return NULL;
}

/* The same, and counts by a try whether the lock was held. */
static void *tries(void *argument)
{
    struct sums *sum = argument;
    for (int turn = 0; turn < 300; turn++) {
        if (pthread_mutex_trylock(&truth) != 0) {
            sum->slow++;
            pthread_mutex_lock(&truth);
        }
        rest(sum == sums ? 1000 : 1);
        pthread_mutex_unlock(&truth);
        sum->taken++;
        rest(50);
    }
    return NULL;
}

static void *tight(void *argument)
{
    static volatile long count;
    struct sums *sum = argument;
    const long all = 5000000;
    double began = now();
    for (long turn = 0; turn < all; turn++) {
        pthread_mutex_lock(&truth);
        count++;
        pthread_mutex_unlock(&truth);
    }
    /* A turn is more than a wait or a hold, and all that is known. */
    sum->waited = sum->held = now() - began;
    sum->taken = all;
    return NULL;
}

static void *herd(void *argument)
{
    struct sums *sum = argument;
    double came = now();
    pthread_mutex_lock(&truth);
    double got = now();
    while (!is_called) {
        took(sum, came, got, now());
        pthread_cond_wait(&called, &truth);
        got = now();
        came = calls_at;
    }
    rest(2000);
    double left = now();
    pthread_mutex_unlock(&truth);
    took(sum, came, got, left);
    return NULL;
}

static void call(struct sums *sum)
{
    rest(100000);
    double came = now();
    pthread_mutex_lock(&truth);
    double got = now();
    is_called = 1;
    calls_at = now();
    pthread_cond_broadcast(&called);
    took(sum, came, got, now());
    pthread_mutex_unlock(&truth);
}

/* Another lock, under the same name. */
static void *readers(void *argument)
{
    static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
    struct sums *sum = argument;
    int writes = sum == sums;
    for (int turn = 0; turn < (writes ? 100 : 400); turn++) {
        double came = now();
        if (writes)
            pthread_rwlock_wrlock(&table);
        else
            pthread_rwlock_rdlock(&table);
        double got = now();
        rest(writes ? 1000 : 150);
        double left = now();
        pthread_rwlock_unlock(&table);
        took(sum, came, got, left);
        rest(writes ? 500 : 100);
    }
    return NULL;
}

/* One in very many holds the lock for long, at the same place; of the others half of the time is a hold. */
static void *spike(void *argument)
{
    struct sums *sum = argument;
    double began = now();
    for (long turn = 1; turn <= 2000000; turn++) {
        pthread_mutex_lock(&truth);
        if (turn % 10000 == 0) {
            double got = now();
            rest(3000);
            sum->held += now() - got;
        }
        pthread_mutex_unlock(&truth);
        sum->taken++;
    }
    sum->held += (now() - began - sum->held) / 2;
    return NULL;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void *(*run)(void *);
        int threads;
    } kinds[] = {
        { "bank", bank, 2 },   { "sleepers", sleepers, 3 }, { "tries", tries, 3 }, { "tight", tight, 1 },
        { "herd", herd, HERD }, { "readers", readers, 3 },   { "spike", spike, 1 },
    };
    for (size_t kind = 0; count == 2 && kind < sizeof kinds / sizeof *kinds; kind++) {
        if (strcmp(words[1], kinds[kind].name) != 0)
            continue;
        pthread_t threads[MOST];
        struct sums caller = { 0 };
        for (int thread = 0; thread < kinds[kind].threads; thread++)
            pthread_create(&threads[thread], NULL, kinds[kind].run, &sums[thread]);
        if (kinds[kind].run == herd)
            call(&caller);
        struct sums all = caller;
        for (int thread = 0; thread < kinds[kind].threads; thread++) {
            pthread_join(threads[thread], NULL);
            all.waited += sums[thread].waited;
            all.held += sums[thread].held;
            all.taken += sums[thread].taken;
            all.slow += sums[thread].slow;
        }
        printf("%ld %.1f %.1f %.4f\n", all.taken, all.waited / all.taken, all.held / all.taken,
               (double)all.slow / all.taken);
        return 0;
    }
    return 2;
}
