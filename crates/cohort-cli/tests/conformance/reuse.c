/* Memory that was a lock becomes another one, in whatever state it was left. */
#include "support/check.h"
#include "support/clock.h"
#include "support/kind.h"

#include <stdlib.h>
#include <string.h>

/* The same bytes under each of their names. */
union object {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
    pthread_spinlock_t spin;
};

static void *count_by_mutex(void *argument)
{
    union object *object = argument;
    for (int turns = 0; turns < 300; turns++) {
        OK(pthread_mutex_lock(&object->mutex));
        linger(turns);
        OK(pthread_mutex_unlock(&object->mutex));
    }
    return NULL;
}

static void contend(union object *object)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(count_by_mutex, object);
    for (int i = 0; i < 3; i++)
        join(threads[i]);
}

static void as_mutex(union object *object)
{
    OK(pthread_mutex_init(&object->mutex, NULL));
    OK(pthread_mutex_lock(&object->mutex));
    CHECK(held_for_others(&object->mutex));
    OK(pthread_mutex_unlock(&object->mutex));
    contend(object);
    CHECK(!held_for_others(&object->mutex));
}

static void as_recursive(union object *object)
{
    kind_init(&object->mutex, &kinds[RECURSIVE]);
    OK(pthread_mutex_lock(&object->mutex));
    OK(pthread_mutex_lock(&object->mutex));
    OK(pthread_mutex_unlock(&object->mutex));
    CHECK(held_for_others(&object->mutex));
    OK(pthread_mutex_unlock(&object->mutex));
    GIVES(EPERM, pthread_mutex_unlock(&object->mutex));
    contend(object);
}

static void as_rwlock(union object *object)
{
    OK(pthread_rwlock_init(&object->rwlock, NULL));
    OK(pthread_rwlock_rdlock(&object->rwlock));
    OK(pthread_rwlock_rdlock(&object->rwlock));
    GIVES(EBUSY, pthread_rwlock_trywrlock(&object->rwlock));
    OK(pthread_rwlock_unlock(&object->rwlock));
    OK(pthread_rwlock_unlock(&object->rwlock));
    OK(pthread_rwlock_wrlock(&object->rwlock));
    GIVES(EBUSY, pthread_rwlock_tryrdlock(&object->rwlock));
    OK(pthread_rwlock_unlock(&object->rwlock));
}

struct bell {
    union object *object;
    pthread_mutex_t mutex;
    bool rung;
};

static void *ring(void *argument)
{
    struct bell *bell = argument;
    OK(pthread_mutex_lock(&bell->mutex));
    bell->rung = true;
    OK(pthread_cond_signal(&bell->object->cond));
    OK(pthread_mutex_unlock(&bell->mutex));
    return NULL;
}

static void as_cond(union object *object)
{
    OK(pthread_cond_init(&object->cond, NULL));
    struct bell bell = {object, PTHREAD_MUTEX_INITIALIZER, false};
    OK(pthread_mutex_lock(&bell.mutex));
    pthread_t ringer = start(ring, &bell);
    while (!bell.rung)
        OK(pthread_cond_wait(&object->cond, &bell.mutex));
    OK(pthread_mutex_unlock(&bell.mutex));
    join(ringer);
}

