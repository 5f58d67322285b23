/* Destroys a locked mutex. */
#include <pthread.h>

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    pthread_mutex_lock(&pool);
    pthread_mutex_destroy(&pool);
    pthread_mutex_unlock(&pool);
    return 0;
}
