/* The forking thread holds locks, and releases them in the child, before any other lock
   operation there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *wait_for(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(void)
{
    pthread_mutex_lock(&plain);
    pthread_mutex_lock(&again);
    pid_t child = fork();
    if (child == 0) {
        pthread_t others[2];
        pthread_create(&others[0], NULL, wait_for, &plain);
        pthread_create(&others[1], NULL, wait_for, &again);
        usleep(500000);
        pthread_mutex_unlock(&again);
        pthread_mutex_unlock(&plain);
        pthread_join(others[0], NULL);
        pthread_join(others[1], NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    pthread_mutex_unlock(&again);
    pthread_mutex_unlock(&plain);
    return 0;
}
