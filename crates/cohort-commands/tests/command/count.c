/* Takes a known number of locks of each kind, then ends as its arguments say:
 * 1,000 normal, 200 recursive, 30 read and 4 written, by one thread. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

int main(int argc, char **argv)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&normal);
        pthread_mutex_unlock(&normal);
    }
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&recursive);
        pthread_mutex_unlock(&recursive);
    }
    for (int i = 0; i < 30; i++) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    for (int i = 0; i < 4; i++) {
        pthread_rwlock_wrlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    puts("counted");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    if (argc > 1 && strcmp(argv[1], "waiting") == 0)
        for (;;)
            pause();
    if (argc > 1 && strcmp(argv[1], "failing") == 0)
        return 7;
    return 0;
}
