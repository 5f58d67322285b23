/* Deadlines of condition variables, on every clock. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

enum { SHORT_MS = 50 };

/* How a program waits until a moment: which clock the moment is on, which one
 * the condition variable was made with, and whether the call names it. */
struct wait {
    clockid_t clock;
    bool set_attribute, named_in_call;
    int shared;
};

static const struct wait waits[] = {
    {CLOCK_REALTIME, false, false, PTHREAD_PROCESS_PRIVATE},
    {CLOCK_REALTIME, true, false, PTHREAD_PROCESS_PRIVATE},
    {CLOCK_MONOTONIC, true, false, PTHREAD_PROCESS_PRIVATE},
    {CLOCK_REALTIME, false, true, PTHREAD_PROCESS_PRIVATE},
    {CLOCK_MONOTONIC, false, true, PTHREAD_PROCESS_PRIVATE},
    {CLOCK_REALTIME, false, false, PTHREAD_PROCESS_SHARED},
    {CLOCK_MONOTONIC, true, false, PTHREAD_PROCESS_SHARED},
    {CLOCK_MONOTONIC, false, true, PTHREAD_PROCESS_SHARED},
};

#define EACH_WAIT(prefix, run)                                                 \
    CASE_WITH(prefix "/default", run, &waits[0]),                              \
    CASE_WITH(prefix "/attribute-realtime", run, &waits[1]),                   \
    CASE_WITH(prefix "/attribute-monotonic", run, &waits[2]),                  \
    CASE_WITH(prefix "/clockwait-realtime", run, &waits[3]),                   \
    CASE_WITH(prefix "/clockwait-monotonic", run, &waits[4]),                  \
    CASE_WITH(prefix "/shared-default", run, &waits[5]),                       \
    CASE_WITH(prefix "/shared-attribute-monotonic", run, &waits[6]),           \
    CASE_WITH(prefix "/shared-clockwait-monotonic", run, &waits[7])

static void make(pthread_cond_t *cond, const struct wait *wait)
{
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, wait->shared));
    if (wait->set_attribute)
        OK(pthread_condattr_setclock(&attributes, wait->clock));
    /* The call's own clock must win over the attribute. */
    if (wait->named_in_call)
        OK(pthread_condattr_setclock(&attributes,
                                     wait->clock == CLOCK_MONOTONIC
                                         ? CLOCK_REALTIME
                                         : CLOCK_MONOTONIC));
    OK(pthread_cond_init(cond, &attributes));
    OK(pthread_condattr_destroy(&attributes));
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
                      const struct wait *wait, const struct timespec *deadline)
{
    return wait->named_in_call
               ? pthread_cond_clockwait(cond, mutex, wait->clock, deadline)
               : pthread_cond_timedwait(cond, mutex, deadline);
}

static void times_out(const void *with)
{
    const struct wait *wait = with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[ERRORCHECK]);
    pthread_cond_t cond;
    make(&cond, wait);
    OK(pthread_mutex_lock(&mutex));
    for (int ms = 1; ms <= SHORT_MS; ms += 7) {
        struct timespec deadline = in_ms(wait->clock, ms);
        int error;
        while ((error = wait_until(&cond, &mutex, wait, &deadline)) == 0)
            ;
        GIVES(ETIMEDOUT, error);
        check_punctual(wait->clock, deadline);
        GIVES(EDEADLK, pthread_mutex_lock(&mutex));
    }
    struct timespec past = in_ms(wait->clock, -1000);
    GIVES(ETIMEDOUT, wait_until(&cond, &mutex, wait, &past));
    struct timespec before_time = {-1, 0};
    GIVES(ETIMEDOUT, wait_until(&cond, &mutex, wait, &before_time));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_destroy(&cond));
    OK(pthread_mutex_destroy(&mutex));
}

/* A spoiled deadline is refused with the mutex held as before. */
static void bad_deadline(const void *with)
{
    const struct wait *wait = with;
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[ERRORCHECK]);
    pthread_cond_t cond;
    make(&cond, wait);
    OK(pthread_mutex_lock(&mutex));
    struct timespec negative = below_zero(in_ms(wait->clock, SHORT_MS));
    GIVES(EINVAL, wait_until(&cond, &mutex, wait, &negative));
    struct timespec excessive = whole_second(in_ms(wait->clock, SHORT_MS));
    GIVES(EINVAL, wait_until(&cond, &mutex, wait, &excessive));
    CHECK(held_for_others(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_destroy(&cond));
}

