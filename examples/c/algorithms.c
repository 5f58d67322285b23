/* Locks of addresses, with algorithms of `cohort list`; they need no declaration. */
#include <cohort.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TURNS = 20000 };

/* One lock is contended, the other seldom used. */
static long hot, seldom;

static void *work(void *argument)
{
    (void)argument;
    for (int i = 0; i < TURNS; i++) {
        cohort_gls_mcs_lock(&hot);
        hot++;
        cohort_gls_mcs_unlock(&hot);
        if (i % 100 == 0) {
            cohort_gls_ticket_lock(&seldom);
            seldom++;
            cohort_gls_ticket_unlock(&seldom);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    cohort_gls_init(1000); /* if the number of addresses is known */
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("algorithms: %ld and %ld\n", hot, seldom);
    if (hot != THREADS * TURNS || seldom != THREADS * TURNS / 100)
        return 1;

    /* An address has one lock, of one algorithm, until it is freed. */
    if (cohort_gls_ticket_lock(&hot) != EINVAL || cohort_gls_lock(&hot) != EINVAL)
        return 1;
    cohort_gls_free(&hot);
    if (cohort_gls_ticket_lock(&hot) != 0 || cohort_gls_destroy() != EBUSY)
        return 1;
    cohort_gls_ticket_unlock(&hot);
    return cohort_gls_destroy();
}
