/* Waiting on a condition is a cancellation point: the mutex is held again in
 * the cleanup handlers, and no signal is lost with the cancelled thread. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <sched.h>
#include <sys/mman.h>

enum form { WAIT, TIMEDWAIT, CLOCKWAIT };

struct scene {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    enum form form;
    int type;
    int waiting, tokens, served;
    atomic_int cleaned;
};

static int wait_on(struct scene *scene)
{
    struct timespec real = in_ms(CLOCK_REALTIME, 40000);
    struct timespec steady = in_ms(CLOCK_MONOTONIC, 40000);
    switch (scene->form) {
    case WAIT:
        return pthread_cond_wait(&scene->cond, &scene->mutex);
    case TIMEDWAIT:
        return pthread_cond_timedwait(&scene->cond, &scene->mutex, &real);
    default:
        return pthread_cond_clockwait(&scene->cond, &scene->mutex,
                                      CLOCK_MONOTONIC, &steady);
    }
}

static void clean_up(void *argument)
{
    struct scene *scene = argument;
    atomic_fetch_add(&scene->cleaned, 1);
    if (scene->type == PTHREAD_MUTEX_ERRORCHECK)
        GIVES(EDEADLK, pthread_mutex_lock(&scene->mutex));
    CHECK(held_for_others(&scene->mutex));
    scene->waiting--;
    OK(pthread_mutex_unlock(&scene->mutex));
}

static void *wait_for_token(void *argument)
{
    struct scene *scene = argument;
    OK(pthread_mutex_lock(&scene->mutex));
    pthread_cleanup_push(clean_up, scene);
    scene->waiting++;
    while (scene->tokens == 0)
        OK(wait_on(scene));
    scene->tokens--;
    scene->served++;
    scene->waiting--;
    pthread_cleanup_pop(0);
    OK(pthread_mutex_unlock(&scene->mutex));
    return NULL;
}

static void set(struct scene *scene, enum form form, const struct kind *kind)
{
    scene->form = form;
    scene->type = kind->type;
    kind_init(&scene->mutex, kind);
    OK(pthread_cond_init(&scene->cond, NULL));
}

static void lock_when_waiting(struct scene *scene, int waiting)
{
    for (;;) {
        OK(pthread_mutex_lock(&scene->mutex));
        if (scene->waiting == waiting)
            return;
        OK(pthread_mutex_unlock(&scene->mutex));
        rest_ms(1);
    }
}

static bool was_cancelled(pthread_t thread)
{
    void *result;
    OK(pthread_join(thread, &result));
    return result == PTHREAD_CANCELED;
}

/* The handler runs with the mutex, so not before the canceller lets it go. */
static void cancelled_in(enum form form, const struct kind *kind)
{
    struct scene scene = {0};
    set(&scene, form, kind);
    for (int round = 1; round <= 10; round++) {
        pthread_t waiter = start(wait_for_token, &scene);
        lock_when_waiting(&scene, 1);
        OK(pthread_cancel(waiter));
        settle();
        CHECK_EQ(atomic_load(&scene.cleaned), round - 1);
        OK(pthread_mutex_unlock(&scene.mutex));
        CHECK(was_cancelled(waiter));
        CHECK_EQ(atomic_load(&scene.cleaned), round);
        CHECK(!held_for_others(&scene.mutex));
    }
    OK(pthread_cond_destroy(&scene.cond));
    OK(pthread_mutex_destroy(&scene.mutex));
}

static void in_wait(const void *kind)
{
    cancelled_in(WAIT, kind);
}

static void in_timedwait(const void *kind)
{
    cancelled_in(TIMEDWAIT, kind);
}

static void in_clockwait(const void *kind)
{
    cancelled_in(CLOCKWAIT, kind);
}

static void *cancel_self_then_wait(void *argument)
{
    OK(pthread_cancel(pthread_self()));
    return wait_for_token(argument);
}

/* A request made before the wait is acted on at its beginning, even when a
 * signal is not needed. */
static void requested_before(const void *with)
{
    (void)with;
    for (int form = WAIT; form <= CLOCKWAIT; form++) {
        struct scene scene = {0};
        set(&scene, form, &kinds[ERRORCHECK]);
        CHECK(was_cancelled(start(cancel_self_then_wait, &scene)));
        CHECK_EQ(atomic_load(&scene.cleaned), 1);
        OK(pthread_cond_destroy(&scene.cond));
    }
}

static void *wait_uncancellable(void *argument)
{
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    return wait_for_token(argument);
}

static void disabled(const void *with)
{
    (void)with;
    struct scene scene = {0};
    set(&scene, WAIT, &kinds[NORMAL]);
    pthread_t waiter = start(wait_uncancellable, &scene);
    lock_when_waiting(&scene, 1);
    OK(pthread_mutex_unlock(&scene.mutex));
    OK(pthread_cancel(waiter));
    settle();
    OK(pthread_mutex_lock(&scene.mutex));
    scene.tokens = 1;
    OK(pthread_cond_signal(&scene.cond));
    OK(pthread_mutex_unlock(&scene.mutex));
    CHECK(!was_cancelled(waiter));
    CHECK_EQ(scene.served, 1);
    CHECK_EQ(atomic_load(&scene.cleaned), 0);
}

