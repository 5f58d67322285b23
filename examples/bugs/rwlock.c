/* A reader locks for writing, and waits for itself. */
#include <pthread.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static void upgrade(void)
{
    pthread_rwlock_rdlock(&table);
    pthread_rwlock_wrlock(&table);
}

int main(void)
{
    upgrade();
    return 0;
}
