/* Two holds that end otherwise than that of the lock taken last by its release: one before that of a
 * lock taken later, and one by a wait at a condition, for a time that is over. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { ROUNDS = 500000, WAITS = 50000 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

int main(void)
{
    struct timespec over = { 1, 0 };

    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&outer);
        pthread_mutex_lock(&inner);
        pthread_mutex_unlock(&outer);
        pthread_mutex_unlock(&inner);
    }
    for (int round = 0; round < WAITS; round++) {
        pthread_mutex_lock(&waiting);
        if (pthread_cond_timedwait(&never, &waiting, &over) != ETIMEDOUT)
            return 1;
        pthread_mutex_unlock(&waiting);
    }
    return 0;
}
