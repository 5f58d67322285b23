/* Initialises mutexes in each way: statically, by copy, by call, in zero-filled memory too. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t called;
static mtx_t c11;
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turns;
} turn = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void use(pthread_mutex_t *mutex, int depth)
{
    for (int i = 0; i < depth; i++)
        if (pthread_mutex_lock(mutex) != 0)
            abort();
    for (int i = 0; i < depth; i++)
        if (pthread_mutex_unlock(mutex) != 0)
            abort();
}

static void *work(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        use(&plain, 1);
        use(&recursive, 2);
        use(&checking, 1);
        use(&adaptive, 1);
        use(&called, 1);
        mtx_lock(&c11);
        mtx_unlock(&c11);
    }
    pthread_mutex_lock(&turn.lock);
    turn.turns++;
    pthread_cond_broadcast(&turn.changed);
    while (turn.turns < 2)
        pthread_cond_wait(&turn.changed, &turn.lock);
    pthread_mutex_unlock(&turn.lock);
    return unused;
}

/* A mutex on the heap. */
static void use_new(int by_call)
{
    pthread_mutex_t *mutex = calloc(1, sizeof *mutex);
    if (mutex == NULL)
        abort();
    if (by_call)
        pthread_mutex_init(mutex, NULL);
    else
        *mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    use(mutex, 1);
    if (pthread_mutex_trylock(mutex) != 0 || pthread_mutex_unlock(mutex) != 0)
        abort();
    if (pthread_mutex_destroy(mutex) != 0)
        abort();
    memset(mutex, 0, sizeof *mutex);
    free(mutex);
}

int main(void)
{
    pthread_t threads[2];
    pthread_mutex_init(&called, NULL);
    mtx_init(&c11, mtx_plain);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 10; i++)
        use_new(i % 2);
    if (pthread_mutex_lock(&checking) != 0 || pthread_mutex_trylock(&checking) == 0)
        abort();
    return pthread_mutex_unlock(&checking);
}
