/* A thread joins another thread, which waits for a mutex of the joiner. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

static void *finish(void *nothing)
{
    pthread_mutex_lock(&state);
    pthread_mutex_unlock(&state);
    return nothing;
}

int main(void)
{
    pthread_t worker;
    pthread_mutex_lock(&state);
    pthread_create(&worker, NULL, finish, NULL);
    pthread_join(worker, NULL);
    pthread_mutex_unlock(&state);
    return 0;
}
