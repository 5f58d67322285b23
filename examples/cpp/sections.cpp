// Sections brought to their data, data with its lock, waits that end with their thread.
#include <cohort.hpp>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

// The lock's holder runs the sections of all threads, each with its result or exception.
static bool sections_run(const char *name)
{
    constexpr int threads = 4, sections = 1000;
    cohort::delegated accounts(name);
    std::map<int, long> balance;
    std::vector<std::thread> tellers;
    long refused[threads] = {};
    for (int teller = 0; teller < threads; teller++)
        tellers.emplace_back([&, teller] {
            for (int turn = 0; turn < sections; turn++) {
                accounts.run([&] { balance[turn % 10]++; });
                try {
                    accounts.run([&] {
                        if (balance[turn % 10] > 0)
                            throw std::runtime_error("refused");
                    });
                } catch (const std::runtime_error &) {
                    refused[teller]++;
                }
            }
        });
    for (std::thread &teller : tellers)
        teller.join();
    const std::string text = accounts.run([&] { return std::to_string(balance.at(3)); });
    long &least = accounts.run([&]() -> long & { return balance.at(0); });
    const std::lock_guard guard(accounts);
    return text == "400" && least == 400 && refused[0] + refused[3] == 2 * sections;
}

// The data of a synchronized value is reached only through its lock.
static bool data_has_its_lock()
{
    cohort::synchronized<std::map<std::string, int>, cohort::shared_mutex> table;
    table.lock()->emplace("one", 1);
    table.with([](auto &rows) { rows["two"] = 2; });
    const auto reader = table.lock_shared();
    return reader->size() == 2 && !table.try_lock();
}

// The lock has a name, or there is none.
static bool locks_are_named()
{
    for (const char *name : {"sanl+", "sanl", "sanl-flat/1000", "sanl-distance-first", "cc-synch"})
        if (!sections_run(name))
            return false;
    try {
        cohort::delegated("mcs");
    } catch (const std::system_error &error) {
        return error.code() == std::errc::invalid_argument;
    }
    return false;
}

// A call that throws leaves its flag as it was.
static bool one_call_is_enough()
{
    cohort::once_flag flag;
    int calls = 0;
    try {
        cohort::call_once(flag, [&] {
            calls++;
            throw std::runtime_error("again");
        });
    } catch (const std::runtime_error &) {
    }
    for (int turn = 0; turn < 3; turn++)
        cohort::call_once(flag, [&](int more) { calls += more; }, 10);
    return calls == 11;
}

#ifdef __cpp_lib_jthread
// A thread's stop ends its waits.
static bool waits_end_with_their_thread()
{
    cohort::mutex mutex;
    cohort::timed_mutex held;
    cohort::named_lock queue("hmcs-t-2");
    cohort::condition_variable changed;
    held.lock();
    queue.lock();
    bool ended[4] = {true, true, true, true};
    {
        std::jthread waits[] = {
            std::jthread([&](std::stop_token stop) { ended[0] = held.try_lock_unless(stop); }),
            std::jthread([&](std::stop_token stop) { ended[1] = queue.try_lock_unless(stop); }),
            std::jthread([&](std::stop_token stop) {
                std::unique_lock lock(mutex);
                ended[2] = changed.wait(lock, stop, [] { return false; });
                ended[2] |= !lock.owns_lock();
            }),
            std::jthread([&](std::stop_token stop) {
                cohort::named_lock other("mcs");
                std::unique_lock lock(other);
                ended[3] = changed.wait(lock, stop, [] { return false; });
            }),
        };
        const std::lock_guard guard(mutex);
        for (std::jthread &wait : waits)
            wait.request_stop();
    }
    held.unlock();
    queue.unlock();
    return !ended[0] && !ended[1] && !ended[2] && !ended[3];
}
#else
static bool waits_end_with_their_thread() { return true; }
#endif

int main()
{
    if (!locks_are_named() || !data_has_its_lock() || !one_call_is_enough()
        || !waits_end_with_their_thread())
        return 1;
    std::puts("sections: 8000 were run, 4000 of them refused");
    return 0;
}
