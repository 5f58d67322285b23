/* Memory that was used for something else is locked as if it held a mutex. */
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
