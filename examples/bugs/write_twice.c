/* A thread write-locks a rwlock that it holds, and takes no notice of the refusal. */
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static int entries;

static void add(void)
{
    int result = pthread_rwlock_wrlock(&table);
    entries++;
    if (result == 0)
        pthread_rwlock_unlock(&table);
}

int main(void)
{
    pthread_rwlock_wrlock(&table);
    add();
    pthread_rwlock_unlock(&table);
    return entries - 1;
}
