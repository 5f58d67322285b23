/* Breadth-first searches of a Kronecker graph over MPI, by several threads of each process
 * (Chabbi et al. 2017, section 6.4): what a level finds goes to the vertices' owners by the
 * exchange NBX, in which threads poll for messages between their computations.
 *
 * All calls of MPI go through one mutex, by a layer of MPI's profiling interface at the end of
 * this file.  A thread that only polls does not wait for the mutex for ever: after its patience
 * it computes on, as if nothing had come, but at most MOST_ABORTS times in a row.
 *
 * Each search has to find what a search by one thread of one process finds.
 *
 *     bfs [SCALE [THREADS [ROOTS [NANOSECONDS OF PATIENCE]]]]
 */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EDGES_A_VERTEX = 16, MOST_ABORTS = 16, MOST_THREADS = 64, PAIRS = 64, NOBODY = -1 };

static int scale = 10, threads = 4, roots = 4;
static long patience = 40000;
static int rank, ranks;
static int vertices;
static long edges;

/* What the layer counts. */
static _Atomic long polls, aborts;
static _Atomic int longest_run;

static void fail(const char *what)
{
    fprintf(stderr, "bfs: %s\n", what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static void *reserve(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (memory == NULL)
        fail("no memory");
    return memory;
}

/* ---- The graph: the same on every rank, for each edge is a function of its number. ---- */

static int *from, *to;
/* The neighbours of v: near[first[v]] up to near[first[v + 1]]. */
static long *first;
static int *near;

/* A random number for each place of a sequence (the finaliser of splitmix64). */
static uint64_t drawn(uint64_t place)
{
    uint64_t x = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Each bit of an edge's ends falls into one of four quarters, of probabilities 0.57, 0.19, 0.19
 * and 0.05, as in Graph500. */
static void make_edge(long edge)
{
    int ends[2] = {0, 0};
    for (int bit = 0; bit < scale; bit++) {
        uint64_t percent = drawn((uint64_t)edge * 64 + bit) % 100;
        ends[0] |= (percent >= 76) << bit;
        ends[1] |= ((percent >= 57 && percent < 76) || percent >= 95) << bit;
    }
    /* Otherwise the vertices with low numbers would have all the edges. */
    uint64_t mix = drawn(UINT64_C(1) << 60) | 1;
    from[edge] = (int)((ends[0] * mix) & (uint64_t)(vertices - 1));
    to[edge] = (int)((ends[1] * mix) & (uint64_t)(vertices - 1));
}

static void make_graph(void)
{
    vertices = 1 << scale;
    edges = (long)vertices * EDGES_A_VERTEX;
    from = reserve(edges, sizeof *from);
    to = reserve(edges, sizeof *to);
    first = reserve(vertices + 1, sizeof *first);
    near = reserve(2 * edges, sizeof *near);
    for (long edge = 0; edge < edges; edge++) {
        make_edge(edge);
        first[from[edge]]++;
        first[to[edge]]++;
    }
    for (int v = 0; v < vertices; v++)
        first[v + 1] += first[v];
    for (long edge = 0; edge < edges; edge++) {
        near[--first[from[edge]]] = to[edge];
        near[--first[to[edge]]] = from[edge];
    }
    /* The last vertex' end was not counted down with the others. */
    first[vertices] = 2 * edges;
}

static int owner(int vertex) { return vertex % ranks; }

/* The thread that receives what is found of a vertex, in its owner's process. */
static int keeper(int vertex) { return vertex / ranks % threads; }

/* ---- The search by all. ---- */

/* The vertex from which each was found, and its distance from the root. */
static _Atomic int *parent;
static int *depth;

/* What this process has found in a level, to be followed in the next. */
static int *frontier, *next;
static int frontier_length;
static _Atomic int next_length;

static pthread_barrier_t together;
/* How many threads of this process have seen all their messages of this level arrive. */
static _Atomic int arrived;
static _Atomic int level_is_over;
static long found_everywhere;

struct pair {
    int vertex, parent;
};

struct message {
    struct pair pairs[PAIRS];
    int length;
    MPI_Request request;
    struct message *next;
};

struct worker {
    int number;
    int level;
    /* Being filled: one for each thread of each rank. */
    struct message **open;
    /* On their way, and ready for use. */
    struct message *sent, *spare;
};

static void reached(struct worker *me, int vertex, int by)
{
    int nobody = NOBODY;
    if (atomic_compare_exchange_strong(&parent[vertex], &nobody, by)) {
        depth[vertex] = me->level + 1;
        next[atomic_fetch_add(&next_length, 1)] = vertex;
    }
}

/* A process may be a level ahead of another, but not two. */
static int tag(const struct worker *me, int thread)
{
    return me->level % 2 * threads + thread;
}

/* Takes what has arrived for this thread; whether there was anything. */
static int receive(struct worker *me)
{
    int there, bytes, any = 0;
    for (;;) {
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, tag(me, me->number), MPI_COMM_WORLD, &there, &status);
        if (!there)
            return any;
        struct pair pairs[PAIRS];
        MPI_Recv(pairs, sizeof pairs, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                 MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        for (size_t i = 0; i < bytes / sizeof *pairs; i++)
            reached(me, pairs[i].vertex, pairs[i].parent);
        any = 1;
    }
}

/* Sends a message; it is on its way until its receiver has taken it. */
static void send_off(struct worker *me, int place)
{
    struct message *message = me->open[place];
    me->open[place] = NULL;
    MPI_Issend(message->pairs, message->length * (int)sizeof *message->pairs, MPI_BYTE,
               place / threads, tag(me, place % threads), MPI_COMM_WORLD, &message->request);
    message->next = me->sent;
    me->sent = message;
}

static void tell(struct worker *me, int vertex, int by)
{
    int place = owner(vertex) * threads + keeper(vertex);
    struct message *message = me->open[place];
    if (message == NULL) {
        message = me->spare;
        if (message != NULL)
            me->spare = message->next;
        else
            message = reserve(1, sizeof *message);
        message->length = 0;
        me->open[place] = message;
    }
    message->pairs[message->length++] = (struct pair){vertex, by};
    if (message->length == PAIRS) {
        send_off(me, place);
        receive(me);
    }
}

/* Puts the messages that have arrived aside; whether all have. */
static int all_arrived(struct worker *me)
{
    struct message **link = &me->sent;
    while (*link != NULL) {
        struct message *message = *link;
        int done;
        MPI_Test(&message->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            *link = message->next;
            message->next = me->spare;
            me->spare = message;
        } else {
            link = &message->next;
        }
    }
    return me->sent == NULL;
}

/* NBX: once all messages of a process have arrived it comes to a barrier that nobody waits at;
 * when every process has come there, nothing of this level is on its way any more. */
static void exchange(struct worker *me)
{
    static MPI_Request barrier;
    int counted = 0, begun = 0;
    while (!atomic_load(&level_is_over)) {
        int any = receive(me);
        if (!counted && all_arrived(me)) {
            counted = 1;
            atomic_fetch_add(&arrived, 1);
        }
        if (me->number == 0 && !begun && atomic_load(&arrived) == threads) {
            MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
            begun = 1;
        }
        if (begun) {
            int done;
            MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
            if (done)
                atomic_store(&level_is_over, 1);
        }
        if (!any)
            sched_yield();
    }
}

/* Follows this thread's share of the frontier. */
static void follow(struct worker *me)
{
    for (int i = me->number; i < frontier_length; i += threads) {
        int vertex = frontier[i];
        for (long n = first[vertex]; n < first[vertex + 1]; n++) {
            if (owner(near[n]) == rank)
                reached(me, near[n], vertex);
            else
                tell(me, near[n], vertex);
        }
    }
    for (int place = 0; place < ranks * threads; place++)
        if (me->open[place] != NULL)
            send_off(me, place);
}

/* Between two levels, by one thread while the others wait. */
static void turn(void)
{
    int *followed = frontier;
    frontier = next;
    next = followed;
    frontier_length = atomic_load(&next_length);
    atomic_store(&next_length, 0);
    atomic_store(&arrived, 0);
    atomic_store(&level_is_over, 0);
    long here = frontier_length;
    MPI_Allreduce(&here, &found_everywhere, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

static void *search(void *argument)
{
    struct worker *me = argument;
    for (me->level = 0;; me->level++) {
        follow(me);
        exchange(me);
        pthread_barrier_wait(&together);
        if (me->number == 0)
            turn();
        pthread_barrier_wait(&together);
        if (found_everywhere == 0)
            return NULL;
    }
}

static void search_from(int root)
{
    for (int v = 0; v < vertices; v++) {
        parent[v] = NOBODY;
        depth[v] = NOBODY;
    }
    frontier_length = 0;
    if (owner(root) == rank) {
        parent[root] = root;
        depth[root] = 0;
        frontier[frontier_length++] = root;
    }
    pthread_t running[MOST_THREADS];
    static struct worker workers[MOST_THREADS];
    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        if (workers[i].open == NULL)
            workers[i].open = reserve((size_t)ranks * threads, sizeof *workers[i].open);
        if (i > 0 && pthread_create(&running[i], NULL, search, &workers[i]) != 0)
            fail("no thread");
    }
    search(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(running[i], NULL);
}

/* ---- The search by one thread, and the comparison. ---- */

static void search_alone(int root, int *distance)
{
    int *queue = reserve(vertices, sizeof *queue), begin = 0, end = 0;
    for (int v = 0; v < vertices; v++)
        distance[v] = NOBODY;
    distance[root] = 0;
    queue[end++] = root;
    while (begin < end) {
        int vertex = queue[begin++];
        for (long n = first[vertex]; n < first[vertex + 1]; n++)
            if (distance[near[n]] == NOBODY) {
                distance[near[n]] = distance[vertex] + 1;
                queue[end++] = near[n];
            }
    }
    free(queue);
}

static int are_neighbours(int one, int other)
{
    for (long n = first[one]; n < first[one + 1]; n++)
        if (near[n] == other)
            return 1;
    return 0;
}

/* How many of this rank's vertices are not as the search by one thread has them. */
static long wrong_here(int root, const int *distance)
{
    long wrong = 0;
    for (int v = rank; v < vertices; v += ranks) {
        int by = atomic_load(&parent[v]);
        if (depth[v] != distance[v])
            wrong++;
        else if (v != root && by != NOBODY)
            wrong += distance[by] + 1 != distance[v] || !are_neighbours(by, v);
    }
    return wrong;
}

/* The edges that a search from there has passed. */
static long passed(const int *distance)
{
    long ends = 0;
    for (int v = 0; v < vertices; v++)
        if (distance[v] != NOBODY)
            ends += first[v + 1] - first[v];
    return ends / 2;
}

static long number(const char *word, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    if (errno != 0 || *end != '\0' || end == word || value < least || value > most) {
        fprintf(stderr, "bfs: %s: not a number from %ld to %ld\n", word, least, most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        scale = (int)number(argv[1], 2, 24);
    if (argc > 2)
        threads = (int)number(argv[2], 1, MOST_THREADS);
    if (argc > 3)
        roots = (int)number(argv[3], 1, 1024);
    if (argc > 4)
        patience = number(argv[4], 0, 1000000000);
    int provided;
    /* The mutex of the layer keeps threads apart, so MPI need not. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < MPI_THREAD_SERIALIZED)
        fail("this needs MPI_THREAD_SERIALIZED");
    make_graph();
    parent = reserve(vertices, sizeof *parent);
    depth = reserve(vertices, sizeof *depth);
    frontier = reserve(vertices, sizeof *frontier);
    next = reserve(vertices, sizeof *next);
    int *distance = reserve(vertices, sizeof *distance);
    pthread_barrier_init(&together, NULL, (unsigned)threads);

    long wrong = 0, traversed = 0;
    double seconds = 0;
    uint64_t draw = UINT64_C(1) << 61;
    for (int search = 0; search < roots; search++) {
        int root;
        do
            root = (int)(drawn(draw++) % (uint64_t)vertices);
        while (first[root + 1] == first[root]);
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime();
        search_from(root);
        seconds += MPI_Wtime() - begun;
        search_alone(root, distance);
        wrong += wrong_here(root, distance);
        traversed += passed(distance);
    }
    long here[3] = {wrong, atomic_load(&aborts), atomic_load(&polls)}, sums[3];
    int run = atomic_load(&longest_run), longest;
    MPI_Reduce(here, sums, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&run, &longest, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d searches of %ld edges, %ld wrong\n", roots, edges, sums[0]);
        printf("%ld of %ld polls given up, at most %d in a row\n", sums[1], sums[2], longest);
        printf("%.2f million edges a second\n", traversed / seconds / 1e6);
    }
    MPI_Finalize();
    return 0;
}

/* ---- The layer: each call that this program makes while it has several threads. ---- */

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void enter(void)
{
    if (pthread_mutex_lock(&one) != 0)
        fail("the mutex cannot be locked");
}

static int leave(int result)
{
    if (pthread_mutex_unlock(&one) != 0)
        fail("the mutex cannot be unlocked");
    return result;
}

/* Whether a thread that only polls has got in; after so many failures in a row it waits. */
static int enter_to_poll(void)
{
    static _Thread_local int run;
    atomic_fetch_add_explicit(&polls, 1, memory_order_relaxed);
    if (run == MOST_ABORTS) {
        enter();
        run = 0;
        return 1;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += patience;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int result = pthread_mutex_clocklock(&one, CLOCK_MONOTONIC, &until);
    if (result == 0) {
        run = 0;
        return 1;
    }
    if (result != ETIMEDOUT)
        fail("the mutex cannot be locked within a time");
    run++;
    atomic_fetch_add(&aborts, 1);
    int longest = atomic_load(&longest_run);
    while (run > longest && !atomic_compare_exchange_weak(&longest_run, &longest, run))
        ;
    return 0;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (enter_to_poll())
        return leave(PMPI_Test(request, flag, status));
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm world, int *flag, MPI_Status *status)
{
    if (enter_to_poll())
        return leave(PMPI_Iprobe(source, tag, world, flag, status));
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Recv(void *to, int count, MPI_Datatype type, int source, int tag, MPI_Comm world,
             MPI_Status *status)
{
    enter();
    return leave(PMPI_Recv(to, count, type, source, tag, world, status));
}

int MPI_Issend(const void *what, int count, MPI_Datatype type, int target, int tag,
               MPI_Comm world, MPI_Request *request)
{
    enter();
    return leave(PMPI_Issend(what, count, type, target, tag, world, request));
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    enter();
    return leave(PMPI_Get_count(status, type, count));
}

int MPI_Ibarrier(MPI_Comm world, MPI_Request *request)
{
    enter();
    return leave(PMPI_Ibarrier(world, request));
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm world)
{
    enter();
    return leave(PMPI_Allreduce(mine, all, count, type, operation, world));
}
