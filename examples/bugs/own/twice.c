/* A thread takes the lock of an address twice: it waits for itself. */
#include <cohort.h>

static int ledger[4];

static void append(int *entry)
{
    cohort_gls_lock(entry);
    ++*entry;
    cohort_gls_unlock(entry);
}

int main(void)
{
    cohort_gls_lock(&ledger[2]);
    append(&ledger[2]);
    cohort_gls_unlock(&ledger[2]);
    return 0;
}
