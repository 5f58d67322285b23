/* Mutexes of every kind, one in zero memory without initialisation, and one of each static
 * initialiser. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static void use(pthread_mutex_t *mutex)
{
    if (pthread_mutex_lock(mutex) == 0)
        pthread_mutex_unlock(mutex);
}

int main(void)
{
    static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_t *zero = calloc(1, sizeof *zero);
    use(&recursive);
    use(&checking);
    use(&adaptive);
    use(zero);
    free(zero);
    for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ADAPTIVE_NP; type++) {
        for (int variant = 0; variant < 5; variant++) {
            pthread_mutexattr_t attributes;
            pthread_mutex_t mutex;
            pthread_mutexattr_init(&attributes);
            pthread_mutexattr_settype(&attributes, type);
            if (variant == 1)
                pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
            if (variant == 2)
                pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
            if (variant == 3)
                pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
            if (variant == 4)
                pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
            if (pthread_mutex_init(&mutex, &attributes) == 0) {
                use(&mutex);
                pthread_mutex_destroy(&mutex);
            }
        }
    }
    return 0;
}
