/* Locks are acquired before a fork, and released after it in parent and child. */
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;

static void before(void)
{
    pthread_mutex_lock(&list);
    pthread_mutex_lock(&heap);
}

static void after(void)
{
    pthread_mutex_unlock(&heap);
    pthread_mutex_unlock(&list);
}

static void *idle(void *nothing)
{
    pthread_mutex_lock(&heap);
    pthread_mutex_unlock(&heap);
    return nothing;
}

int main(void)
{
    pthread_t other;
    pthread_atfork(before, after, after);
    pthread_create(&other, NULL, idle, NULL);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&list);
        pthread_mutex_unlock(&list);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    pthread_join(other, NULL);
    return status;
}