/* Of two waiters one is signalled while one is cancelled.  The waiter that is
 * left must get the token: the cancelled one may not take the signal with it. */
static void keeps_the_signal(const void *with)
{
    (void)with;
    for (int round = 0; round < 300; round++) {
        struct scene scene = {0};
        set(&scene, round % 3, &kinds[NORMAL]);
        pthread_t first = start(wait_for_token, &scene);
        lock_when_waiting(&scene, 1);
        OK(pthread_mutex_unlock(&scene.mutex));
        pthread_t second = start(wait_for_token, &scene);
        lock_when_waiting(&scene, 2);
        scene.tokens = 1;
        if (round % 2 == 0) {
            OK(pthread_cond_signal(&scene.cond));
            OK(pthread_mutex_unlock(&scene.mutex));
            OK(pthread_cancel(first));
        } else {
            OK(pthread_cancel(first));
            OK(pthread_cond_signal(&scene.cond));
            OK(pthread_mutex_unlock(&scene.mutex));
        }
        /* What join says of it is not to be trusted here: a request's signal
         * that arrives while a thread already ends has the C library overwrite
         * what it returned with PTHREAD_CANCELED. */
        OK(pthread_join(first, NULL));
        if (atomic_load(&scene.cleaned) == 0) {
            CHECK_EQ(scene.served, 1);
            /* It took the token: the other one needs its own. */
            OK(pthread_mutex_lock(&scene.mutex));
            scene.tokens++;
            OK(pthread_cond_signal(&scene.cond));
            OK(pthread_mutex_unlock(&scene.mutex));
        }
        CHECK(!was_cancelled(second));
        progress();
        CHECK_EQ(scene.tokens, 0);
        OK(pthread_cond_destroy(&scene.cond));
        OK(pthread_mutex_destroy(&scene.mutex));
    }
}

/* A waiter that is signalled and cancelled at once, while its condition is
 * destroyed and its memory goes: what the waiter still does touches none of it. */
struct gone {
    pthread_mutex_t mutex;
    pthread_cond_t *cond;
    int waiting, told;
};

static void unlock_gone(void *argument)
{
    struct gone *gone = argument;
    OK(pthread_mutex_unlock(&gone->mutex));
}

static void *wait_until_gone(void *argument)
{
    struct gone *gone = argument;
    OK(pthread_mutex_lock(&gone->mutex));
    pthread_cleanup_push(unlock_gone, gone);
    gone->waiting = 1;
    while (!gone->told)
        OK(pthread_cond_wait(gone->cond, &gone->mutex));
    pthread_cleanup_pop(1);
    return NULL;
}

static void signalled_and_unmapped(const void *with)
{
    (void)with;
    enum { ROUNDS = 300, PAGE = 4096 };
    for (int round = 0; round < ROUNDS; round++) {
        struct gone gone = {.mutex = PTHREAD_MUTEX_INITIALIZER};
        gone.cond = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(gone.cond != MAP_FAILED);
        OK(pthread_cond_init(gone.cond, NULL));
        pthread_t waiter = start(wait_until_gone, &gone);
        for (;;) {
            OK(pthread_mutex_lock(&gone.mutex));
            if (gone.waiting)
                break;
            OK(pthread_mutex_unlock(&gone.mutex));
            sched_yield();
        }
        gone.told = 1;
        OK(pthread_cond_signal(gone.cond));
        OK(pthread_cancel(waiter));
        OK(pthread_mutex_unlock(&gone.mutex));
        OK(pthread_cond_destroy(gone.cond));
        OK(munmap(gone.cond, PAGE));
        OK(pthread_join(waiter, NULL));
        OK(pthread_mutex_destroy(&gone.mutex));
        progress();
    }
}

/* Locking a mutex is no cancellation point. */
static void *lock_with_request_pending(void *argument)
{
    struct scene *scene = argument;
    atomic_store(&scene->cleaned, 1);
    OK(pthread_mutex_lock(&scene->mutex));
    scene->served++;
    OK(pthread_mutex_unlock(&scene->mutex));
    return NULL;
}

static void not_in_lock(const void *kind)
{
    struct scene scene = {0};
    set(&scene, WAIT, kind);
    OK(pthread_mutex_lock(&scene.mutex));
    pthread_t waiter = start(lock_with_request_pending, &scene);
    await(&scene.cleaned, 1);
    settle();
    OK(pthread_cancel(waiter));
    settle();
    OK(pthread_mutex_unlock(&scene.mutex));
    CHECK(!was_cancelled(waiter));
    CHECK_EQ(scene.served, 1);
}

CASES(EACH_KIND("wait", in_wait), EACH_KIND("timedwait", in_timedwait),
      EACH_KIND("clockwait", in_clockwait),
      CASE("requested-before", requested_before), CASE("disabled", disabled),
      CASE("keeps-the-signal", keeps_the_signal),
      CASE("signalled-and-unmapped", signalled_and_unmapped),
      EACH_KIND("not-in-lock", not_in_lock))
