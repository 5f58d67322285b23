// Any lock, by its name: those of `cohort list`, and compositions.
#include <cohort.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
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

int main()
{
    for (const char *name : {"mcs", "clh", "hmcs-t", "clof:mcs-mcs-ticket@cache,numa,system"}) {
        cohort::named_lock lock(name);
        if (!counts(lock)) {
            std::printf("named: %s failed\n", name);
            return 1;
        }
    }
#if __cplusplus >= 202002L
    cohort::lock_of<"hmcs-3"> lock;
    cohort::lock<"ticket"> other;
    if (!counts(lock) || !counts(other))
        return 1;
    lock.lock();
    lock.unlock();
    {
        std::scoped_lock both(lock, other);
        if (lock.try_lock() || other.try_lock())
            return 1;
    }
    std::scoped_lock again(lock);
#endif
    std::printf("named: counted\n");
    return 0;
}
