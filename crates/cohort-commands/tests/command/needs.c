/* A crowd waits at a condition and another for a mutex, each all at once; then threads
 * come and go, each with mutexes of its own, which it holds together; some have to wait
 * for the first.  What locks keep in memory follows the crowds, not the comers: 10,000
 * threads, 100,000 mutexes, 200 of them waited for. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { AT_CONDITION = 48, FOR_MUTEX = 64, COMERS = 10000, OWN = 10, WAITED = 50 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool may_go;

struct member {
    pthread_t thread;
    /* The kernel's number for it; from then on it sleeps where it shall, or not. */
    atomic_int number;
    pthread_mutex_t own[OWN];
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

static void *lock_own(void *argument)
{
    struct member *member = argument;
    atomic_store(&member->number, gettid());
    for (int i = 0; i < OWN; i++)
        pthread_mutex_lock(&member->own[i]);
    for (int i = 0; i < OWN; i++)
        pthread_mutex_unlock(&member->own[i]);
    return NULL;
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

static void start(struct member *crowd, int count, void *(*run)(void *))
{
    for (int i = 0; i < count; i++)
        if (pthread_create(&crowd[i].thread, NULL, run, &crowd[i]) != 0) {
            perror("pthread_create");
            exit(1);
        }
}

static void await_sleep(struct member *crowd, int count)
{
    for (int i = 0; i < count; i++)
        while (atomic_load(&crowd[i].number) == 0 || !sleeps(crowd[i].number))
            nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
}

static void join(struct member *crowd, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(crowd[i].thread, NULL);
}

int main(void)
{
    static struct member at_condition[AT_CONDITION], for_mutex[FOR_MUTEX], comers[COMERS];

    start(at_condition, AT_CONDITION, wait_at_condition);
    await_sleep(at_condition, AT_CONDITION);
    pthread_mutex_lock(&shared);
    may_go = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&shared);
    join(at_condition, AT_CONDITION);

    pthread_mutex_lock(&shared);
    start(for_mutex, FOR_MUTEX, wait_for_mutex);
    await_sleep(for_mutex, FOR_MUTEX);
    pthread_mutex_unlock(&shared);
    join(for_mutex, FOR_MUTEX);

    for (int i = 0; i < COMERS; i++) {
        struct member *comer = &comers[i];
        if (i % WAITED != 0) {
            start(comer, 1, lock_own);
        } else {
            pthread_mutex_lock(&comer->own[0]);
            start(comer, 1, lock_own);
            await_sleep(comer, 1);
            pthread_mutex_unlock(&comer->own[0]);
        }
        join(comer, 1);
    }
    puts("done");
    return 0;
}
