// Any lock, by its name: those of `cohort list`, and compositions.
//
//   named [NAME]...
#include <cohort.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static bool counts(cohort::named_lock &lock)
{
    long total = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int j = 0; j < 500; j++) {
                {
                    // The lock's queue node is in the guard.
                    cohort::context_guard guard(lock);
                    total++;
                }
                // The library provides the queue node, so the guard is movable.
                std::unique_lock guard(lock);
                total++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    std::unique_lock guard(lock, std::chrono::seconds(1));
    return guard.owns_lock() && total == 4000;
}

// Two locks at once, and the standard library's condition variable.
static bool is_standard(cohort::named_lock &lock, cohort::named_lock &other)
{
    std::condition_variable_any changed;
    long moved = 0;
    std::thread mover([&] {
        for (int i = 0; i < 100; i++) {
            std::scoped_lock both(lock, other);
            moved++;
            changed.notify_all();
        }
    });
    {
        std::unique_lock held(lock);
        changed.wait(held, [&] { return moved == 100; });
    }
    mover.join();
    std::scoped_lock both(other, lock);
    return moved == 100;
}

#if __cplusplus >= 202002L
// Tries what its own thread holds: a mistake that clang finds too.
COHORT_UNCHECKED static bool is_typed()
{
    cohort::lock_of<"hmcs-3"> lock;
    cohort::lock<"ticket"> other;
    if (!counts(lock) || !counts(other))
        return false;
    lock.lock();
    lock.unlock();
    {
        std::scoped_lock both(lock, other);
        if (lock.try_lock() || other.try_lock())
            return false;
    }
    std::scoped_lock again(lock);
    return true;
}
#endif

int main(int count, char **arguments)
{
    std::vector<std::string> names(arguments + 1, arguments + count);
    if (names.empty())
        names = {"mcs", "clh", "hmcs-t", "clof:mcs-mcs-ticket@cache,numa,system"};
    for (const std::string &name : names) {
        cohort::named_lock lock(name), other(name);
        if (!counts(lock) || !is_standard(lock, other)) {
            std::printf("named: %s failed\n", name.c_str());
            return 1;
        }
    }
#if __cplusplus >= 202002L
    if (!is_typed())
        return 1;
#endif
    std::printf("named: counted\n");
    return 0;
}
