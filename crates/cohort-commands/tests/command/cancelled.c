// Waits that were cancelled: most of their threads have ended, and one holds the mutex in its
// handler.

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { ENDED = 40 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void unlock(void *nothing)
{
    (void)nothing;
    pthread_mutex_unlock(&guard);
}

static void stay(void *nothing)
{
    (void)nothing;
    pause();
}

static void *waits(void *nothing)
{
    pthread_mutex_lock(&guard);
    pthread_cleanup_push(unlock, NULL);
    for (;;)
        pthread_cond_wait(&changed, &guard);
    pthread_cleanup_pop(1);
    return nothing;
}

static void *keeps(void *nothing)
{
    pthread_mutex_lock(&guard);
    pthread_cleanup_push(stay, NULL);
    for (;;)
        pthread_cond_wait(&changed, &guard);
    pthread_cleanup_pop(1);
    return nothing;
}

static void *wants(void *nothing)
{
    pthread_mutex_lock(&guard);
    return nothing;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < ENDED; i++) {
        pthread_create(&thread, NULL, waits, NULL);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    pthread_create(&thread, NULL, waits, NULL);
    pthread_create(&thread, NULL, keeps, NULL);
    // Both wait by then.
    usleep(300000);
    pthread_cancel(thread);
    usleep(300000);
    pthread_create(&thread, NULL, wants, NULL);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    pause();
}
