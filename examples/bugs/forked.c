/* Forks while another thread holds a lock; the child waits for it. */
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static int held[2];

static void *work(void *nothing)
{
    pthread_mutex_lock(&heap);
    write(held[1], "", 1) == 1 ? sleep(1) : 0;
    pthread_mutex_unlock(&heap);
    return nothing;
}

int main(void)
{
    pthread_t other;
    char byte;
    if (pipe(held) != 0)
        return 2;
    pthread_create(&other, NULL, work, NULL);
    if (read(held[0], &byte, 1) != 1)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&heap);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    pthread_join(other, NULL);
    return 0;
}
