/* A table with many readers and few writers. */
#include <cohort.h>
#include <pthread.h>
#include <stdio.h>

static cohort_rwlock_t rwlock = COHORT_RWLOCK_INIT;
static long pair[2];

static void *look(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        cohort_rwlock_read(&rwlock);
        int is_torn = pair[0] != pair[1];
        cohort_rwlock_unlock(&rwlock);
        if (is_torn)
            return &rwlock;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    void *torn[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, look, NULL);
    for (int i = 0; i < 2000; i++) {
        cohort_rwlock_write(&rwlock);
        pair[0]++;
        pair[1]++;
        cohort_rwlock_unlock(&rwlock);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], &torn[i]);

    printf("readers: %ld\n", pair[0]);
    return torn[0] || torn[1] || torn[2];
}
