/* A thread waits for a semaphore while it holds a mutex, which the poster needs first. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static sem_t loaded;
static pthread_barrier_t both_run;

static void *load(void *nothing)
{
    pthread_barrier_wait(&both_run);
    pthread_mutex_lock(&table);
    sem_post(&loaded);
    pthread_mutex_unlock(&table);
    return nothing;
}

int main(void)
{
    pthread_t loader;
    sem_init(&loaded, 0, 0);
    pthread_barrier_init(&both_run, NULL, 2);
    pthread_create(&loader, NULL, load, NULL);
    pthread_mutex_lock(&table);
    pthread_barrier_wait(&both_run);
    sem_wait(&loaded);
    pthread_mutex_unlock(&table);
    pthread_join(loader, NULL);
    return 0;
}
