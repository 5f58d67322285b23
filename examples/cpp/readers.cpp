// A table with many readers and few writers, under a lock by name; and a reader that becomes the
// writer.
//
//   readers [NAME]...
#include <cohort.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

static bool counts(cohort::named_shared_lock &lock)
{
    long pair[2] = {0, 0};
    bool torn[3] = {false, false, false};
    std::vector<std::thread> threads;
    for (bool &is_torn : torn)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; i++) {
                std::shared_lock reader(lock);
                is_torn |= pair[0] != pair[1];
            }
        });
    for (int i = 0; i < 500; i++) {
        std::lock_guard writer(lock);
        pair[0]++;
        pair[1]++;
    }
    for (std::thread &thread : threads)
        thread.join();
    std::shared_lock reader(lock, std::chrono::seconds(1));
    return reader.owns_lock() && !torn[0] && !torn[1] && !torn[2] && pair[0] == 500;
}

// Adds each number once: a thread that finds it missing writes it, with no writer in between.
// Which rights a try has left, clang does not follow.
COHORT_UNCHECKED static bool upgrades()
{
    cohort::upgrade_mutex mutex;
    std::map<int, int> numbers;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            for (int number = 0; number < 100; number++) {
                mutex.lock_upgrade();
                if (numbers.count(number)) {
                    mutex.unlock_upgrade();
                    continue;
                }
                mutex.unlock_upgrade_and_lock();
                numbers[number]++;
                mutex.unlock_and_lock_upgrade();
                mutex.unlock_upgrade_and_lock_shared();
                mutex.unlock_shared_fair();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    long total = 0;
    for (const auto &[number, times] : numbers)
        total += times;

    using namespace std::chrono_literals;
    bool has_upgraded = mutex.try_lock_upgrade() && mutex.try_unlock_upgrade_and_lock();
    mutex.unlock_and_lock_shared();
    has_upgraded &= mutex.try_lock_upgrade_for(1s) && !mutex.try_unlock_upgrade_and_lock_for(1ms);
    cohort::token token;
    token.cancel();
    const auto past = std::chrono::steady_clock::now();
    has_upgraded &= !mutex.try_unlock_upgrade_and_lock_until(past)
        && !mutex.try_unlock_upgrade_and_lock_unless(token)
        && !mutex.try_lock_upgrade_until(past) && !mutex.try_lock_upgrade_unless(token);
    mutex.unlock_shared();
    /* Alone, it is the writer at once. */
    has_upgraded &= mutex.try_unlock_upgrade_and_lock_unless(token);
    mutex.unlock_and_lock_upgrade();
    has_upgraded &= mutex.try_unlock_upgrade_and_lock_until(past);
    mutex.unlock();
    mutex.lock();
    mutex.unlock_fair();
    return has_upgraded && total == 100 && numbers.size() == 100;
}

int main(int count, char **arguments)
{
    std::vector<std::string> names(arguments + 1, arguments + count);
    if (names.empty())
        names = {"rwlock", "c-rw-np", "c-rw-wp"};
    for (const std::string &name : names) {
        cohort::named_shared_lock lock(name);
        if (!counts(lock)) {
            std::printf("readers: %s failed\n", name.c_str());
            return 1;
        }
    }
    if (!upgrades())
        return 1;
    std::printf("readers: counted\n");
    return 0;
}
