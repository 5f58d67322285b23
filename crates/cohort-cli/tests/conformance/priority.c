/* Priority inheritance and ceilings reach the scheduler. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct kind inherit_errorcheck = {
    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_STALLED,
    PTHREAD_PRIO_INHERIT};
static const struct kind inherit_recursive = {
    PTHREAD_MUTEX_RECURSIVE, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_STALLED,
    PTHREAD_PRIO_INHERIT};

enum { HIGH = 7 };

static void *wait_at_high_priority(void *argument)
{
    struct sched_param priority = {HIGH};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0)
        skip("a real-time priority is needed");
    OK(pthread_mutex_lock(argument));
    OK(pthread_mutex_unlock(argument));
    return NULL;
}

/* The priority the kernel runs this thread at: below zero is real-time. */
static long kernel_priority(void)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", gettid());
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(line, sizeof line, file) != NULL);
    fclose(file);
    const char *after_name = strrchr(line, ')');
    CHECK(after_name != NULL);
    long priority;
    CHECK_EQ(sscanf(after_name + 1,
                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
                    "%*d %*d %ld",
                    &priority),
             1);
    return priority;
}

/* An ordinary holder runs at the priority of the real-time thread it keeps
 * waiting, and at its own again afterwards. */
static void boosted(const void *with)
{
    (void)with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[INHERIT]);
    OK(pthread_mutex_lock(&mutex));
    long own = kernel_priority();
    CHECK(own >= 0);
    pthread_t waiter = start(wait_at_high_priority, &mutex);
    while (kernel_priority() >= 0)
        rest_ms(1);
    CHECK_EQ(kernel_priority(), -1 - HIGH);
    OK(pthread_mutex_unlock(&mutex));
    join(waiter);
    CHECK_EQ(kernel_priority(), own);
    OK(pthread_mutex_destroy(&mutex));
}

static void inherit_misuse(const void *with)
{
    (void)with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &inherit_errorcheck);
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    GIVES(EDEADLK, pthread_mutex_lock(&mutex));
    /* Not EBUSY, as the private kind gives: the C library's own word. */
    GIVES(EDEADLK, pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));

    kind_init(&mutex, &inherit_recursive);
    GIVES(EPERM, pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!held_for_others(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void ceiling(const void *with)
{
    (void)with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[PROTECT]);
    int lowest = sched_get_priority_min(SCHED_FIFO), got;
    OK(pthread_mutex_getprioceiling(&mutex, &got));
    CHECK_EQ(got, lowest);
    OK(pthread_mutex_setprioceiling(&mutex, HIGH, &got));
    CHECK_EQ(got, lowest);
    OK(pthread_mutex_getprioceiling(&mutex, &got));
    CHECK_EQ(got, HIGH);
    CHECK_EQ(kernel_priority(), -1 - lowest);
    OK(pthread_mutex_lock(&mutex));
    CHECK_EQ(kernel_priority(), -1 - HIGH);
    OK(pthread_mutex_unlock(&mutex));
    CHECK_EQ(kernel_priority(), -1 - lowest);

    struct sched_param above = {HIGH + 1};
    OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &above));
    GIVES(EINVAL, pthread_mutex_lock(&mutex));
    GIVES(EINVAL, pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

CASES(CASE("boosted", boosted), CASE("inherit-misuse", inherit_misuse),
      CASE("ceiling", ceiling))
