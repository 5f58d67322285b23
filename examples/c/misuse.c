/* Error numbers for detectable mistakes. */
#define COHORT_NO_THREAD_SAFETY /* clang would reject them */
#include <cohort.h>
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(call, result)                                                      \
    do {                                                                          \
        int came = (call);                                                        \
        if (came != (result)) {                                                   \
            printf("misuse: line %d: %s is %d\n", __LINE__, #call, came);         \
            return 1;                                                             \
        }                                                                         \
    } while (0)

int main(void)
{
    cohort_mutex_t mutex = COHORT_MUTEX_INIT;
    cohort_rwlock_t rwlock = COHORT_RWLOCK_INIT;
    cohort_cond_t cond = COHORT_COND_INIT;
    cohort_context_t context;
    struct timespec no_time = { 0, 1000000000 };

    EXPECT(cohort_check_version(COHORT_VERSION), 0);
    EXPECT(cohort_check_version(0x990000), ENOTSUP);

    EXPECT(cohort_mutex_unlock(&mutex), EPERM);
    EXPECT(cohort_mutex_lock(NULL), EINVAL);
    EXPECT(cohort_mutex_lock_until(&mutex, CLOCK_MONOTONIC, &no_time), EINVAL);
    EXPECT(cohort_mutex_lock_until(&mutex, CLOCK_MONOTONIC, NULL), EINVAL);
    no_time.tv_nsec = 0;
    EXPECT(cohort_mutex_lock_until(&mutex, CLOCK_PROCESS_CPUTIME_ID, &no_time), EINVAL);
    EXPECT(cohort_mutex_lock(&mutex), 0);
    EXPECT(cohort_mutex_destroy(&mutex), EBUSY);
    EXPECT(cohort_mutex_unlock(&mutex), 0);
    EXPECT(cohort_mutex_unlock(&mutex), EPERM);
    EXPECT(cohort_mutex_destroy(&mutex), 0);

    EXPECT(cohort_rwlock_unlock(&rwlock), EPERM);
    EXPECT(cohort_rwlock_write(&rwlock), 0);
    EXPECT(cohort_rwlock_read_for(&rwlock, 1000000), ETIMEDOUT);
    EXPECT(cohort_rwlock_destroy(&rwlock), EBUSY);
    EXPECT(cohort_rwlock_unlock(&rwlock), 0);

    /* Readers share; a writer waits for all of them. */
    EXPECT(cohort_rwlock_read(&rwlock), 0);
    EXPECT(cohort_rwlock_read_try(&rwlock), 0);
    EXPECT(cohort_rwlock_write_try(&rwlock), EBUSY);
    EXPECT(cohort_rwlock_unlock(&rwlock), 0);
    EXPECT(cohort_rwlock_write_for(&rwlock, 1000000), ETIMEDOUT);
    EXPECT(cohort_rwlock_unlock(&rwlock), 0);

    /* One reader may become the writer. */
    struct timespec early = { 1, 0 };
    cohort_token_t stopped = COHORT_TOKEN_INIT;
    EXPECT(cohort_token_cancel(&stopped), 0);
    EXPECT(cohort_rwlock_unlock_upgradable(&rwlock), EPERM);
    EXPECT(cohort_rwlock_upgrade(&rwlock), EPERM);
    EXPECT(cohort_rwlock_downgrade(&rwlock), EPERM);
    EXPECT(cohort_rwlock_downgrade_upgradable(&rwlock), EPERM);
    EXPECT(cohort_rwlock_end_upgradable(&rwlock), EPERM);
    EXPECT(cohort_rwlock_unlock_fair(&rwlock), EPERM);
    EXPECT(cohort_rwlock_read_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_read_upgradable_try(&rwlock), EBUSY);
    EXPECT(cohort_rwlock_read_upgradable_for(&rwlock, 1000000), ETIMEDOUT);
    EXPECT(cohort_rwlock_read_upgradable_until(&rwlock, CLOCK_MONOTONIC, &early), ETIMEDOUT);
    EXPECT(cohort_rwlock_read_upgradable_until(&rwlock, -1, &early), EINVAL);
    EXPECT(cohort_rwlock_read_upgradable_unless(&rwlock, &stopped), ECANCELED);
    EXPECT(cohort_rwlock_read_upgradable_unless(&rwlock, NULL), EINVAL);
    EXPECT(cohort_rwlock_read(&rwlock), 0);
    EXPECT(cohort_rwlock_upgrade_try(&rwlock), EBUSY);
    EXPECT(cohort_rwlock_upgrade_for(&rwlock, 1000000), ETIMEDOUT);
    EXPECT(cohort_rwlock_upgrade_until(&rwlock, CLOCK_REALTIME, &early), ETIMEDOUT);
    EXPECT(cohort_rwlock_upgrade_until(&rwlock, CLOCK_REALTIME, NULL), EINVAL);
    EXPECT(cohort_rwlock_upgrade_unless(&rwlock, &stopped), ECANCELED);
    EXPECT(cohort_rwlock_is_written(&rwlock), 0);
    EXPECT(cohort_rwlock_unlock(&rwlock), 0);
    /* A cancelled token refuses no lock that is free. */
    EXPECT(cohort_rwlock_upgrade_unless(&rwlock, &stopped), 0);
    EXPECT(cohort_rwlock_downgrade_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_upgrade_until(&rwlock, CLOCK_MONOTONIC, &early), 0);
    EXPECT(cohort_rwlock_downgrade_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_unlock_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_upgrade_unless(&rwlock, &stopped), EPERM);
    EXPECT(cohort_rwlock_read_upgradable_until(&rwlock, CLOCK_MONOTONIC, &early), 0);
    EXPECT(cohort_rwlock_unlock_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_read_upgradable_unless(&rwlock, &stopped), 0);
    EXPECT(cohort_rwlock_upgrade_try(&rwlock), 0);
    EXPECT(cohort_rwlock_is_written(&rwlock), 1);
    EXPECT(cohort_rwlock_downgrade_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_read_try(&rwlock), 0);
    EXPECT(cohort_rwlock_unlock(&rwlock), 0);
    EXPECT(cohort_rwlock_upgrade_for(&rwlock, 1000000), 0);
    EXPECT(cohort_rwlock_downgrade(&rwlock), 0);
    EXPECT(cohort_rwlock_read_upgradable_try(&rwlock), 0);
    EXPECT(cohort_rwlock_end_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_unlock_fair(&rwlock), 0);
    EXPECT(cohort_rwlock_read_upgradable_for(&rwlock, 1000000), 0);
    EXPECT(cohort_rwlock_unlock_upgradable(&rwlock), 0);
    EXPECT(cohort_rwlock_unlock(&rwlock), 0);
    EXPECT(cohort_rwlock_unlock(&rwlock), EPERM);

    static const char *const shared_names[] = { "rwlock", "c-rw-np", "c-rw-wp" };
    errno = 0;
    if (cohort_shared_new("mcs") || errno != EINVAL)
        return 1;
    for (int i = 0; i < 3; i++) {
        cohort_token_t token = COHORT_TOKEN_INIT;
        struct timespec past = { 1, 0 };
        cohort_shared_t *shared = cohort_shared_new(shared_names[i]);
        EXPECT(cohort_token_cancel(&token), 0);
        EXPECT(cohort_shared_unlock(shared), EPERM);
        EXPECT(cohort_shared_read(shared), 0);
        EXPECT(cohort_shared_read_try(shared), 0);
        EXPECT(cohort_shared_write_try(shared), EBUSY);
        EXPECT(cohort_shared_write_for(shared, 1000000), ETIMEDOUT);
        EXPECT(cohort_shared_write_until(shared, CLOCK_MONOTONIC, &past), ETIMEDOUT);
        EXPECT(cohort_shared_write_unless(shared, &token), ECANCELED);
        EXPECT(cohort_shared_free(shared), EBUSY);
        EXPECT(cohort_shared_unlock(shared), 0);
        EXPECT(cohort_shared_unlock(shared), 0);
        EXPECT(cohort_shared_unlock(shared), EPERM);
        EXPECT(cohort_shared_write(shared), 0);
        EXPECT(cohort_shared_is_written(shared), 1);
        EXPECT(cohort_shared_read_try(shared), EBUSY);
        EXPECT(cohort_shared_read_for(shared, 1000000), ETIMEDOUT);
        EXPECT(cohort_shared_read_until(shared, CLOCK_REALTIME, &past), ETIMEDOUT);
        EXPECT(cohort_shared_read_unless(shared, &token), ECANCELED);

        /* A forked child keeps its thread's lock. */
        pid_t forked = fork();
        if (forked == 0) {
            int ended = cohort_shared_unlock(shared);
            ended |= cohort_shared_write(shared);
            ended |= cohort_shared_unlock(shared);
            _exit(ended);
        }
        int ended = 1;
        waitpid(forked, &ended, 0);
        EXPECT(ended, 0);

        EXPECT(cohort_shared_unlock(shared), 0);
        EXPECT(cohort_shared_free(shared), 0);
    }
    EXPECT(cohort_shared_read(NULL), EINVAL);

    EXPECT(cohort_cond_wait(&cond, &mutex), EPERM);
    EXPECT(cohort_cond_signal(NULL), EINVAL);

    errno = 0;
    if (cohort_lock_new("no-such-lock") || errno != EINVAL)
        return 1;
    cohort_lock_t *lock = cohort_lock_new("mcs");
    EXPECT(cohort_lock_release(lock), EPERM);
    EXPECT(cohort_lock_acquire_by(lock, NULL), EINVAL);
    EXPECT(cohort_lock_acquire_by(lock, &context), 0);
    EXPECT(cohort_lock_release(lock), EPERM);
    EXPECT(cohort_cond_wait_lock(&cond, lock), EPERM);
    EXPECT(cohort_lock_free(lock), EBUSY);
    EXPECT(cohort_lock_acquire_try(lock), EBUSY);
    EXPECT(cohort_lock_acquire_for(lock, 1000000), ETIMEDOUT);

    /* A forked child keeps its thread's locks. */
    pid_t child = fork();
    if (child == 0) {
        int ended = cohort_lock_release_by(lock, &context);
        ended |= cohort_lock_acquire(lock);
        ended |= cohort_lock_release(lock);
        _exit(ended);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT(status, 0);

    EXPECT(cohort_lock_release_by(lock, &context), 0);
    EXPECT(cohort_lock_free(lock), 0);
    printf("misuse: noticed\n");
    return 0;
}
