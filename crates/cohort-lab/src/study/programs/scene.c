/* Two programs of the kind that SPLASH-2 has, with real work.
 *
 *     scene trace THREADS        a ray tracer: tiles of 60 pictures from one queue
 *     scene radiosity THREADS    patches exchange energy: a queue of tasks for each thread, from which
 *                                others steal, and a mutex for each patch
 *
 * Integer arithmetic, so that any order of the work has one result, which a single thread confirms.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256, SIDE = 256, TILE = 4, SPHERES = 12, PATCHES = 64, SHOTS = 200000, FRAMES = 60 };

static int threads;

/* The ray tracer. */

struct sphere {
    int64_t x, y, z, radius, shade;
};

static struct sphere spheres[SPHERES];
static unsigned char pictures[FRAMES][SIDE][SIDE];
static pthread_mutex_t at_tiles = PTHREAD_MUTEX_INITIALIZER;
static int next_tile;

static void place_spheres(void)
{
    for (int at = 0; at < SPHERES; at++)
        spheres[at] = (struct sphere){at * 37 % SIDE, at * 91 % SIDE, 100 + at * 53 % 400, 12 + at * 7 % 30, 20 + at * 19};
}

static int64_t root(int64_t square)
{
    int64_t guess = 0;
    for (int64_t bit = 1 << 14; bit > 0; bit >>= 1)
        if ((guess + bit) * (guess + bit) <= square)
            guess += bit;
    return guess;
}

/* The shade of the nearest sphere that a ray parallel to the axis meets. */
static unsigned char shade(int x, int y, int frame)
{
    int64_t nearest = INT64_MAX, seen = 0;
    for (int at = 0; at < SPHERES; at++) {
        const struct sphere *one = &spheres[at];
        int64_t dx = x + frame - one->x, dy = y - one->y, inside = one->radius * one->radius - dx * dx - dy * dy;
        if (inside < 0)
            continue;
        int64_t depth = one->z - root(inside);
        if (depth < nearest) {
            nearest = depth;
            seen = one->shade + root(inside);
        }
    }
    return (unsigned char)(seen > 255 ? 255 : seen);
}

static void *trace(void *nothing)
{
    enum { ACROSS = SIDE / TILE, TILES = ACROSS * ACROSS };
    for (;;) {
        pthread_mutex_lock(&at_tiles);
        int tile = next_tile++;
        pthread_mutex_unlock(&at_tiles);
        if (tile >= TILES * FRAMES)
            return nothing;
        unsigned char(*picture)[SIDE] = pictures[tile / TILES];
        int left = tile % ACROSS * TILE, top = tile / ACROSS % ACROSS * TILE;
        for (int y = top; y < top + TILE; y++)
            for (int x = left; x < left + TILE; x++)
                picture[y][x] = shade(x, y, tile / TILES);
    }
}

static int pictures_are_right(void)
{
    for (int frame = 0; frame < FRAMES; frame++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                if (pictures[frame][y][x] != shade(x, y, frame))
                    return 0;
    return 1;
}

/* Radiosity. */

struct patch {
    pthread_mutex_t mutex;
    int64_t energy;
};

struct queue {
    pthread_mutex_t mutex;
    int first, last;
    int *shots;
};

static struct patch patches[PATCHES];
static struct queue queues[MOST_THREADS];

/* One shot: a patch gives a share of a fixed energy to each of eight others. */
static void shoot(int shot, int64_t *alone)
{
    for (int at = 1; at <= 8; at++) {
        int to = (shot * 31 + at * at) % PATCHES;
        int64_t share = 1 + shot % 13 * at;
        for (int form = 0; form < 40; form++)
            share = (share * 1103515245 + form) % 1000003;
        if (alone != NULL) {
            alone[to] += share;
            continue;
        }
        pthread_mutex_lock(&patches[to].mutex);
        patches[to].energy += share;
        pthread_mutex_unlock(&patches[to].mutex);
    }
}

static int taken(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    int shot = queue->first < queue->last ? queue->shots[queue->first++] : -1;
    pthread_mutex_unlock(&queue->mutex);
    return shot;
}

static void *radiate(void *argument)
{
    int own = (int)(intptr_t)argument;
    for (int from = 0; from < threads;) {
        int shot = taken(&queues[(own + from) % threads]);
        if (shot < 0)
            from++;
        else
            shoot(shot, NULL);
    }
    return NULL;
}

static void fill_queues(void)
{
    for (int at = 0; at < PATCHES; at++)
        pthread_mutex_init(&patches[at].mutex, NULL);
    for (int at = 0; at < threads; at++) {
        pthread_mutex_init(&queues[at].mutex, NULL);
        queues[at].shots = calloc(SHOTS, sizeof(int));
        if (queues[at].shots == NULL)
            abort();
    }
    for (int shot = 0; shot < SHOTS; shot++) {
        /* The first thread has half of all shots, so that others steal. */
        struct queue *queue = &queues[shot % 2 == 0 ? 0 : shot / 2 % threads];
        queue->shots[queue->last++] = shot;
    }
}

static int energy_is_right(void)
{
    int64_t alone[PATCHES] = {0};
    for (int shot = 0; shot < SHOTS; shot++)
        shoot(shot, alone);
    for (int at = 0; at < PATCHES; at++)
        if (alone[at] != patches[at].energy)
            return 0;
    return 1;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    threads = count == 3 ? atoi(words[2]) : 0;
    int traces = count == 3 && strcmp(words[1], "trace") == 0;
    if (threads < 1 || threads > MOST_THREADS || (!traces && strcmp(words[1], "radiosity") != 0)) {
        fprintf(stderr, "usage: scene trace|radiosity THREADS, 1 to %d\n", MOST_THREADS);
        return 2;
    }
    pthread_t all[MOST_THREADS];
    place_spheres();
    fill_queues();
    double began = now();
    for (int at = 0; at < threads; at++)
        if (pthread_create(&all[at], NULL, traces ? trace : radiate, (void *)(intptr_t)at) != 0)
            abort();
    for (int at = 0; at < threads; at++)
        pthread_join(all[at], NULL);
    double took = now() - began;
    int right = traces ? pictures_are_right() : energy_is_right();
    printf("seconds: %.6f\n%s\n", took, right ? "right" : "WRONG");
    return !right;
}
