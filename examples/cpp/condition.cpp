// Two threads exchange numbers by a condition, under any lock.
#include <cohort.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

// A clock of the program, at a time before its epoch.
struct own_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<own_clock>;
    static constexpr bool is_steady = true;

    static time_point now()
    {
        static const auto start = std::chrono::steady_clock::now();
        const auto since = std::chrono::steady_clock::now() - start;
        return time_point(std::chrono::floor<duration>(since) - 10s);
    }
};

template <class Lock, class Mutex>
static bool hand_over(Mutex &mutex)
{
    cohort::condition_variable changed;
    bool is_full = false;
    int box = 0;
    long sum = 0;

    std::thread producer([&] {
        for (int i = 1; i <= 1000; i++) {
            std::unique_lock<Mutex> lock(mutex);
            changed.wait(lock, [&] { return !is_full; });
            box = i;
            is_full = true;
            changed.notify_one();
        }
    });
    for (int i = 1; i <= 1000; i++) {
        std::unique_lock<Mutex> lock(mutex);
        changed.wait(lock, [&] { return is_full; });
        sum += box;
        is_full = false;
        changed.notify_one();
    }
    producer.join();

    // No thread signals.
    Lock lock(mutex);
    const auto never = [] { return false; };
    return sum == 500500
        && changed.wait_for(lock, 1ms) == cohort::cv_status::timeout
        && changed.wait_until(lock, std::chrono::steady_clock::now()) == cohort::cv_status::timeout
        && changed.wait_until(lock, std::chrono::system_clock::now()) == cohort::cv_status::timeout
        && changed.wait_until(lock, own_clock::now() + 1ms) == cohort::cv_status::timeout
        && !changed.wait_for(lock, 1ms, never)
        && !changed.wait_until(lock, own_clock::time_point(-1h), never)
        && lock.owns_lock();
}

int main()
{
    cohort::mutex mutex;
    cohort::timed_mutex timed;
    cohort::recursive_mutex recursive;
    cohort::shared_mutex shared;
    cohort::named_lock named("mcs");
    std::mutex theirs;

    if (!hand_over<std::unique_lock<cohort::mutex>>(mutex)
        || !hand_over<std::unique_lock<cohort::timed_mutex>>(timed)
        || !hand_over<std::unique_lock<cohort::recursive_mutex>>(recursive)
        || !hand_over<std::shared_lock<cohort::shared_mutex>>(shared)
        || !hand_over<std::unique_lock<cohort::named_lock>>(named)
        || !hand_over<std::unique_lock<std::mutex>>(theirs))
        return 1;
    std::printf("condition: handed over under six locks\n");
    return 0;
}
