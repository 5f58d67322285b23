/* A thread signals another, then locks two mutexes. The other thread did not wait for the signal, and locks
   them in the opposite order. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static sem_t begun;
static atomic_int is_over;

static void *transfer(void *nothing)
{
    sem_post(&begun);
    pthread_mutex_lock(&accounts);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&accounts);
    is_over = 1;
    return nothing;
}

static void *audit(void *nothing)
{
    sem_wait(&begun);
    /* Prevents a hang in this run. */
    while (!is_over)
        sched_yield();
    pthread_mutex_lock(&journal);
    pthread_mutex_lock(&accounts);
    pthread_mutex_unlock(&accounts);
    pthread_mutex_unlock(&journal);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    sem_init(&begun, 0, 0);
    pthread_create(&one, NULL, transfer, NULL);
    pthread_create(&other, NULL, audit, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