struct bell {
    const struct wait *wait;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool rung;
};

static void *ring(void *argument)
{
    struct bell *bell = argument;
    settle();
    OK(pthread_mutex_lock(&bell->mutex));
    bell->rung = true;
    OK(pthread_cond_signal(&bell->cond));
    OK(pthread_mutex_unlock(&bell->mutex));
    return NULL;
}

/* A signal ends a wait long before its deadline. */
static void signalled_in_time(const void *with)
{
    struct bell bell = {.wait = with, .mutex = PTHREAD_MUTEX_INITIALIZER};
    make(&bell.cond, with);
    OK(pthread_mutex_lock(&bell.mutex));
    pthread_t ringer = start(ring, &bell);
    struct timespec deadline = in_ms(bell.wait->clock, 40000);
    while (!bell.rung)
        OK(wait_until(&bell.cond, &bell.mutex, bell.wait, &deadline));
    CHECK(ms_between(in_ms(bell.wait->clock, 0), deadline) > 20000);
    OK(pthread_mutex_unlock(&bell.mutex));
    join(ringer);
    OK(pthread_cond_destroy(&bell.cond));
}

static void bad_clock(const void *with)
{
    (void)with;
    static const clockid_t others[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME,
                                       -1};
    pthread_mutex_t mutex;
    kind_init(&mutex, &kinds[ERRORCHECK]);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_mutex_lock(&mutex));
    struct timespec deadline = in_ms(CLOCK_REALTIME, SHORT_MS);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        GIVES(EINVAL,
              pthread_cond_clockwait(&cond, &mutex, others[i], &deadline));
        GIVES(EINVAL, pthread_condattr_setclock(&attributes, others[i]));
    }
    GIVES(EDEADLK, pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_condattr_destroy(&attributes));
}

enum { TAKERS = 8, TOKENS = 4000 };

struct storm {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int tokens, taken;
};

/* Waits in slices so short that deadlines and signals race all the time. */
static void *take_impatiently(void *argument)
{
    struct storm *storm = argument;
    OK(pthread_mutex_lock(&storm->mutex));
    for (unsigned turn = 0; storm->taken < TOKENS; turn++) {
        if (storm->tokens > 0) {
            storm->tokens--;
            progress();
            if (++storm->taken == TOKENS)
                OK(pthread_cond_broadcast(&storm->cond));
            continue;
        }
        struct timespec deadline = in_ms(CLOCK_MONOTONIC, turn % 3);
        int error = turn % 7 == 6
                        ? pthread_cond_wait(&storm->cond, &storm->mutex)
                        : pthread_cond_clockwait(&storm->cond, &storm->mutex,
                                                 CLOCK_MONOTONIC, &deadline);
        if (error != ETIMEDOUT)
            OK(error);
    }
    OK(pthread_mutex_unlock(&storm->mutex));
    return NULL;
}

/* Time-outs take no signal from threads that still wait: every token is served,
 * also when only patient waiters are left. */
static void storm(const void *with)
{
    (void)with;
    struct storm storm = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .cond = PTHREAD_COND_INITIALIZER};
    pthread_t takers[TAKERS];
    for (int i = 0; i < TAKERS; i++)
        takers[i] = start(take_impatiently, &storm);
    for (int i = 0; i < TOKENS; i++) {
        OK(pthread_mutex_lock(&storm.mutex));
        storm.tokens++;
        OK(pthread_mutex_unlock(&storm.mutex));
        OK(pthread_cond_signal(&storm.cond));
        if (i % 100 == 99)
            rest_ms(1);
    }
    for (int i = 0; i < TAKERS; i++)
        join(takers[i]);
    CHECK_EQ(storm.taken, TOKENS);
    CHECK_EQ(storm.tokens, 0);
    OK(pthread_cond_destroy(&storm.cond));
}

CASES(EACH_WAIT("times-out", times_out),
      EACH_WAIT("bad-deadline", bad_deadline),
      EACH_WAIT("signalled-in-time", signalled_in_time),
      CASE("bad-clock", bad_clock), CASE("storm", storm))
