/* A lock in each account: sections that change one or two, or leave early. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 4, THREADS = 4, ROUNDS = 5000 };

struct account {
    int number;
    pthread_mutex_t lock;
    long balance;
    const char *last;
};

static struct account *accounts[ACCOUNTS];
static struct account shared = { .number = 99, .lock = PTHREAD_MUTEX_INITIALIZER, .last = "none" };

/* Captures parameters, and writes a local variable. */
static long deposit(struct account *account, long amount)
{
    long before;

    pthread_mutex_lock(&account->lock);
    before = account->balance;
    account->balance += amount;
    pthread_mutex_unlock(&account->lock);
    return before;
}

/* Two exits. */
static int withdraw(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    if (account->balance < amount) {
        pthread_mutex_unlock(&account->lock);
        return ERANGE;
    }
    account->balance -= amount;
    pthread_mutex_unlock(&account->lock);
    return 0;
}

/* Two nested locks: the inner section stays in the outer one. */
static void move(struct account *from, struct account *to, long amount)
{
    struct account *first = from->number < to->number ? from : to;
    struct account *second = first == from ? to : from;

    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

/* Hand over hand: sections overlap. */
static long pairs(void)
{
    long sum = 0;

    for (int i = 0; i + 1 < ACCOUNTS; i++) {
        struct account *one = accounts[i], *other = accounts[i + 1];

        pthread_mutex_lock(&one->lock);
        pthread_mutex_lock(&other->lock);
        sum += one->balance;
        pthread_mutex_unlock(&one->lock);
        sum += other->balance;
        pthread_mutex_unlock(&other->lock);
    }
    return sum;
}

/* The variable changes between lock and unlock. */
static long walk(void)
{
    long sum = 0;

    for (int i = 0; i < ACCOUNTS; i++) {
        struct account *account = accounts[0];

        pthread_mutex_lock(&account->lock);
        account = accounts[i];
        sum += account->number;
        account = accounts[0];
        pthread_mutex_unlock(&account->lock);
    }
    return sum;
}

static void *work(void *argument)
{
    long number = (long)argument;

    for (int i = 0; i < ROUNDS; i++) {
        struct account *own = accounts[number % ACCOUNTS];
        struct account *next = accounts[(number + 1) % ACCOUNTS];

        deposit(own, 3);
        deposit(&shared, 1);
        while (withdraw(own, 1))
            deposit(own, 1);
        move(own, next, 1);
        pairs();
        walk();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    long sum = 0;

    for (int i = 0; i < ACCOUNTS; i++) {
        accounts[i] = malloc(sizeof **accounts);
        if (!accounts[i])
            return 1;
        *accounts[i] = (struct account){ .number = i };
        pthread_mutex_init(&accounts[i]->lock, NULL);
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ACCOUNTS; i++) {
        sum += accounts[i]->balance;
        pthread_mutex_destroy(&accounts[i]->lock);
        free(accounts[i]);
    }
    printf("bank: %ld and %ld, %s\n", sum, shared.balance, shared.last);
    return sum < 2L * THREADS * ROUNDS || shared.balance != (long)THREADS * ROUNDS;
}
