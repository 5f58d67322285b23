/* Objects that their last user destroys and frees, as POSIX lets it: no other thread may touch a lock
 * that it has unlocked.  What is freed is filled, kept for a while and looked at, or unmapped. */
#include "support/soak.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 4096, FILLING = 0x5a, GRAVES = 256, LONGEST_NS = 200000 };

enum kind { NORMAL, RECURSIVE, ERRORCHECK, RWLOCK, KINDS };

/* A page of its own. */
struct object {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    enum kind kind;
    /* Guarded by the lock. */
    int references;
    /* What each user has in its mailbox. */
    struct letter {
        struct object *of;
        struct letter *next;
    } letters[MOST_THREADS];
};
_Static_assert(sizeof(struct object) <= BYTES, "an object is a page");

static struct letter *_Atomic mailboxes[MOST_THREADS];
static atomic_ulong made, ended;

/* Freed pages that are looked at before they are unmapped. */
static struct grave {
    unsigned char *_Atomic page;
} graves[GRAVES];

static void look_at(const unsigned char *page)
{
    for (int i = 0; i < BYTES; i++)
        if (page[i] != FILLING)
            wrong(__FILE__, __LINE__, "byte %d of a freed object was written", i);
}

static void free_object(struct object *object, struct dice *dice)
{
    ended++;
    if (one_in(dice, 2)) {
        OK(munmap(object, BYTES));
        return;
    }
    memset(object, FILLING, BYTES);
    unsigned char *page = (unsigned char *)object;
    page = atomic_exchange(&graves[roll(dice, GRAVES)].page, page);
    if (page) {
        look_at(page);
        OK(munmap(page, BYTES));
    }
}

static void lock_mutex(pthread_mutex_t *mutex, struct dice *dice)
{
    int error;
    switch (roll(dice, 3)) {
    case 0:
        OK(pthread_mutex_lock(mutex));
        return;
    case 1:
        while ((error = pthread_mutex_trylock(mutex)))
            CHECK(error == EBUSY);
        return;
    default:
        do {
            struct timespec until = in_ns(CLOCK_REALTIME, (long)roll(dice, LONGEST_NS));
            error = pthread_mutex_timedlock(mutex, &until);
            CHECK(error == 0 || error == ETIMEDOUT);
        } while (error);
    }
}

static void lock_rwlock(pthread_rwlock_t *rwlock, struct dice *dice)
{
    int error;
    switch (roll(dice, 3)) {
    case 0:
        OK(pthread_rwlock_wrlock(rwlock));
        return;
    case 1:
        while ((error = pthread_rwlock_trywrlock(rwlock)))
            CHECK(error == EBUSY);
        return;
    default:
        do {
            struct timespec until = in_ns(CLOCK_MONOTONIC, (long)roll(dice, LONGEST_NS));
            error = pthread_rwlock_clockwrlock(rwlock, CLOCK_MONOTONIC, &until);
            CHECK(error == 0 || error == ETIMEDOUT);
        } while (error);
    }
}

static void leave(struct object *object, struct dice *dice)
{
    bool is_rwlock = object->kind == RWLOCK;
    note(is_rwlock ? "leave rwlock" : "leave mutex", (int)object->kind);
    if (is_rwlock && one_in(dice, 2)) {
        OK(pthread_rwlock_rdlock(&object->rwlock));
        CHECK(object->references > 0);
        OK(pthread_rwlock_unlock(&object->rwlock));
    }
    if (is_rwlock)
        lock_rwlock(&object->rwlock, dice);
    else
        lock_mutex(&object->mutex, dice);
    linger(dice);
    bool is_last = --object->references == 0;
    OK(is_rwlock ? pthread_rwlock_unlock(&object->rwlock)
                 : pthread_mutex_unlock(&object->mutex));
    if (is_last) {
        note("destroy", (int)object->kind);
        OK(is_rwlock ? pthread_rwlock_destroy(&object->rwlock)
                     : pthread_mutex_destroy(&object->mutex));
        free_object(object, dice);
    }
}

/* Makes an object and sends it to all threads. */
static void make(struct dice *dice)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK};
    struct object *object = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(object != MAP_FAILED);
    object->kind = roll(dice, KINDS);
    object->references = soak_threads();
    if (object->kind == RWLOCK) {
        OK(pthread_rwlock_init(&object->rwlock, NULL));
    } else {
        pthread_mutexattr_t attributes;
        OK(pthread_mutexattr_init(&attributes));
        OK(pthread_mutexattr_settype(&attributes, types[object->kind]));
        OK(pthread_mutex_init(&object->mutex, &attributes));
    }
    made++;
    for (int i = 0; i < soak_threads(); i++) {
        struct letter *letter = &object->letters[i];
        letter->of = object;
        letter->next = mailboxes[i];
        while (!atomic_compare_exchange_weak(&mailboxes[i], &letter->next, letter))
            ;
    }
}

static void empty(int mailbox, struct dice *dice)
{
    struct letter *letter = atomic_exchange(&mailboxes[mailbox], NULL);
    while (letter) {
        struct letter *next = letter->next;
        leave(letter->of, dice);
        letter = next;
    }
}

static void one_round(int thread, struct dice *dice)
{
    if (one_in(dice, (uint32_t)soak_threads()) && made - ended < 64)
        make(dice);
    if (mailboxes[thread])
        empty(thread, dice);
    else
        sched_yield();
}

static void show(void)
{
    printf("%lu made, %lu ended\n", made, ended);
}

static void end(void)
{
    struct dice dice = {1};
    for (int i = 0; i < soak_threads(); i++)
        empty(i, &dice);
    CHECK(made == ended);
    for (int i = 0; i < GRAVES; i++)
        if (graves[i].page)
            look_at(graves[i].page);
}

int main(int argc, char **argv)
{
    static const struct soak soak = {NULL, one_round, NULL, show, end};
    return soak_main(argc, argv, &soak);
}
