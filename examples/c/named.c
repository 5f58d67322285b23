/* Any lock, by its name: those of `cohort list`, and compositions. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

struct shared {
    cohort_lock_t *lock;
    cohort_cond_t done;
    long total;
    int left;
};

static void *work(void *argument)
{
    struct shared *shared = argument;
    cohort_context_t context;

    for (int i = 0; i < 500; i++) {
        /* The lock's queue node is in the caller's frame. */
        cohort_lock_acquire_by(shared->lock, &context);
        shared->total++;
        cohort_lock_release_by(shared->lock, &context);

        /* The library provides the queue node. */
        cohort_lock_acquire(shared->lock);
        shared->total++;
        cohort_lock_release(shared->lock);
    }
    cohort_lock_acquire(shared->lock);
    shared->left--;
    cohort_cond_signal(&shared->done);
    cohort_lock_release(shared->lock);
    return NULL;
}

static int count_by(const char *name)
{
    struct shared shared = { cohort_lock_new(name), COHORT_COND_INIT, 0, 4 };
    pthread_t threads[4];

    if (!shared.lock) {
        char why[120];
        cohort_lock_explain(name, why, sizeof why);
        fprintf(stderr, "named: %s: %s\n", name, why);
        return 1;
    }
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &shared);
    cohort_lock_acquire(shared.lock);
    while (shared.left > 0)
        cohort_cond_wait_lock(&shared.done, shared.lock);
    int is_busy = cohort_lock_free(shared.lock) == EBUSY; /* it is held */
    cohort_lock_release(shared.lock);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    if (cohort_lock_acquire_for(shared.lock, 1000000000) != 0)
        return 1;
    cohort_lock_release(shared.lock);
    return shared.total != 4000 || !is_busy || cohort_lock_free(shared.lock) != 0;
}

int main(int count, char **names)
{
    static char *usual[] = { "", "mcs", "clh", "hmcs-t", "clof:mcs-mcs-ticket@cache,numa,system" };

    if (count < 2) {
        names = usual;
        count = sizeof usual / sizeof *usual;
    }
    for (int i = 1; i < count; i++)
        if (count_by(names[i]) != 0) {
            printf("named: %s failed\n", names[i]);
            return 1;
        }
    printf("named: %d locks\n", count - 1);
    return 0;
}
