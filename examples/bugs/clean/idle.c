/* A server without work: its threads sleep until a signal's handler posts the semaphore. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int is_over;
static sem_t stop;

static void on_alarm(int signal)
{
    (void)signal;
    sem_post(&stop);
}

static void *work(void *nothing)
{
    pthread_mutex_lock(&queue);
    while (!is_over)
        pthread_cond_wait(&filled, &queue);
    pthread_mutex_unlock(&queue);
    return nothing;
}

int main(void)
{
    pthread_t worker;
    sem_init(&stop, 0, 0);
    signal(SIGALRM, on_alarm);
    pthread_create(&worker, NULL, work, NULL);
    alarm(1);
    while (sem_wait(&stop) != 0)
        ;
    pthread_mutex_lock(&queue);
    is_over = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
    pthread_join(worker, NULL);
    return 0;
}
