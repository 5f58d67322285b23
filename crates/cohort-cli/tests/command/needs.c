/* A crowd waits for one mutex; then threads come and go, each with a mutex of its
 * own.  What locks keep in memory follows the crowd, not the comers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CROWD = 8, COMERS = 2000 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own[COMERS];
static atomic_int came;

static void *wait_in_crowd(void *unused)
{
    (void)unused;
    atomic_fetch_add(&came, 1);
    pthread_mutex_lock(&shared);
    pthread_mutex_unlock(&shared);
    return NULL;
}

static void *lock_own(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

static pthread_t start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0) {
        perror("pthread_create");
        exit(1);
    }
    return thread;
}

int main(void)
{
    pthread_t crowd[CROWD];
    const struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};

    pthread_mutex_lock(&shared);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = start(wait_in_crowd, NULL);
    while (atomic_load(&came) < CROWD)
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    nanosleep(&moment, NULL);
    pthread_mutex_unlock(&shared);
    for (int i = 0; i < CROWD; i++)
        pthread_join(crowd[i], NULL);

    for (int i = 0; i < COMERS; i++) {
        pthread_mutex_init(&own[i], NULL);
        pthread_join(start(lock_own, &own[i]), NULL);
    }
    puts("done");
    return 0;
}
