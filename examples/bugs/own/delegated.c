/* A section that another thread may run takes a mutex that the waiting thread holds: a deadlock. */
#include <cohort.h>
#include <pthread.h>
#include <stddef.h>

static cohort_delegated_t *counts;
static cohort_mutex_t table = COHORT_MUTEX_INIT;

static void add(void *count)
{
    cohort_mutex_lock(&table);
    ++*(long *)count;
    cohort_mutex_unlock(&table);
}

int main(void)
{
    long count = 0;
    counts = cohort_delegated_new();
    cohort_mutex_lock(&table);
    cohort_delegate(counts, add, &count);
    cohort_mutex_unlock(&table);
    cohort_delegated_free(counts);
    return 0;
}
