/* Unlocks a mutex twice. */
#include <pthread.h>

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    pthread_mutex_lock(&counter);
    pthread_mutex_unlock(&counter);
    pthread_mutex_unlock(&counter);
    return 0;
}
