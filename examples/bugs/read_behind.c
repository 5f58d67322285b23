/* A thread reads again behind a waiting writer with priority, which waits for its first read. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_rwlock_t table;

static void *write_table(void *nothing)
{
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
    return nothing;
}

int main(void)
{
    pthread_t writer;
    pthread_rwlockattr_t kind;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&table, &kind);
    pthread_rwlock_rdlock(&table);
    pthread_create(&writer, NULL, write_table, NULL);
    usleep(200000);
    pthread_rwlock_rdlock(&table);
    pthread_rwlock_unlock(&table);
    pthread_rwlock_unlock(&table);
    pthread_join(writer, NULL);
    return 0;
}
