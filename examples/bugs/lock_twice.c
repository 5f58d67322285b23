/* A function locks the mutex that its caller has locked. */
#include <pthread.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void append(void)
{
    pthread_mutex_lock(&list);
    pthread_mutex_unlock(&list);
}

int main(void)
{
    pthread_mutex_lock(&list);
    append();
    pthread_mutex_unlock(&list);
    return 0;
}
