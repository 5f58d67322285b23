/* Two threads take the locks of two addresses in different orders, and meet: a deadlock. */
#include <cohort.h>
#include <pthread.h>
#include <stddef.h>

static int accounts[2];
static char journal[64];
static pthread_barrier_t both_hold_one;

static void *transfer(void *nothing)
{
    cohort_gls_lock(&accounts[1]);
    pthread_barrier_wait(&both_hold_one);
    cohort_gls_lock(journal);
    accounts[1]--;
    cohort_gls_unlock(journal);
    cohort_gls_unlock(&accounts[1]);
    return nothing;
}

static void *audit(void *nothing)
{
    cohort_gls_lock(journal);
    pthread_barrier_wait(&both_hold_one);
    cohort_gls_lock(&accounts[1]);
    accounts[1]++;
    cohort_gls_unlock(&accounts[1]);
    cohort_gls_unlock(journal);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_create(&one, NULL, transfer, NULL);
    pthread_create(&other, NULL, audit, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
