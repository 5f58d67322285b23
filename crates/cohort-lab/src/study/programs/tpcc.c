/* Transactions of the kind that TPC-C has, on one SQLite database in memory: each thread has a connection
 * of its own, and all connections share one cache, with its mutexes.
 *
 *     tpcc CONNECTIONS TRANSACTIONS
 *
 * Six in ten are payments, which move an amount between two customers; the others count the stock of a
 * district.  The sum of all balances stays zero.
 */
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CUSTOMERS = 1000, ITEMS = 1000, MOST_THREADS = 256 };

static const char *const FILE_NAME = "file:tpcc?mode=memory&cache=shared";

struct worker {
    pthread_t thread;
    uint64_t state;
    long transactions, retries;
};

static void fail(sqlite3 *database, const char *what)
{
    fprintf(stderr, "tpcc: %s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static uint32_t drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static sqlite3 *opened(void)
{
    sqlite3 *database;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    if (sqlite3_open_v2(FILE_NAME, &database, flags, NULL) != SQLITE_OK)
        fail(database, "cannot open");
    return database;
}

/* Whether another connection was in the way. */
static int is_busy(int result)
{
    return (result & 0xff) == SQLITE_LOCKED || (result & 0xff) == SQLITE_BUSY;
}

static int carried_out(sqlite3 *database, const char *text)
{
    int result = sqlite3_exec(database, text, NULL, NULL, NULL);
    if (result != SQLITE_OK && !is_busy(result))
        fail(database, text);
    return result == SQLITE_OK;
}

/* Executes a prepared statement with two numbers to its end. */
static int stepped(sqlite3 *database, sqlite3_stmt *statement, int first, int second)
{
    sqlite3_bind_int(statement, 1, first);
    sqlite3_bind_int(statement, 2, second);
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    int reset = sqlite3_reset(statement);
    if (result != SQLITE_DONE && !is_busy(result) && !is_busy(reset))
        fail(database, sqlite3_sql(statement));
    return result == SQLITE_DONE;
}

static sqlite3_stmt *prepared(sqlite3 *database, const char *text)
{
    sqlite3_stmt *statement;
    while (sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
        if (!is_busy(sqlite3_errcode(database)))
            fail(database, text);
        sched_yield();
    }
    return statement;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    sqlite3 *database = opened();
    sqlite3_stmt *pay = prepared(database, "UPDATE customer SET balance = balance + ?1 WHERE id = ?2");
    sqlite3_stmt *count =
        prepared(database, "SELECT COUNT(*) FROM stock WHERE quantity < ?1 AND district = ?2");
    for (long done = 0; done < self->transactions;) {
        int ended;
        if (drawn(&self->state) % 10 < 6) {
            int amount = drawn(&self->state) % 100, from = drawn(&self->state) % CUSTOMERS;
            int to = drawn(&self->state) % CUSTOMERS;
            ended = carried_out(database, "BEGIN IMMEDIATE");
            if (ended) {
                ended = stepped(database, pay, -amount, from) && stepped(database, pay, amount, to)
                    && carried_out(database, "COMMIT");
                if (!ended)
                    carried_out(database, "ROLLBACK");
            }
        } else {
            ended = stepped(database, count, 50, drawn(&self->state) % 10);
        }
        if (ended) {
            done++;
        } else {
            self->retries++;
            sched_yield();
        }
    }
    sqlite3_finalize(pay);
    sqlite3_finalize(count);
    sqlite3_close(database);
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    static struct worker workers[MOST_THREADS];
    int threads = count == 3 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: tpcc CONNECTIONS TRANSACTIONS, 1 to %d connections\n", MOST_THREADS);
        return 2;
    }
    sqlite3 *database = opened();
    carried_out(database,
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, balance INTEGER);"
        "CREATE TABLE stock (id INTEGER PRIMARY KEY, district INTEGER, quantity INTEGER);"
        "CREATE INDEX by_district ON stock (district);"
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
        " INSERT INTO customer SELECT i, 0 FROM n;"
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
        " INSERT INTO stock SELECT i, i % 10, i % 97 FROM n;");
    double began = now();
    for (int at = 0; at < threads; at++) {
        workers[at].state = (uint64_t)at + 1;
        workers[at].transactions = atol(words[2]) / threads;
        if (pthread_create(&workers[at].thread, NULL, work, &workers[at]) != 0)
            fail(database, "cannot create a thread");
    }
    long transactions = 0, retries = 0;
    for (int at = 0; at < threads; at++) {
        pthread_join(workers[at].thread, NULL);
        transactions += workers[at].transactions;
        retries += workers[at].retries;
    }
    double took = now() - began;
    sqlite3_stmt *sum = prepared(database, "SELECT SUM(balance) FROM customer WHERE ?1 = ?2");
    sqlite3_bind_int(sum, 1, 0);
    sqlite3_bind_int(sum, 2, 0);
    long left = sqlite3_step(sum) == SQLITE_ROW ? (long)sqlite3_column_int64(sum, 0) : -1;
    sqlite3_finalize(sum);
    printf("seconds: %.6f\n%ld transactions, %ld lost\n", took, transactions, left);
    fprintf(stderr, "%ld retries\n", retries);
    return left != 0;
}
