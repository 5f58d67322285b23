/* The condition is signalled before the other thread waits, which looks at no state: it sleeps for ever. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void *take(void *nothing)
{
    pthread_mutex_lock(&queue);
    pthread_cond_wait(&filled, &queue);
    pthread_mutex_unlock(&queue);
    return nothing;
}

int main(void)
{
    pthread_t taker;
    pthread_mutex_lock(&queue);
    pthread_create(&taker, NULL, take, NULL);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
    pthread_join(taker, NULL);
    return 0;
}
