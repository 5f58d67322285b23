/* A thread of the idle class waits for a lock, on a CPU that two others keep busy; on
 * another CPU one thread uses the lock all the time, and two come now and then.  Prints how
 * often each of those two had the lock within a second.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { VISITORS = 2, BURNERS = 2, SECTION = 1000, OUTSIDE = 500000 };
enum { UNAVAILABLE = 77 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_long visits[VISITORS];
static cpu_set_t crowded, served;

static void compute(int steps)
{
    for (volatile int i = 0; i < steps; i++)
        ;
}

static void use(int section)
{
    pthread_mutex_lock(&mutex);
    compute(section);
    pthread_mutex_unlock(&mutex);
}

static void stay_on(const cpu_set_t *cpu)
{
    if (sched_setaffinity(0, sizeof *cpu, cpu) != 0)
        exit(UNAVAILABLE);
}

static void *burn(void *argument)
{
    stay_on(&crowded);
    for (;;)
        compute(OUTSIDE);
    return argument;
}

/* Seldom holds the lock, so that it loses its CPU while it waits. */
static void *wait_idly(void *argument)
{
    const struct sched_param none = {0};
    stay_on(&crowded);
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        exit(UNAVAILABLE);
    for (;;) {
        use(0);
        compute(OUTSIDE);
    }
    return argument;
}

static void *hog(void *argument)
{
    stay_on(&served);
    for (;;)
        use(SECTION);
    return argument;
}

static void *visit(void *argument)
{
    atomic_long *count = argument;
    stay_on(&served);
    for (;;) {
        use(SECTION);
        atomic_fetch_add(count, 1);
        usleep(100);
    }
    return NULL;
}

static void start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0)
        exit(UNAVAILABLE);
}

int main(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return UNAVAILABLE;
    int cpu = 0;
    for (cpu_set_t *next = &crowded; next != NULL; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_SET(cpu, next);
        next = next == &crowded ? &served : NULL;
    }
    start(hog, NULL);
    start(wait_idly, NULL);
    usleep(100000);
    for (int i = 0; i < BURNERS; i++)
        start(burn, NULL);
    usleep(20000);
    for (int i = 0; i < VISITORS; i++)
        start(visit, &visits[i]);
    sleep(1);
    for (int i = 0; i < VISITORS; i++)
        printf("%ld\n", atomic_load(&visits[i]));
    fflush(stdout);
    /* Nobody is waited for: the idle thread may come back late. */
    _exit(0);
}
