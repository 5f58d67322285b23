/* A thread is cancelled while it joins another; its handler holds a mutex that the other needs. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_held;

static void clean(void *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&state);
    sem_post(&is_held);
    usleep(500000);
    pthread_mutex_unlock(&state);
}

static void *work(void *nothing)
{
    sem_wait(&is_held);
    pthread_mutex_lock(&state);
    pthread_mutex_unlock(&state);
    return nothing;
}

static void *join(void *worker)
{
    pthread_cleanup_push(clean, NULL);
    pthread_join(*(pthread_t *)worker, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    pthread_t worker, joiner;
    sem_init(&is_held, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&joiner, NULL, join, &worker);
    usleep(100000);
    pthread_cancel(joiner);
    pthread_join(joiner, NULL);
    pthread_join(worker, NULL);
    return 0;
}
