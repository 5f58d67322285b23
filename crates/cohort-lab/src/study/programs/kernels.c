/* Kernels of the kind that Phoenix has, on a queue of tasks behind one mutex; partial results are added
 * up behind another.
 *
 *     kernels regress|match|matrix|means|words THREADS
 *
 * A kernel does the same work for any number of threads.  Afterwards one thread repeats it without locks,
 * and the results must be equal.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256, SUMS = 64 };

/* A kernel's partial or whole result: integers, which any order of additions leaves equal. */
struct result {
    int64_t sums[SUMS];
};

struct kernel {
    const char *name;
    int tasks;
    void (*carry_out)(int task, struct result *into);
};

static uint32_t number_at(uint32_t at)
{
    at ^= at >> 16;
    at *= 0x7feb352du;
    at ^= at >> 15;
    at *= 0x846ca68bu;
    return at ^ at >> 16;
}

/* Sums of a linear regression over 64 points a task. */
static void regress(int task, struct result *into)
{
    for (int at = task * 64; at < task * 64 + 64; at++) {
        int64_t x = number_at(at) % 1000, y = 3 * x + number_at(at + 1) % 100;
        into->sums[0] += x;
        into->sums[1] += y;
        into->sums[2] += x * x;
        into->sums[3] += x * y;
    }
}

/* How often each of four keys occurs among 32 hashed words a task. */
static void match(int task, struct result *into)
{
    static const char *const keys[] = {"aaa", "bab", "cab", "dad"};
    for (int at = 0; at < 32; at++) {
        uint32_t number = number_at(task * 32 + at);
        char word[4] = {'a' + number % 4, 'a' + number / 4 % 4, 'a' + number / 16 % 4, 0};
        for (int key = 0; key < 4; key++)
            into->sums[key] += strcmp(word, keys[key]) == 0;
    }
}

/* One row of the product of two matrices of 48 columns, in the columns' sums. */
static void matrix(int task, struct result *into)
{
    for (int column = 0; column < 48; column++)
        for (int at = 0; at < 48; at++)
            into->sums[column] += (int64_t)(number_at(task * 48 + at) % 100) * (number_at(at * 48 + column) % 100);
}

/* Which of eight centres is nearest to each of 32 points a task, and the sums of its points. */
static void means(int task, struct result *into)
{
    for (int at = 0; at < 32; at++) {
        int64_t x = number_at(2 * (task * 32 + at)) % 1000, y = number_at(2 * (task * 32 + at) + 1) % 1000;
        int nearest = 0;
        int64_t least = INT64_MAX;
        for (int centre = 0; centre < 8; centre++) {
            int64_t dx = x - 125 * centre, dy = y - 120 * centre, distance = dx * dx + dy * dy;
            if (distance < least) {
                least = distance;
                nearest = centre;
            }
        }
        into->sums[3 * nearest] += 1;
        into->sums[3 * nearest + 1] += x;
        into->sums[3 * nearest + 2] += y;
    }
}

/* How often each of 64 words occurs among 64 a task. */
static void words(int task, struct result *into)
{
    for (int at = 0; at < 64; at++)
        into->sums[number_at(task * 64 + at) % SUMS]++;
}

static const struct kernel kernels[] = {
    {"regress", 500000, regress}, {"match", 250000, match}, {"matrix", 30000, matrix},
    {"means", 250000, means},     {"words", 800000, words},
};

static pthread_mutex_t at_queue = PTHREAD_MUTEX_INITIALIZER, at_result = PTHREAD_MUTEX_INITIALIZER;
static const struct kernel *kernel;
static int next_task;
static struct result whole;

static int taken(void)
{
    pthread_mutex_lock(&at_queue);
    int task = next_task < kernel->tasks ? next_task++ : -1;
    pthread_mutex_unlock(&at_queue);
    return task;
}

static void add(const struct result *part)
{
    pthread_mutex_lock(&at_result);
    for (int at = 0; at < SUMS; at++)
        whole.sums[at] += part->sums[at];
    pthread_mutex_unlock(&at_result);
}

static void *work(void *nothing)
{
    for (int task; (task = taken()) >= 0;) {
        struct result part = {{0}};
        kernel->carry_out(task, &part);
        add(&part);
    }
    return nothing;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words_given)
{
    int threads = count == 3 ? atoi(words_given[2]) : 0;
    for (size_t at = 0; count == 3 && at < sizeof kernels / sizeof *kernels; at++)
        if (strcmp(kernels[at].name, words_given[1]) == 0)
            kernel = &kernels[at];
    if (kernel == NULL || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: kernels regress|match|matrix|means|words THREADS, 1 to %d\n", MOST_THREADS);
        return 2;
    }
    pthread_t all[MOST_THREADS];
    double began = now();
    for (int at = 0; at < threads; at++)
        if (pthread_create(&all[at], NULL, work, NULL) != 0)
            abort();
    for (int at = 0; at < threads; at++)
        pthread_join(all[at], NULL);
    double took = now() - began;
    struct result alone = {{0}};
    for (int task = 0; task < kernel->tasks; task++)
        kernel->carry_out(task, &alone);
    int equal = memcmp(&alone, &whole, sizeof alone) == 0;
    printf("seconds: %.6f\n%d tasks, %s\n", took, kernel->tasks, equal ? "equal" : "DIFFERENT");
    return !equal;
}
