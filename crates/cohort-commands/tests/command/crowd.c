/* Twenty threads wait for a mutex that the first thread never releases. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_it(void *unused)
{
    pthread_mutex_lock(&held);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&held);
    for (int index = 0; index < 20; index++)
        if (pthread_create(&thread, NULL, wait_for_it, NULL) != 0)
            return 1;
    pause();
    return 0;
}
