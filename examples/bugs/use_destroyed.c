/* Locks a destroyed mutex. */
#include <pthread.h>

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    pthread_mutex_destroy(&queue);
    pthread_mutex_lock(&queue);
    return 0;
}
