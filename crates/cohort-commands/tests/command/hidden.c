/* Leaves a process that locks a mutex, in a namespace of its own, as a user that lets no other user
   look into its processes.  77: this may not be done here. */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int lock(void)
{
    /* After this, nothing shows which process started this one. */
    usleep(300000);
    pthread_mutex_lock(&mutex);
    usleep(700000);
    return pthread_mutex_unlock(&mutex);
}

int main(void)
{
    const uid_t nobody = 65534;
    int status = 77 << 8;
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(nobody, nobody, nobody) != 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
            return 77;
        child = fork();
        return child == 0 ? lock() : child < 0 ? 77 : 0;
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
