/* Threads of two processes move money between the accounts of one Berkeley DB
 * environment, whose locks, mutexes shared by processes among them, lie in a mapped
 * file.  In the end no money is lost or made, and every transfer is on the books.
 *
 *   bank FOLDER         everything, in an empty folder
 *   bank FOLDER NUMBER  what one of the processes does, the environment being there
 */
#include <db.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#ifndef THREADS
#define THREADS 4
#define TRANSFERS 5000
#endif

enum { ACCOUNTS = 40, BALANCE = 1000, PROCESSES = 2 };
/* Behind the accounts each thread has a book, where it counts. */
enum { BOOKS = PROCESSES * THREADS };

extern char **environ;

static DB_ENV *env;
static DB *db;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void must(int error, const char *what)
{
    if (error != 0)
        fail("%s: %s", what, db_strerror(error));
}

static void open_bank(const char *folder)
{
    must(db_env_create(&env, 0), "db_env_create");
    must(env->set_lk_detect(env, DB_LOCK_DEFAULT), "set_lk_detect");
    must(env->set_flags(env, DB_TXN_NOSYNC, 1), "set_flags");
    /* A thread that finds a mutex taken sleeps on it soon. */
    must(env->mutex_set_tas_spins(env, 1), "mutex_set_tas_spins");
    must(env->open(env, folder,
                   DB_CREATE | DB_THREAD | DB_INIT_LOCK | DB_INIT_LOG |
                       DB_INIT_MPOOL | DB_INIT_TXN,
                   0600),
         "DB_ENV->open");
    must(db_create(&db, env, 0), "db_create");
    must(db->open(db, NULL, "accounts", NULL, DB_BTREE,
                  DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0600),
         "DB->open");
}

static void close_bank(void)
{
    must(db->close(db, 0), "DB->close");
    must(env->close(env, 0), "DB_ENV->close");
}

static DBT bytes(void *data, u_int32_t size)
{
    return (DBT){.data = data, .size = size, .ulen = size, .flags = DB_DBT_USERMEM};
}

static int add(DB_TXN *transaction, int account, long amount)
{
    long balance;
    DBT key = bytes(&account, sizeof account), value = bytes(&balance, sizeof balance);
    int error = db->get(db, transaction, &key, &value, DB_RMW);
    if (error != 0)
        return error;
    balance += amount;
    return db->put(db, transaction, &key, &value, 0);
}

/* All of it or, if it would wait in a circle, nothing. */
static int transfer(int from, int to, int book)
{
    DB_TXN *transaction;
    must(env->txn_begin(env, NULL, &transaction, 0), "txn_begin");
    int error = add(transaction, from, -1);
    if (error == 0)
        error = add(transaction, to, 1);
    if (error == 0)
        error = add(transaction, book, 1);
    if (error == 0) {
        must(transaction->commit(transaction, 0), "commit");
        return 0;
    }
    must(transaction->abort(transaction), "abort");
    return error;
}

static void *teller(void *number)
{
    int book = ACCOUNTS + (int)(long)number;
    unsigned seed = (unsigned)book;
    for (int i = 0; i < TRANSFERS; i++) {
        int from = rand_r(&seed) % ACCOUNTS;
        int to = (from + 1 + rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
        int error;
        do
            error = transfer(from, to, book);
        while (error == DB_LOCK_DEADLOCK);
        must(error, "transfer");
    }
    return NULL;
}

static void work(const char *folder, int process)
{
    pthread_t tellers[THREADS];
    open_bank(folder);
    for (long i = 0; i < THREADS; i++) {
        void *number = (void *)(process * THREADS + i);
        if (pthread_create(&tellers[i], NULL, teller, number) != 0)
            fail("pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(tellers[i], NULL);
    close_bank();
}

static void found(const char *folder)
{
    open_bank(folder);
    for (int account = 0; account < ACCOUNTS + BOOKS; account++) {
        long balance = account < ACCOUNTS ? BALANCE : 0;
        DBT key = bytes(&account, sizeof account);
        DBT value = bytes(&balance, sizeof balance);
        must(db->put(db, NULL, &key, &value, DB_NOOVERWRITE), "put");
    }
    close_bank();
}

/* Prints the sum of the accounts and the sum of the books. */
static void audit(const char *folder)
{
    long money = 0, transfers = 0;
    open_bank(folder);
    for (int account = 0; account < ACCOUNTS + BOOKS; account++) {
        long balance;
        DBT key = bytes(&account, sizeof account);
        DBT value = bytes(&balance, sizeof balance);
        must(db->get(db, NULL, &key, &value, 0), "get");
        if (account >= ACCOUNTS && balance != TRANSFERS)
            fail("book %d: %ld transfers", account - ACCOUNTS, balance);
        *(account < ACCOUNTS ? &money : &transfers) += balance;
    }
    close_bank();
    printf("%ld money, %ld transfers\n", money, transfers);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        work(argv[1], atoi(argv[2]));
        return 0;
    }
    if (argc != 2)
        fail("usage: bank FOLDER [NUMBER]");
    found(argv[1]);
    pid_t workers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", i);
        char *arguments[] = {argv[0], argv[1], number, NULL};
        if (posix_spawn(&workers[i], "/proc/self/exe", NULL, NULL, arguments, environ) != 0)
            fail("posix_spawn");
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(workers[i], &status, 0);
        if (status != 0)
            fail("process %d ended with status %d", i, status);
    }
    audit(argv[1]);
    return 0;
}
