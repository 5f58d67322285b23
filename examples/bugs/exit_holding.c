/* A thread ends with a mutex locked; the next thread waits forever. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;

static void *leave_locked(void *nothing)
{
    pthread_mutex_lock(&account);
    return nothing;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, NULL, leave_locked, NULL);
    pthread_join(worker, NULL);
    pthread_mutex_lock(&account);
    return 0;
}
