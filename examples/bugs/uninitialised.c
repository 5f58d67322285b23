/* Locks memory that holds other data, not a mutex. */
#include <pthread.h>
#include <string.h>

static union {
    char text[64];
    pthread_mutex_t mutex;
} ledger;

int main(void)
{
    memset(&ledger, 'Z', sizeof ledger);
    pthread_mutex_lock(&ledger.mutex);
    return 0;
}
