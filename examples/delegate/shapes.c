/* Sections of many shapes, one a function. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 3000, SIZE = 8 };

#define ADD(to, what) ((to) += (what))
#define ADD_AMOUNT(to) ((to) += amount)

typedef long row_t[SIZE];

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks[SIZE] = { [0 ... SIZE - 1] = PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t odd, tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static long count, seen, cells[SIZE], failures, in_recursion, at_once, later;
static __thread long own;
static pthread_t last;

/* No captures. */
static void plain(void)
{
    pthread_mutex_lock(&count_lock);
    count++;
    pthread_mutex_unlock(&count_lock);
}

/* Captures an array, a structure and a type that hides one; shadows names. */
static long arrays(int where, const long values[], struct timespec time)
{
    row_t row = { 0 };
    long sum = 0;
    int i = 1;

    pthread_mutex_lock(&locks[where]);
    for (int i = 0; i < SIZE; i++) {
        long count = values[i] + time.tv_sec;

        row[i] = count;
        sum += row[i];
    }
    cells[where] += i;
    time.tv_nsec = sum;
    pthread_mutex_unlock(&locks[where]);
    return sum == time.tv_nsec ? sum + row[0] - values[0] : -1;
}

/* In a branch of a switch, with a loop and a jump inside. */
static int in_switch(int what, int *found)
{
    switch (what % 2) {
    case 0:
        pthread_mutex_lock(&count_lock);
        for (int i = 0;; i++) {
            if (i < 3)
                continue;
            *found = i;
            break;
        }
        pthread_mutex_unlock(&count_lock);
        break;
    default:
        *found = 3;
    }
    return *found;
}

/* A static local variable, and a macro with tokens as arguments. */
static long statics(long amount)
{
    static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
    static long total;
    long now;

    pthread_mutex_lock(&inner);
    ADD(total, amount);
    now = total; /* the last statement */
    pthread_mutex_unlock(&inner);
    return now;
}

/* A macro that names a local variable. */
static void named_by_macro(void)
{
    long amount = 1;

    pthread_mutex_lock(&count_lock);
    ADD_AMOUNT(seen);
    pthread_mutex_unlock(&count_lock);
}

/* errno is the caller's. */
static int with_errno(void)
{
    errno = ENOENT;
    pthread_mutex_lock(&count_lock);
    if (errno == ENOENT)
        errno = ERANGE;
    pthread_mutex_unlock(&count_lock);
    return errno == ERANGE;
}

/* Thread-local variables. */
static void of_thread(void)
{
    pthread_mutex_lock(&count_lock);
    own++;
    pthread_mutex_unlock(&count_lock);
    pthread_mutex_lock(&count_lock);
    last = pthread_self();
    pthread_mutex_unlock(&count_lock);
}

static void note(long what)
{
    if (what > own)
        own = what;
}

/* Through another function. */
static void through(void)
{
    pthread_mutex_lock(&count_lock);
    note(count);
    pthread_mutex_unlock(&count_lock);
}

/* An exit by a jump. */
static int jumps(int where)
{
    int result = 0;

    pthread_mutex_lock(&locks[where]);
    if (cells[where] < 0)
        goto out;
    result = 1;
out:
    pthread_mutex_unlock(&locks[where]);
    return result;
}

/* An exit from inside a loop. */
static int breaks(int where)
{
    int i;

    for (i = 0; i < 4; i++) {
        pthread_mutex_lock(&locks[where]);
        if (i == 2) {
            pthread_mutex_unlock(&locks[where]);
            break;
        }
        cells[where]++;
        pthread_mutex_unlock(&locks[where]);
    }
    return i;
}

static void enter(void)
{
    pthread_mutex_lock(&count_lock);
}

static void leave(void)
{
    pthread_mutex_unlock(&count_lock);
}

/* Begins in one function, ends in another. */
static void apart(void)
{
    enter();
    count--;
    leave();
}

/* A variable declared inside is used afterwards. */
static long behind(void)
{
    pthread_mutex_lock(&count_lock);
    long now = count;
    pthread_mutex_unlock(&count_lock);
    return now;
}

/* Uses the result of the lock call. */
static void looks(void)
{
    if (pthread_mutex_lock(&count_lock))
        return;
    count += 2;
    pthread_mutex_unlock(&count_lock);
}

/* Where the mutex is not free, the other section follows; it waits. */
static void either(void)
{
    if (pthread_mutex_trylock(&busy) == 0) {
        at_once++;
        pthread_mutex_unlock(&busy);
        return;
    }
    pthread_mutex_lock(&busy);
    later++;
    pthread_mutex_unlock(&busy);
}

/* Not converted: recursive, and only tried. */
static void alone(int again)
{
    pthread_mutex_lock(&odd);
    in_recursion++;
    if (again)
        alone(0);
    pthread_mutex_unlock(&odd);
    if (pthread_mutex_trylock(&tried) == 0) {
        failures += 0;
        pthread_mutex_unlock(&tried);
    }
}

static void *work(void *argument)
{
    long values[SIZE];
    int number = (int)(long)argument, found = 0;
    long wrong = 0;

    for (int i = 0; i < SIZE; i++)
        values[i] = i;
    for (int i = 0; i < ROUNDS; i++) {
        plain();
        wrong += arrays(number, values, (struct timespec){ 1, 0 }) != 28 + SIZE + 1;
        wrong += in_switch(i, &found) != 3;
        wrong += statics(1) < 1;
        named_by_macro();
        wrong += !with_errno();
        of_thread();
        through();
        wrong += !jumps(number);
        wrong += breaks(number) != 2;
        apart();
        behind();
        looks();
        either();
        alone(1);
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_mutexattr_t recursive;
    pthread_t threads[THREADS];
    long sum = 0, all;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&odd, &recursive);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *theirs;

        pthread_join(threads[i], &theirs);
        failures += (long)theirs;
    }
    for (int i = 0; i < SIZE; i++)
        sum += cells[i];
    all = statics(0);
    failures += at_once + later != all || at_once == 0;
    printf("shapes: %ld %ld %ld %ld %ld, %ld wrong\n", count, seen, sum, all, in_recursion, failures);
    return failures != 0 || count != 2L * THREADS * ROUNDS || all != (long)THREADS * ROUNDS
        || sum != 3L * THREADS * ROUNDS || seen != all || in_recursion != 2 * all;
}
