/* A nested monitor, as in nested_monitor.c, beside a thread that goes on. */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int length;

static void *take(void *nothing)
{
    pthread_mutex_lock(&table);
    pthread_mutex_lock(&queue);
    while (length == 0)
        pthread_cond_wait(&filled, &queue);
    length--;
    pthread_mutex_unlock(&queue);
    pthread_mutex_unlock(&table);
    return nothing;
}

static void *put(void *nothing)
{
    sleep(1);
    pthread_mutex_lock(&table);
    pthread_mutex_lock(&queue);
    length++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
    pthread_mutex_unlock(&table);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, take, NULL);
    pthread_create(&other, NULL, put, NULL);
    for (int i = 0; i < 60; i++)
        usleep(100000);
    return 0;
}
