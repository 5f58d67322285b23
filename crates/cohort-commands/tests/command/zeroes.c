/* Locks initialised in each way; with an argument, also zeroes that nothing initialised. */
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tree = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t cache = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t journal = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t forgotten[2];
static pthread_rwlock_t neglected;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void turn(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(mutex);
    if (pthread_mutex_trylock(mutex) == 0)
        pthread_mutex_unlock(mutex);
}

static void turns(pthread_rwlock_t *lock)
{
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
    pthread_rwlock_wrlock(lock);
    pthread_rwlock_unlock(lock);
}

static void *each(void *items)
{
    turn(items);
    turn(&table);
    turn(&tree);
    turns(&cache);
    turns(&journal);
    return items;
}

int main(int count, char **words)
{
    pthread_mutex_t *items = calloc(1, sizeof *items);
    pthread_rwlock_t made;
    mtx_t old;
    pthread_t other;
    (void)words;
    if (items == NULL)
        return 2;
    pthread_mutex_init(items, NULL);
    pthread_rwlock_init(&made, NULL);
    mtx_init(&old, mtx_plain);
    pthread_create(&other, NULL, each, items);
    each(items);
    pthread_join(other, NULL);
    turns(&made);
    mtx_lock(&old);
    mtx_unlock(&old);
    mtx_destroy(&old);
    pthread_mutex_destroy(items);
    pthread_mutex_init(items, NULL);
    turn(items);
    if (count > 1) {
        pthread_mutex_lock(&forgotten[1]);
        pthread_mutex_unlock(&forgotten[1]);
        pthread_rwlock_wrlock(&neglected);
        pthread_rwlock_unlock(&neglected);
    }
    return 0;
}
