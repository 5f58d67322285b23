/* A thread waits at a condition while it holds another mutex, which the signaller needs first. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, is_waiting;

static void *take(void *nothing)
{
    pthread_mutex_lock(&table);
    pthread_mutex_lock(&queue);
    for (is_waiting = 1; items == 0;)
        pthread_cond_wait(&filled, &queue);
    items--;
    pthread_mutex_unlock(&queue);
    pthread_mutex_unlock(&table);
    return nothing;
}

static void *put(void *nothing)
{
    pthread_mutex_lock(&table);
    pthread_mutex_lock(&queue);
    items++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
    pthread_mutex_unlock(&table);
    return nothing;
}

/* The taker waits before the other thread begins. */
static void until_taken(void)
{
    for (;;) {
        pthread_mutex_lock(&queue);
        int waits = is_waiting;
        pthread_mutex_unlock(&queue);
        if (waits)
            return;
    }
}

int main(void)
{
    pthread_t taker, putter;
    pthread_create(&taker, NULL, take, NULL);
    until_taken();
    pthread_create(&putter, NULL, put, NULL);
    pthread_join(putter, NULL);
    pthread_join(taker, NULL);
    return 0;
}
