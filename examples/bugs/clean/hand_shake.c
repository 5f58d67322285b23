/* Two threads lock pairs in opposite orders, the second thread after a handshake with the first: at a
   condition, with and without a wait there, by a semaphore, and at a barrier. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

struct pair {
    void (*give)(struct pair *);
    void (*get)(struct pair *);
    pthread_mutex_t first, second, mutex;
    pthread_cond_t changed;
    pthread_barrier_t both;
    sem_t posted;
    atomic_int is_announced;
    int waits, turn;
};

static void take(pthread_mutex_t *one, pthread_mutex_t *other)
{
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}

/* Signals once the other thread waits. */
static void signal_waiter(struct pair *pair)
{
    pthread_mutex_lock(&pair->mutex);
    while (!pair->waits) {
        pthread_mutex_unlock(&pair->mutex);
        sched_yield();
        pthread_mutex_lock(&pair->mutex);
    }
    pair->turn = 1;
    pthread_cond_signal(&pair->changed);
    pthread_mutex_unlock(&pair->mutex);
}

static void wait_for_signal(struct pair *pair)
{
    pthread_mutex_lock(&pair->mutex);
    pair->waits = 1;
    while (!pair->turn)
        pthread_cond_wait(&pair->changed, &pair->mutex);
    pthread_mutex_unlock(&pair->mutex);
}

/* Signals without the mutex. */
static void announce(struct pair *pair)
{
    pthread_mutex_lock(&pair->mutex);
    pair->turn = 1;
    pthread_mutex_unlock(&pair->mutex);
    pthread_cond_broadcast(&pair->changed);
    pair->is_announced = 1;
}

/* The flag is already set, so the thread does not wait at the condition. */
static void find(struct pair *pair)
{
    while (!pair->is_announced)
        sched_yield();
    pthread_mutex_lock(&pair->mutex);
    while (!pair->turn)
        pthread_cond_wait(&pair->changed, &pair->mutex);
    pthread_mutex_unlock(&pair->mutex);
}

static void post(struct pair *pair)
{
    sem_post(&pair->posted);
}

static void pend(struct pair *pair)
{
    sem_wait(&pair->posted);
}

static void meet(struct pair *pair)
{
    pthread_barrier_wait(&pair->both);
}

static struct pair pairs[] = {
    { .give = signal_waiter, .get = wait_for_signal },
    { .give = announce, .get = find },
    { .give = post, .get = pend },
    { .give = meet, .get = meet },
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

static void *forwards(void *argument)
{
    struct pair *pair = argument;
    take(&pair->first, &pair->second);
    pair->give(pair);
    return NULL;
}

static void *backwards(void *argument)
{
    struct pair *pair = argument;
    pair->get(pair);
    take(&pair->second, &pair->first);
    return NULL;
}

int main(void)
{
    pthread_t threads[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        struct pair *pair = &pairs[i];
        pthread_mutex_init(&pair->first, NULL);
        pthread_mutex_init(&pair->second, NULL);
        pthread_mutex_init(&pair->mutex, NULL);
        pthread_cond_init(&pair->changed, NULL);
        pthread_barrier_init(&pair->both, NULL, 2);
        sem_init(&pair->posted, 0, 0);
    }
    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&threads[2 * i], NULL, forwards, &pairs[i]);
        pthread_create(&threads[2 * i + 1], NULL, backwards, &pairs[i]);
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
