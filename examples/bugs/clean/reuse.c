/* New mutexes, in the memory of undestroyed ones, have other orders. */
#include <pthread.h>
#include <stdlib.h>

static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

static void *pair(void *memory)
{
    pthread_mutex_t *two = memory;
    for (int round = 0; round < 2; round++) {
        two[0] = fresh;
        two[1] = fresh;
        pthread_mutex_lock(&two[round]);
        pthread_mutex_lock(&two[1 - round]);
        pthread_mutex_unlock(&two[1 - round]);
        pthread_mutex_unlock(&two[round]);
    }
    return NULL;
}

static void *pair_once(void *memory)
{
    pthread_mutex_t *two = memory;
    two[0] = fresh;
    two[1] = fresh;
    pthread_mutex_lock(&two[1]);
    pthread_mutex_lock(&two[0]);
    pthread_mutex_unlock(&two[0]);
    pthread_mutex_unlock(&two[1]);
    return NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_mutex_t *memory = calloc(2, sizeof *memory);
    pthread_create(&one, NULL, pair, memory);
    pthread_join(one, NULL);
    pthread_create(&other, NULL, pair_once, memory);
    pthread_join(other, NULL);
    free(memory);
    return 0;
}
