/* A thread with the opposite order tries the second lock, and releases the first if it fails. */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;

static void *forwards(void *nothing)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&first);
    }
    return nothing;
}

static void *backwards(void *nothing)
{
    for (int i = 0; i < 1000; i++) {
        for (;;) {
            pthread_mutex_lock(&second);
            if (pthread_mutex_trylock(&first) == 0)
                break;
            pthread_mutex_unlock(&second);
            sched_yield();
        }
        pthread_mutex_unlock(&first);
        pthread_mutex_unlock(&second);
    }
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, forwards, NULL);
    pthread_create(&other, NULL, backwards, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
