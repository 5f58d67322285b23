/* A thread forks with a lock held to write, for which another thread waits. The child has no waiter:
 * its next reader is let in.
 *
 *   fork [NAME]...
 */
#include <cohort.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *write_once(void *lock)
{
    int failed = cohort_shared_write(lock);
    failed |= cohort_shared_unlock(lock);
    return failed ? lock : NULL;
}

static int goes_on(cohort_shared_t *lock)
{
    alarm(30);
    int failed = cohort_shared_unlock(lock);
    failed |= cohort_shared_read(lock);
    failed |= cohort_shared_unlock(lock);
    failed |= cohort_shared_write(lock);
    return failed | cohort_shared_unlock(lock);
}

static int fails(const char *name)
{
    const struct timespec until_it_waits = { 0, 100000000 };
    cohort_shared_t *lock = cohort_shared_new(name);
    pthread_t writer;
    void *failed;
    int ended = 1;

    if (!lock || cohort_shared_write(lock) || pthread_create(&writer, NULL, write_once, lock))
        return 1;
    nanosleep(&until_it_waits, NULL);
    pid_t forked = fork();
    if (forked == 0)
        _exit(goes_on(lock));
    waitpid(forked, &ended, 0);
    ended |= cohort_shared_unlock(lock);
    ended |= pthread_join(writer, &failed);
    return ended | !!failed | cohort_shared_free(lock);
}

int main(int count, char **names)
{
    for (int i = 1; i < count; i++)
        if (fails(names[i])) {
            printf("fork: %s\n", names[i]);
            return 1;
        }
    return 0;
}
