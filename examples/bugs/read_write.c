/* Two threads each hold a rwlock for reading and wait to write the other's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t users = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t groups = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;

static void *rename_group(void *nothing)
{
    pthread_rwlock_rdlock(&users);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&groups);
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&other, NULL, rename_group, NULL);
    pthread_rwlock_rdlock(&groups);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&users);
    pthread_join(other, NULL);
    return 0;
}
