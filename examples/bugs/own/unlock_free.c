/* A key's lock is released once too often. */
#include <cohort.h>

static int counter;

int main(void)
{
    cohort_gls_lock(&counter);
    counter++;
    cohort_gls_unlock(&counter);
    cohort_gls_unlock(&counter);
    return 0;
}
