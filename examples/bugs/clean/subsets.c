/* Two nested locks, always in one order, under different sets of further locks. In the end a thread
   acquires them under no further lock: this edge includes all earlier ones, whichever thread was the
   first. */
#include <pthread.h>

enum { GATES = 7 };

static pthread_mutex_t gates[GATES] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER,
};
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t innermost = PTHREAD_MUTEX_INITIALIZER;

static void take(unsigned set)
{
    for (int gate = 0; gate < GATES; gate++)
        if (set >> gate & 1)
            pthread_mutex_lock(&gates[gate]);
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    pthread_mutex_lock(&innermost);
    pthread_mutex_unlock(&innermost);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    for (int gate = GATES - 1; gate >= 0; gate--)
        if (set >> gate & 1)
            pthread_mutex_unlock(&gates[gate]);
}

static void take_under(int count)
{
    for (unsigned set = 0; set < 1U << GATES; set++)
        if (__builtin_popcount(set) == count)
            take(set);
}

static void *three_then_none(void *unused)
{
    take_under(3);
    take_under(0);
    return unused;
}

static void *four(void *unused)
{
    take_under(4);
    return unused;
}

int main(void)
{
    void *(*const ways[])(void *) = {three_then_none, three_then_none, four};
    for (int way = 0; way < 3; way++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, ways[way], NULL) != 0)
            return 2;
        pthread_join(thread, NULL);
    }
    return 0;
}
