// Two threads take a mutex and a rwlock of cohort.hpp in different orders, and meet: a deadlock.
#include <cohort.hpp>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>

static cohort::mutex accounts;
static cohort::shared_mutex journal;
static pthread_barrier_t both_hold_one;

static void transfer()
{
    std::lock_guard<cohort::mutex> held(accounts);
    pthread_barrier_wait(&both_hold_one);
    std::lock_guard<cohort::shared_mutex> written(journal);
}

static void audit()
{
    std::shared_lock<cohort::shared_mutex> read(journal);
    pthread_barrier_wait(&both_hold_one);
    std::lock_guard<cohort::mutex> held(accounts);
}

int main()
{
    pthread_barrier_init(&both_hold_one, nullptr, 2);
    std::thread one(transfer), other(audit);
    one.join();
    other.join();
}
