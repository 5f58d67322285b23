/* Idle consumers wait in turn, as in nested_beside.c, but the producer needs no lock of theirs. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static sem_t items;

static void *consume(void *nothing)
{
    pthread_mutex_lock(&turn);
    sem_wait(&items);
    pthread_mutex_unlock(&turn);
    return nothing;
}

int main(void)
{
    pthread_t consumers[3];
    sem_init(&items, 0, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&consumers[i], NULL, consume, NULL);
    usleep(500000);
    sem_post(&items);
    usleep(2600000);
    sem_post(&items);
    sem_post(&items);
    for (int i = 0; i < 3; i++)
        pthread_join(consumers[i], NULL);
    return 0;
}
