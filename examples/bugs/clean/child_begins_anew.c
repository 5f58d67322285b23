/* A forked child initialises the locks held at the fork, as libraries do in their handlers, and
 * uses them. */
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t taken, forked;

static void *hold(void *nothing)
{
    pthread_mutex_lock(&others);
    pthread_barrier_wait(&taken);
    pthread_barrier_wait(&forked);
    pthread_mutex_unlock(&others);
    return nothing;
}

static int child(void)
{
    pthread_mutex_init(&own, NULL);
    pthread_mutex_init(&others, NULL);
    pthread_rwlock_init(&written, NULL);
    for (int round = 0; round < 3; round++) {
        pthread_mutex_lock(&own);
        pthread_mutex_lock(&others);
        pthread_rwlock_wrlock(&written);
        pthread_rwlock_unlock(&written);
        pthread_mutex_unlock(&others);
        pthread_mutex_unlock(&own);
    }
    return 0;
}

int main(void)
{
    pthread_t other;
    int status;
    pthread_barrier_init(&taken, NULL, 2);
    pthread_barrier_init(&forked, NULL, 2);
    pthread_create(&other, NULL, hold, NULL);
    pthread_barrier_wait(&taken);
    pthread_mutex_lock(&own);
    pthread_rwlock_wrlock(&written);
    pid_t id = fork();
    if (id == 0)
        _exit(child());
    pthread_rwlock_unlock(&written);
    pthread_mutex_unlock(&own);
    pthread_barrier_wait(&forked);
    pthread_join(other, NULL);
    waitpid(id, &status, 0);
    return status;
}
