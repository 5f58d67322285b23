/* Three kinds of locks for `cohort profile`: a mutex that `audit` holds for long while `deposit`
 * waits, mutexes of one initialisation site, and a rwlock with concurrent readers.
 *
 *   cc -g -O1 -o bank bank.c -lpthread && cohort profile -- ./bank
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { AUDITS = 40, DEPOSITS = 400, READS = 100, BRANCHES = 3 };

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rates = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t *branches[BRANCHES];
static long total;

static void rest(long microseconds)
{
    struct timespec time = { 0, microseconds * 1000 };
    nanosleep(&time, NULL);
}

static void open_branch(int number)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    if (number == 0)
        pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    branches[number] = malloc(sizeof *branches[number]);
    pthread_mutex_init(branches[number], &again);
}

static void *audit(void *nothing)
{
    for (int turn = 0; turn < AUDITS; turn++) {
        pthread_mutex_lock(&accounts);
        rest(5000);
        pthread_mutex_unlock(&accounts);
        rest(1000);
    }
    return nothing;
}

static void *deposit(void *nothing)
{
    for (int turn = 0; turn < DEPOSITS; turn++) {
        pthread_mutex_lock(&accounts);
        total++;
        pthread_mutex_unlock(&accounts);
        pthread_mutex_lock(branches[turn % BRANCHES]);
        pthread_mutex_unlock(branches[turn % BRANCHES]);
        rest(100);
    }
    return nothing;
}

static void *quote(void *nothing)
{
    for (int turn = 0; turn < READS; turn++) {
        pthread_rwlock_rdlock(&rates);
        rest(200);
        pthread_rwlock_unlock(&rates);
    }
    return nothing;
}

int main(void)
{
    pthread_t threads[4];
    for (int number = 0; number < BRANCHES; number++)
        open_branch(number);
    pthread_create(&threads[0], NULL, audit, NULL);
    pthread_create(&threads[1], NULL, deposit, NULL);
    pthread_create(&threads[2], NULL, quote, NULL);
    pthread_create(&threads[3], NULL, quote, NULL);
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
