/* Becomes a daemon that closes all its files, by each of three ways, and then uses a lock by two
 * threads for half a minute; its number is printed before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;

static void *use(void *nothing)
{
    struct timespec time = { 0, 2000000 };
    for (int turn = 0; turn < 8000; turn++) {
        pthread_mutex_lock(&ledger);
        nanosleep(&time, NULL);
        pthread_mutex_unlock(&ledger);
    }
    return nothing;
}

int main(int count, char **words)
{
    pthread_mutex_lock(&ledger);
    pthread_mutex_unlock(&ledger);
    if (fork())
        _exit(0);
    setsid();
    pthread_mutex_lock(&ledger);
    pthread_mutex_unlock(&ledger);
    switch (count > 1 ? atoi(words[1]) : 0) {
    case 0:
        for (int file = 3; file < 2000; file++)
            close(file);
        break;
    case 1:
        close_range(3, ~0U, 0);
        break;
    default:
        closefrom(3);
    }
    pthread_t other;
    pthread_create(&other, NULL, use, NULL);
    printf("%d\n", getpid());
    fflush(stdout);
    fclose(stdout);
    use(NULL);
    pthread_join(other, NULL);
    return 0;
}
