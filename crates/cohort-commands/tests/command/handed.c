/* Locks that are handed on in known ways: `alone` by one thread to itself; `near` and `far` in turns
   between two threads, on one CPU and on two, as is `table`, which one writes and the other
   reads.  Prints on how many CPUs the two ran. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALONE = 40000, TURNS = 2000 };

static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t near = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t far = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static cpu_set_t allowed;
static atomic_int turn;
static int apart;

/* Keeps the calling thread on the first CPU of those allowed, or on the second, if there is one. */
static void stay(int on_second)
{
    cpu_set_t one;
    int cpu = 0;
    for (int left = on_second && CPU_COUNT(&allowed) > 1; !CPU_ISSET(cpu, &allowed) || left-- > 0;)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        exit(1);
}

static void *take_turns(void *number)
{
    int mine = *(int *)number;
    stay(apart && mine);
    for (int round = 0; round < TURNS; round++) {
        while (atomic_load(&turn) != mine)
            sched_yield();
        pthread_mutex_lock(apart ? &far : &near);
        pthread_mutex_unlock(apart ? &far : &near);
        if (mine)
            pthread_rwlock_rdlock(&table);
        else
            pthread_rwlock_wrlock(&table);
        pthread_rwlock_unlock(&table);
        atomic_store(&turn, !mine);
    }
    return NULL;
}

int main(void)
{
    static int numbers[] = { 0, 1 };
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 1;
    for (int round = 0; round < ALONE; round++) {
        pthread_mutex_lock(&alone);
        pthread_mutex_unlock(&alone);
    }
    for (apart = 0; apart < 2; apart++) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            if (pthread_create(&threads[i], NULL, take_turns, &numbers[i]) != 0)
                return 1;
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%d\n", CPU_COUNT(&allowed) > 1 ? 2 : 1);
    return 0;
}
