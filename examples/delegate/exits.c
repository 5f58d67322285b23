/* Sections with several exits, behind wrappers and macros, and with variables for what follows. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 3000, SIZE = 8 };

struct table {
    pthread_mutex_t lock;
    long values[SIZE];
    int used;
    void (*changed)(struct table *);
    long changes;
};

static pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;
static long total, seen[SIZE];

#define LOCK(of)                                  \
    do {                                          \
        if (pthread_mutex_lock(&(of)->lock) != 0) \
            abort();                              \
    } while (0)
#define UNLOCK(of)                                  \
    do {                                            \
        if (pthread_mutex_unlock(&(of)->lock) != 0) \
            abort();                                \
    } while (0)

/* Functions that only lock: what they lock, and what they are given. */
static void enter(void)
{
    pthread_mutex_lock(&global_lock);
}

static void leave(void)
{
    pthread_mutex_unlock(&global_lock);
}

static void take(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
}

static void give(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
}

static void count_change(struct table *table)
{
    table->changes++;
}

/* Early returns, with values of variables of the section. */
static long find(struct table *table, long value)
{
    LOCK(table);
    for (int i = 0; i < table->used; i++) {
        long here = table->values[i];

        if (here == value) {
            UNLOCK(table);
            return i;
        }
        if (here > value) {
            UNLOCK(table);
            errno = ERANGE;
            return -here - 1;
        }
    }
    UNLOCK(table);
    return -1;
}

/* A goto to the end, and one to a place inside; a callback with one target. */
static int add(struct table *table, long value)
{
    int result = -1;

    take(&table->lock);
    if (table->used == SIZE)
        goto full;
    if (value < 0)
        goto out;
    table->values[table->used++] = value;
    table->changed(table);
    result = 0;
    goto out;
full:
    result = ENOSPC;
out:
    give(&table->lock);
    return result;
}

/* Both branches unlock, and a variable of the section is used behind them. */
static long both(struct table *table, int which)
{
    long result;

    LOCK(table);
    long used = table->used;
    if (which % 2) {
        result = used;
        UNLOCK(table);
        result *= 2;
    } else {
        result = table->values[0];
        UNLOCK(table);
    }
    return used == SIZE ? result : -1;
}

/* Leaves a loop, goes on with it, and ends in it. */
static long loops(struct table *table)
{
    long sum = 0;

    for (int i = 0; i < 6; i++) {
        LOCK(table);
        if (i == 1) {
            UNLOCK(table);
            continue;
        }
        if (i == 4) {
            sum += 100;
            UNLOCK(table);
            break;
        }
        sum += table->values[0] + i;
        UNLOCK(table);
    }
    return sum;
}

/* Variables of the section are used behind it. */
static long behind(void)
{
    enter();
    long now = total;
    long *place = &seen[now % SIZE];
    (*place)++;
    leave();
    return now - now % SIZE + (place - seen);
}

/* A wrapper, with an exit inside a switch. */
static int inside(int which)
{
    enter();
    total++;
    switch (which % 3) {
    case 0:
        leave();
        return 0;
    case 1:
        total++;
        break;
    default:
        total += 2;
    }
    leave();
    return which % 3;
}

/* The result of locking is looked at. */
static int checked(struct table *table)
{
    if (pthread_mutex_lock(&table->lock) != 0) {
        perror("lock");
        exit(1);
    }
    int used = table->used;
    (void)pthread_mutex_unlock(&table->lock);
    return used;
}

static struct table tables[THREADS];

static void *work(void *argument)
{
    long wrong = 0, number = (long)argument;
    struct table *own = &tables[number];

    for (long i = 0; i < SIZE; i++)
        wrong += add(own, 2 * i) != 0;
    wrong += add(own, 1) != ENOSPC;
    for (int i = 0; i < ROUNDS; i++) {
        struct table *table = &tables[(number + i) % THREADS];

        wrong += find(own, 4) != 2;
        errno = 0;
        wrong += find(own, 3) != -5 || errno != ERANGE;
        wrong += find(own, 99) != -1;
        wrong += both(own, i) != (i % 2 ? 2 * SIZE : 0);
        wrong += loops(own) != 105;
        wrong += behind() < 0;
        wrong += inside(i) != i % 3;
        wrong += checked(own) != SIZE;
        both(table, i);
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_t threads[THREADS];
    long wrong = 0, sum = 0, changes = 0;

    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&tables[i].lock, NULL);
        tables[i].changed = count_change;
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *theirs;

        pthread_join(threads[i], &theirs);
        wrong += (long)theirs;
        changes += tables[i].changes;
    }
    for (int i = 0; i < SIZE; i++)
        sum += seen[i];
    printf("exits: %ld %ld %ld, %ld wrong\n", total, sum, changes, wrong);
    return wrong != 0 || total != 2L * THREADS * ROUNDS || sum != (long)THREADS * ROUNDS
        || changes != (long)THREADS * SIZE;
}
