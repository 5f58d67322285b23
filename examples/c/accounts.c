/* Accounts without lock fields: the address of each has a lock. */
#include <cohort.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 1000, THREADS = 4, TRANSFERS = 5000 };

static long accounts[ACCOUNTS];

static void transfer(long *from, long *to)
{
    if (from == to)
        return;
    /* The order of addresses prevents deadlocks. */
    long *first = from < to ? from : to, *second = from < to ? to : from;
    cohort_gls_lock(first);
    cohort_gls_lock(second);
    --*from;
    ++*to;
    cohort_gls_unlock(second);
    cohort_gls_unlock(first);
}

static void *work(void *argument)
{
    unsigned random = *(unsigned *)argument;
    for (int i = 0; i < TRANSFERS; i++) {
        long *from = &accounts[rand_r(&random) % ACCOUNTS];
        transfer(from, &accounts[rand_r(&random) % ACCOUNTS]);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        pthread_create(&threads[i], NULL, work, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    long sum = 0;
    int freed = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        sum += accounts[i];
        /* Other addresses can use the locks' memory. */
        freed += cohort_gls_free(&accounts[i]) == 0;
    }
    printf("accounts: %ld in %d of them\n", sum, freed);
    return sum == 0 && freed == ACCOUNTS && cohort_gls_lock(NULL) != 0 ? 0 : 1;
}
