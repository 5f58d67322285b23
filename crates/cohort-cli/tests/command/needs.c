/* A crowd waits at a condition and another for a mutex, each all at once; then threads
 * come and go, each with mutexes of its own, which it holds together.  What locks keep
 * in memory follows the crowds, not the comers: 10,000 threads, 100,000 mutexes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { AT_CONDITION = 48, FOR_MUTEX = 64, COMERS = 10000, OWN = 10 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own[COMERS][OWN];
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool may_go;

struct member {
    pthread_t thread;
    /* The kernel's number for it; from then on it sleeps where it shall, or not. */
    atomic_int number;
};

static void *wait_for_mutex(void *argument)
{
    struct member *member = argument;
    atomic_store(&member->number, gettid());
    pthread_mutex_lock(&shared);
    pthread_mutex_unlock(&shared);
    return NULL;
}

static void *wait_at_condition(void *argument)
{
    struct member *member = argument;
    pthread_mutex_lock(&shared);
    atomic_store(&member->number, gettid());
    while (!may_go)
        pthread_cond_wait(&condition, &shared);
    pthread_mutex_unlock(&shared);
    return NULL;
}

static void *lock_own(void *mutexes)
{
    pthread_mutex_t *mutex = mutexes;
    for (int i = 0; i < OWN; i++)
        pthread_mutex_lock(&mutex[i]);
    for (int i = 0; i < OWN; i++)
        pthread_mutex_unlock(&mutex[i]);
    return NULL;
}

static pthread_t start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0) {
        perror("pthread_create");
        exit(1);
    }
    return thread;
}

static bool sleeps(int thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return state == 'S';
}

/* Starts a crowd and waits until all of it sleeps. */
static void gather(struct member *crowd, int count, void *(*run)(void *))
{
    for (int i = 0; i < count; i++)
        crowd[i].thread = start(run, &crowd[i]);
    for (int i = 0; i < count; i++)
        while (atomic_load(&crowd[i].number) == 0 || !sleeps(crowd[i].number))
            nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
}

static void join(struct member *crowd, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(crowd[i].thread, NULL);
}

int main(void)
{
    static struct member at_condition[AT_CONDITION], for_mutex[FOR_MUTEX];

    gather(at_condition, AT_CONDITION, wait_at_condition);
    pthread_mutex_lock(&shared);
    may_go = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&shared);
    join(at_condition, AT_CONDITION);

    pthread_mutex_lock(&shared);
    gather(for_mutex, FOR_MUTEX, wait_for_mutex);
    pthread_mutex_unlock(&shared);
    join(for_mutex, FOR_MUTEX);

    for (int i = 0; i < COMERS; i++) {
        for (int j = 0; j < OWN; j++)
            pthread_mutex_init(&own[i][j], NULL);
        pthread_join(start(lock_own, own[i]), NULL);
    }
    puts("done");
    return 0;
}
