/* Two threads lock and unlock, while the main thread forks two hundred children, which lock
 * too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_over;

static void *work(void *nothing)
{
    while (!is_over) {
        pthread_mutex_lock(&shared);
        pthread_mutex_unlock(&shared);
        usleep(100);
    }
    return nothing;
}

int main(void)
{
    pthread_t workers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_mutex_lock(&own);
            pthread_mutex_unlock(&own);
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    is_over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
