// The C library's locks, as the interposer serves them, and those of the library for C, in one program:
// each section is inside locks of both; and so in a child that it forks, while it goes on itself.

#include <cohort.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 5000 };

static pthread_mutex_t theirs = PTHREAD_MUTEX_INITIALIZER;
static cohort_mutex_t ours = COHORT_MUTEX_INIT;
static pthread_rwlock_t their_table = PTHREAD_RWLOCK_INITIALIZER;
static cohort_rwlock_t our_table = COHORT_RWLOCK_INIT;
static pthread_cond_t their_turn = PTHREAD_COND_INITIALIZER;
static cohort_cond_t our_turn = COHORT_COND_INIT;
static cohort_lock_t *named;
static long by_mutexes, by_tables, by_name, sent, received, taken;

static void *counts(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&theirs);
        cohort_mutex_lock(&ours);
        by_mutexes++;
        cohort_mutex_unlock(&ours);
        pthread_mutex_unlock(&theirs);

        cohort_rwlock_write(&our_table);
        pthread_rwlock_wrlock(&their_table);
        by_tables++;
        pthread_rwlock_unlock(&their_table);
        cohort_rwlock_unlock(&our_table);

        cohort_lock_acquire(named);
        by_name++;
        cohort_lock_release(named);
    }
    return nothing;
}

// A condition of the C library's signals to one thread that something was sent; one of ours signals
// to the other that it was received.
static void *sends(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&theirs);
        sent++;
        pthread_cond_signal(&their_turn);
        pthread_mutex_unlock(&theirs);

        cohort_mutex_lock(&ours);
        while (received <= i)
            cohort_cond_wait(&our_turn, &ours);
        cohort_mutex_unlock(&ours);
    }
    return nothing;
}

static void *receives(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&theirs);
        while (sent <= i)
            pthread_cond_wait(&their_turn, &theirs);
        taken++;
        pthread_mutex_unlock(&theirs);

        cohort_mutex_lock(&ours);
        received++;
        cohort_cond_signal(&our_turn);
        cohort_mutex_unlock(&ours);
    }
    return nothing;
}

static int run(void)
{
    pthread_t threads[THREADS + 2];
    by_mutexes = by_tables = by_name = sent = received = taken = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, counts, NULL);
    pthread_create(&threads[THREADS], NULL, sends, NULL);
    pthread_create(&threads[THREADS + 1], NULL, receives, NULL);
    for (int i = 0; i < THREADS + 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld %ld %ld\n", by_mutexes, by_tables, by_name, taken);
    fflush(stdout);
    return by_mutexes == THREADS * ROUNDS && by_tables == by_mutexes && by_name == by_mutexes
        && taken == ROUNDS && received == ROUNDS;
}

int main(void)
{
    named = cohort_lock_new("mcs");
    if (named == NULL || !run())
        return 1;
    // What the parent has used goes on in a child.
    pid_t child = fork();
    if (child == 0)
        _exit(run() ? 0 : 2);
    int status = 1;
    if (!run() || waitpid(child, &status, 0) != child)
        return 3;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
