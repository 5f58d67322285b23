/* An embedded store behind one mutex, as Antić et al. 2016 (section 5.2) use HamsterDB:
 * a tree of sorted pages, asked by several threads.
 *
 *     store THREADS OPERATIONS READS
 *
 * READS per cent of the operations look a key up, the others add one to its value.  At the end the sum of
 * all values must be the number of additions.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEYS = 20000, PAGE = 64, PAGES = 2 * KEYS / PAGE + 2, MOST_THREADS = 256 };

struct entry {
    uint32_t key;
    uint32_t value;
};

struct page {
    int count;
    struct entry entries[PAGE];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The pages in the order of their first keys. */
static struct page *pages[PAGES];
static int used;

struct worker {
    pthread_t thread;
    uint64_t state;
    long operations, additions, reads_found;
    int reads;
};

static uint32_t drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* The last page with a first key of at most `key`. */
static int page_of(uint32_t key)
{
    int low = 0, high = used - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (pages[middle]->entries[0].key <= key)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The place of the first entry with a key of at least `key`. */
static int place_in(const struct page *page, uint32_t key)
{
    int low = 0, high = page->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (page->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct entry *found(uint32_t key)
{
    struct page *page = pages[page_of(key)];
    int at = place_in(page, key);
    return at < page->count && page->entries[at].key == key ? &page->entries[at] : NULL;
}

/* Halves a full page. */
static void split(int at)
{
    if (used == PAGES)
        abort();
    struct page *left = pages[at], *right = calloc(1, sizeof *right);
    if (right == NULL)
        abort();
    right->count = left->count / 2;
    left->count -= right->count;
    memcpy(right->entries, left->entries + left->count, right->count * sizeof *right->entries);
    memmove(pages + at + 2, pages + at + 1, (used - at - 1) * sizeof *pages);
    pages[at + 1] = right;
    used++;
}

static void add(uint32_t key)
{
    struct entry *entry = found(key);
    if (entry != NULL) {
        entry->value++;
        return;
    }
    int at = page_of(key);
    if (pages[at]->count == PAGE) {
        split(at);
        at = page_of(key);
    }
    struct page *page = pages[at];
    int place = place_in(page, key);
    memmove(page->entries + place + 1, page->entries + place, (page->count - place) * sizeof *page->entries);
    page->entries[place] = (struct entry){key, 1};
    page->count++;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    for (long done = 0; done < self->operations; done++) {
        uint32_t key = drawn(&self->state) % KEYS;
        int reads = drawn(&self->state) % 100 < (uint32_t)self->reads;
        pthread_mutex_lock(&mutex);
        if (reads)
            self->reads_found += found(key) != NULL;
        else
            add(key);
        pthread_mutex_unlock(&mutex);
        self->additions += !reads;
    }
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    static struct worker workers[MOST_THREADS];
    int threads = count == 4 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: store THREADS OPERATIONS READS, 1 to %d threads\n", MOST_THREADS);
        return 2;
    }
    pages[used++] = calloc(1, sizeof **pages);
    if (pages[0] == NULL)
        abort();
    double began = now();
    for (int at = 0; at < threads; at++) {
        workers[at].state = (uint64_t)at + 1;
        workers[at].operations = atol(words[2]) / threads;
        workers[at].reads = atoi(words[3]);
        if (pthread_create(&workers[at].thread, NULL, work, &workers[at]) != 0)
            abort();
    }
    long additions = 0, sum = 0, operations = 0;
    for (int at = 0; at < threads; at++) {
        pthread_join(workers[at].thread, NULL);
        additions += workers[at].additions;
        operations += workers[at].operations;
    }
    double took = now() - began;
    for (int at = 0; at < used; at++)
        for (int place = 0; place < pages[at]->count; place++)
            sum += pages[at]->entries[place].value;
    printf("seconds: %.6f\n%ld operations, %ld lost\n", took, operations, additions - sum);
    return additions != sum;
}
