// The locks satisfy the standard library's requirements, and work with its algorithms.
#include <cohort.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <utility>

using namespace std::chrono_literals;

template <class L, class = void>
struct is_lockable : std::false_type {};
template <class L>
struct is_lockable<L, std::void_t<decltype(std::declval<L &>().lock()),
                                  decltype(bool(std::declval<L &>().try_lock())),
                                  decltype(std::declval<L &>().unlock())>>
    : std::true_type {};

template <class L, class = void>
struct is_timed : std::false_type {};
template <class L>
struct is_timed<
    L, std::void_t<decltype(bool(std::declval<L &>().try_lock_for(1ms))),
                   decltype(bool(std::declval<L &>().try_lock_until(
                       std::chrono::system_clock::now())))>> : is_lockable<L> {};

template <class L, class = void>
struct is_shared : std::false_type {};
template <class L>
struct is_shared<L, std::void_t<decltype(std::declval<L &>().lock_shared()),
                                decltype(bool(std::declval<L &>().try_lock_shared())),
                                decltype(std::declval<L &>().unlock_shared())>>
    : is_lockable<L> {};

template <class L, class = void>
struct is_shared_timed : std::false_type {};
template <class L>
struct is_shared_timed<
    L, std::void_t<decltype(bool(std::declval<L &>().try_lock_shared_for(1ms))),
                   decltype(bool(std::declval<L &>().try_lock_shared_until(
                       std::chrono::steady_clock::now())))>>
    : std::conjunction<is_shared<L>, is_timed<L>> {};

static_assert(is_lockable<cohort::mutex>::value && !is_timed<cohort::mutex>::value);
static_assert(is_timed<cohort::timed_mutex>::value);
static_assert(is_lockable<cohort::recursive_mutex>::value);
static_assert(is_timed<cohort::recursive_timed_mutex>::value);
static_assert(is_shared<cohort::shared_mutex>::value && !is_timed<cohort::shared_mutex>::value);
static_assert(is_shared_timed<cohort::shared_timed_mutex>::value);
static_assert(is_shared_timed<cohort::upgrade_mutex>::value);
static_assert(is_timed<cohort::named_lock>::value);
static_assert(is_shared_timed<cohort::named_shared_lock>::value);
static_assert(is_timed<cohort::gls>::value);
#define IS_TIMED(name) static_assert(is_timed<cohort::gls_of<cohort::algorithm::name>>::value);
COHORT_EACH_LOCK(IS_TIMED)

// Locks cannot be moved; only `gls`, which names a lock by an address, can be copied.
template <class... Locks>
constexpr bool are_copied = (std::is_copy_constructible_v<Locks> || ...);
static_assert(!are_copied<cohort::mutex, cohort::timed_mutex, cohort::recursive_mutex,
                          cohort::recursive_timed_mutex, cohort::shared_mutex,
                          cohort::shared_timed_mutex, cohort::named_lock,
                          cohort::named_shared_lock>);

// Ready before any constructor runs, and until the process ends.
static_assert(std::is_trivially_destructible_v<cohort::mutex>
              && std::is_trivially_destructible_v<cohort::recursive_mutex>
              && std::is_trivially_destructible_v<cohort::shared_mutex>
              && std::is_trivially_destructible_v<cohort::condition_variable>);
static_assert(sizeof(cohort::timed_mutex) == 8 && sizeof(cohort::shared_timed_mutex) == 16
              && sizeof(cohort::condition_variable) == 24);
#if __cplusplus >= 202002L
constinit cohort::mutex early;
constinit cohort::recursive_mutex early_recursive;
constinit cohort::shared_mutex early_shared;
constinit cohort::condition_variable early_condition;
#endif

// Another thread fails to acquire a held lock, by each function that gives up.
template <class Lock>
static bool is_held_by(Lock &lock)
{
    bool taken = true;
    std::thread([&] {
        taken = std::unique_lock(lock, std::try_to_lock).owns_lock()
             || std::unique_lock(lock, 1ms).owns_lock()
             || std::unique_lock(lock, -1h).owns_lock()
             || std::unique_lock(lock, std::chrono::steady_clock::now() + 1ms).owns_lock()
             || std::unique_lock(lock, std::chrono::system_clock::now() + 1ms).owns_lock()
             || std::unique_lock(lock, std::chrono::system_clock::time_point::min()).owns_lock();
    }).join();
    return !taken;
}

template <class Lock, class Time>
static bool is_taken_by(Lock &lock, const Time &time)
{
    return std::unique_lock(lock, time).owns_lock();
}

template <class Lock>
static bool is_free(Lock &lock)
{
    return is_taken_by(lock, std::chrono::hours::max())
        && is_taken_by(lock, std::chrono::duration<double>(1e300))
        && is_taken_by(lock, std::chrono::steady_clock::time_point::max());
}

template <class Lock>
static bool gives_up(Lock &lock)
{
    std::lock_guard guard(lock);
    return is_held_by(lock);
}

int main()
{
    cohort::mutex mutex;
    cohort::timed_mutex timed;
    cohort::recursive_timed_mutex recursive;
    cohort::shared_timed_mutex shared;
    cohort::named_lock named("mcs");
    cohort::gls_of<cohort::algorithm::clh> addressed(&mutex);

    if (!gives_up(timed) || !gives_up(recursive) || !gives_up(shared) || !gives_up(named)
        || !gives_up(addressed) || !is_free(timed) || !is_free(recursive) || !is_free(shared)
        || !is_free(named) || !is_free(addressed))
        return 1;

    // One thread locks repeatedly, and unlocks as often.
    recursive.lock();
    recursive.lock();
    recursive.unlock();
    if (!is_held_by(recursive) || !recursive.try_lock_for(1ms))
        return 1;
    recursive.unlock();
    recursive.unlock();
    if (!is_free(recursive))
        return 1;

    // Readers share, and exclude writers.
    {
        std::shared_lock one(shared), two(shared, 1ms);
        if (!two.owns_lock() || !is_held_by(shared))
            return 1;
    }
    if (!is_free(shared))
        return 1;

    // Several locks at once, in any order, without a deadlock.
    long total = 0;
    std::thread threads[2];
    threads[0] = std::thread([&] {
        for (int i = 0; i < 20000; i++) {
            std::scoped_lock all(mutex, recursive, shared, named, addressed);
            total++;
        }
    });
    threads[1] = std::thread([&] {
        for (int i = 0; i < 20000; i++) {
            std::lock(addressed, named, shared, recursive, mutex);
            std::scoped_lock all(std::adopt_lock, mutex, recursive, shared, named, addressed);
            total++;
        }
    });
    for (std::thread &thread : threads)
        thread.join();

    // The standard's condition with Cohort's lock.
    std::condition_variable_any changed;
    bool is_done = false;
    std::thread waker([&] {
        std::lock_guard guard(mutex);
        is_done = true;
        changed.notify_one();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_done; });
    waker.join();

    std::printf("standard: %ld\n", total);
    return total == 40000 ? 0 : 1;
}