static void as_spin(union object *object)
{
    OK(pthread_spin_init(&object->spin, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_lock(&object->spin));
    GIVES(EBUSY, pthread_spin_trylock(&object->spin));
    OK(pthread_spin_unlock(&object->spin));
}

static void as_zeroed_mutex(union object *object)
{
    memset(object, 0, sizeof *object);
    OK(pthread_mutex_lock(&object->mutex));
    CHECK(held_for_others(&object->mutex));
    OK(pthread_mutex_unlock(&object->mutex));
    contend(object);
}

static void (*const lives[])(union object *) = {
    as_mutex, as_recursive, as_rwlock, as_cond, as_spin, as_zeroed_mutex};
enum { LIVES = sizeof lives / sizeof *lives };

/* Ways to leave an object without destroying it. */

static void leave_mutex_locked(union object *object)
{
    OK(pthread_mutex_init(&object->mutex, NULL));
    OK(pthread_mutex_lock(&object->mutex));
}

static void *lock_only(void *argument)
{
    OK(pthread_mutex_lock(&((union object *)argument)->mutex));
    return NULL;
}

static void leave_mutex_to_the_dead(union object *object)
{
    kind_init(&object->mutex, &kinds[ERRORCHECK]);
    join(start(lock_only, object));
}

static void *lock_in_time(void *argument)
{
    struct timespec deadline = in_ms(CLOCK_REALTIME, 5);
    GIVES(ETIMEDOUT, pthread_mutex_timedlock(
                         &((union object *)argument)->mutex, &deadline));
    return NULL;
}

/* Contended, its waiters gone, and still locked. */
static void leave_mutex_after_waiters(union object *object)
{
    leave_mutex_locked(object);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(lock_in_time, object);
    for (int i = 0; i < 3; i++)
        join(threads[i]);
}

static void leave_rwlock_written(union object *object)
{
    OK(pthread_rwlock_init(&object->rwlock, NULL));
    OK(pthread_rwlock_wrlock(&object->rwlock));
}

static void leave_rwlock_read(union object *object)
{
    OK(pthread_rwlock_init(&object->rwlock, NULL));
    OK(pthread_rwlock_rdlock(&object->rwlock));
    OK(pthread_rwlock_rdlock(&object->rwlock));
}

static void leave_spin_locked(union object *object)
{
    OK(pthread_spin_init(&object->spin, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_lock(&object->spin));
}

static void leave_garbage(union object *object)
{
    memset(object, 0xC7, sizeof *object);
}

/* The same memory, by chance or by an allocator's habit, as everything. */
static void every_life_after(void (*leave)(union object *))
{
    static union object object;
    for (int round = 0; round < 3; round++) {
        for (int life = 0; life < LIVES; life++) {
            leave(&object);
            lives[life](&object);
        }
    }
}

#define LEFT(name)                                                             \
    static void after_##name(const void *with)                                 \
    {                                                                          \
        (void)with;                                                            \
        every_life_after(leave_##name);                                        \
    }
LEFT(mutex_locked)
LEFT(mutex_to_the_dead)
LEFT(mutex_after_waiters)
LEFT(rwlock_written)
LEFT(rwlock_read)
LEFT(spin_locked)
LEFT(garbage)

/* Freed to the allocator and taken from it, as programs do. */
static void freed_while_locked(const void *with)
{
    (void)with;
    for (int i = 0; i < 600; i++) {
        union object *object = malloc(sizeof *object);
        CHECK(object != NULL);
        lives[i % LIVES](object);
        if (i % 3 == 0)
            leave_mutex_locked(object);
        else if (i % 3 == 1)
            leave_rwlock_read(object);
        free(object);
    }
}

static void copied(const void *with)
{
    (void)with;
    pthread_mutex_t template = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_t copies[100];
    for (int i = 0; i < 100; i++)
        memcpy(&copies[i], &template, sizeof template);
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_lock(&copies[i]));
        OK(pthread_mutex_lock(&copies[i]));
    }
    CHECK(held_for_others(&copies[50]));
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_unlock(&copies[i]));
        OK(pthread_mutex_unlock(&copies[i]));
        GIVES(EPERM, pthread_mutex_unlock(&copies[i]));
    }
}

CASES(CASE("after-mutex-locked", after_mutex_locked),
      CASE("after-mutex-to-the-dead", after_mutex_to_the_dead),
      CASE("after-mutex-after-waiters", after_mutex_after_waiters),
      CASE("after-rwlock-written", after_rwlock_written),
      CASE("after-rwlock-read", after_rwlock_read),
      CASE("after-spin-locked", after_spin_locked),
      CASE("after-garbage", after_garbage),
      CASE("freed-while-locked", freed_while_locked), CASE("copied", copied))
