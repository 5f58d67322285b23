// Accounts without lock fields: the address of each has a lock.
#include <cohort.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

static long accounts[100];

static void transfer(long &from, long &to)
{
    if (&from == &to)
        return;
    cohort::gls first(&from), second(&to);
    std::scoped_lock both(first, second); // avoids deadlocks
    from--;
    to++;
}

int main()
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([i] {
            for (unsigned j = 0; j < 20000; j++)
                transfer(accounts[(j * 7 + i) % 100], accounts[(j * 13 + i * 5) % 100]);
        });
    for (std::thread &thread : threads)
        thread.join();

    long sum = 0;
    for (long &account : accounts) {
        cohort::gls_guard guard(&account);
        sum += account;
    }
    std::printf("accounts: %ld\n", sum);

    cohort::gls one(&accounts[0]);
    std::unique_lock held(one);
    cohort::gls same(&accounts[0]);
    bool is_right = sum == 0 && !same.try_lock() && !same.try_lock_for(std::chrono::milliseconds(2));
    try {
        one.free(); // it is held
        is_right = false;
    } catch (const std::system_error &error) {
        is_right = is_right && error.code().value() == EBUSY;
    }
    held.unlock();
    for (long &account : accounts)
        cohort::gls(&account).free();
    return is_right ? 0 : 1;
}
