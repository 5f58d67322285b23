/* The C11 names of the same locks: mtx_ and cnd_. */
#include "support/check.h"
#include "support/clock.h"

#include <threads.h>

enum { SHORT_MS = 30, THREADS = 8, TURNS = 2000 };

struct scene {
    mtx_t mutex;
    cnd_t cond;
    int waiting, tokens;
    atomic_int arrived;
    volatile long count;
};

static int find_held(void *argument)
{
    CHECK_EQ(mtx_trylock(argument), thrd_busy);
    return 0;
}

static bool in_thread(int (*run)(void *), void *with)
{
    thrd_t thread;
    CHECK_EQ(thrd_create(&thread, run, with), thrd_success);
    int result;
    CHECK_EQ(thrd_join(thread, &result), thrd_success);
    return result == 0;
}

static int time_out(void *argument)
{
    struct timespec deadline = in_ms(CLOCK_REALTIME, SHORT_MS);
    CHECK_EQ(mtx_timedlock(argument, &deadline), thrd_timedout);
    check_punctual(CLOCK_REALTIME, deadline);
    struct timespec spoiled = whole_second(deadline);
    CHECK_EQ(mtx_timedlock(argument, &spoiled), thrd_error);
    return 0;
}

static void mutex(const void *with)
{
    int type = *(const int *)with;
    mtx_t mutex;
    CHECK_EQ(mtx_init(&mutex, type), thrd_success);
    CHECK_EQ(mtx_lock(&mutex), thrd_success);
    CHECK(in_thread(find_held, &mutex));
    if (type & mtx_timed)
        CHECK(in_thread(time_out, &mutex));
    if (type & mtx_recursive) {
        CHECK_EQ(mtx_trylock(&mutex), thrd_success);
        CHECK_EQ(mtx_lock(&mutex), thrd_success);
        CHECK_EQ(mtx_unlock(&mutex), thrd_success);
        CHECK_EQ(mtx_unlock(&mutex), thrd_success);
        CHECK(in_thread(find_held, &mutex));
    } else {
        CHECK_EQ(mtx_trylock(&mutex), thrd_busy);
    }
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    CHECK_EQ(mtx_trylock(&mutex), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    if (type & mtx_timed) {
        struct timespec past = in_ms(CLOCK_REALTIME, -SHORT_MS);
        CHECK_EQ(mtx_timedlock(&mutex, &past), thrd_success);
        CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    }
    mtx_destroy(&mutex);
}

static int count(void *argument)
{
    struct scene *scene = argument;
    gather(&scene->arrived, THREADS);
    for (int i = 0; i < TURNS; i++) {
        CHECK_EQ(mtx_lock(&scene->mutex), thrd_success);
        long count = scene->count;
        linger(i);
        scene->count = count + 1;
        CHECK_EQ(mtx_unlock(&scene->mutex), thrd_success);
    }
    return 0;
}

static void exact_count(const void *with)
{
    struct scene scene = {0};
    CHECK_EQ(mtx_init(&scene.mutex, *(const int *)with), thrd_success);
    thrd_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(thrd_create(&threads[i], count, &scene), thrd_success);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(thrd_join(threads[i], NULL), thrd_success);
    CHECK_EQ(scene.count, THREADS * TURNS);
    mtx_destroy(&scene.mutex);
}

static int take_token(void *argument)
{
    struct scene *scene = argument;
    CHECK_EQ(mtx_lock(&scene->mutex), thrd_success);
    scene->waiting++;
    while (scene->tokens == 0)
        CHECK_EQ(cnd_wait(&scene->cond, &scene->mutex), thrd_success);
    scene->tokens--;
    CHECK_EQ(mtx_unlock(&scene->mutex), thrd_success);
    return 0;
}

static void condition(const void *with)
{
    struct scene scene = {0};
    CHECK_EQ(mtx_init(&scene.mutex, *(const int *)with), thrd_success);
    CHECK_EQ(cnd_init(&scene.cond), thrd_success);
    thrd_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(thrd_create(&threads[i], take_token, &scene), thrd_success);
    for (int waiting = 0; waiting < THREADS;) {
        CHECK_EQ(mtx_lock(&scene.mutex), thrd_success);
        waiting = scene.waiting;
        if (waiting == THREADS) {
            scene.tokens = THREADS;
            CHECK_EQ(cnd_signal(&scene.cond), thrd_success);
            CHECK_EQ(cnd_broadcast(&scene.cond), thrd_success);
        }
        CHECK_EQ(mtx_unlock(&scene.mutex), thrd_success);
        rest_ms(1);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(thrd_join(threads[i], NULL), thrd_success);
    CHECK_EQ(scene.tokens, 0);

    CHECK_EQ(mtx_lock(&scene.mutex), thrd_success);
    struct timespec deadline = in_ms(CLOCK_REALTIME, SHORT_MS);
    int code;
    while ((code = cnd_timedwait(&scene.cond, &scene.mutex, &deadline)) ==
           thrd_success)
        ;
    CHECK_EQ(code, thrd_timedout);
    check_punctual(CLOCK_REALTIME, deadline);
    CHECK(in_thread(find_held, &scene.mutex));
    struct timespec spoiled = below_zero(deadline);
    CHECK_EQ(cnd_timedwait(&scene.cond, &scene.mutex, &spoiled), thrd_error);
    CHECK_EQ(mtx_unlock(&scene.mutex), thrd_success);
    cnd_destroy(&scene.cond);
    mtx_destroy(&scene.mutex);
}

static const int plain = mtx_plain, timed = mtx_timed,
                 recursive = mtx_plain | mtx_recursive,
                 timed_recursive = mtx_timed | mtx_recursive;

#define EACH_TYPE(prefix, run)                                                 \
    CASE_WITH(prefix "/plain", run, &plain),                                   \
    CASE_WITH(prefix "/timed", run, &timed),                                   \
    CASE_WITH(prefix "/recursive", run, &recursive),                           \
    CASE_WITH(prefix "/timed-recursive", run, &timed_recursive)

CASES(EACH_TYPE("mutex", mutex), EACH_TYPE("exact-count", exact_count),
      EACH_TYPE("condition", condition))
