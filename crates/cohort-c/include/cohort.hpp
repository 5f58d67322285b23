/*
 * Cohort's locks for C++17 and later, over cohort.h.  Link with libcohort; cohort.hpp(3) is the
 * manual.
 *
 * The classes have the names and functions of the standard library's, and work with its
 * std::lock_guard, unique_lock, shared_lock, scoped_lock and std::lock.
 */
#ifndef COHORT_HPP
#define COHORT_HPP

#if __cplusplus < 201703L
#error "cohort.hpp needs C++17: compile with -std=c++17 or later"
#endif

#include <cohort.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif

/* Clang's analysis checks the functions' annotations, not their bodies. */
#define COHORT_UNCHECKED COHORT_ANNOTATION(no_thread_safety_analysis)

namespace cohort {

namespace detail {

/* Throws std::system_error; a program without exceptions ends with its message. */
[[noreturn]] inline void fail(int error, const std::string &what)
{
#ifdef __cpp_exceptions
    throw std::system_error(error, std::generic_category(), what);
#else
    std::fprintf(stderr, "%s: %s\n", what.c_str(), std::generic_category().message(error).c_str());
    std::abort();
#endif
}

inline void check(int error, const char *what)
{
    if (__builtin_expect(error != 0, 0))
        fail(error, what);
}

/* A duration in nanoseconds, rounded up; 0 if negative, the maximum beyond 292 years. */
template <class Rep, class Period>
std::uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &duration)
{
    constexpr std::chrono::duration<long double> longest = std::chrono::nanoseconds::max();
    if (!(duration > duration.zero()))
        return 0;
    if (!(std::chrono::duration<long double>(duration) < longest))
        return std::numeric_limits<std::uint64_t>::max();
    const auto rounded = std::chrono::ceil<std::chrono::nanoseconds>(duration);
    return static_cast<std::uint64_t>(rounded.count());
}

/* Now plus a duration, at most the clock's maximum. */
template <class Rep, class Period>
std::chrono::steady_clock::time_point after(const std::chrono::duration<Rep, Period> &duration)
{
    using clock = std::chrono::steady_clock;
    const auto now = clock::now();
    const std::uint64_t left = nanoseconds(clock::time_point::max() - now);
    const std::uint64_t asked = nanoseconds(duration);
    if (asked >= left)
        return clock::time_point::max();
    return now + std::chrono::nanoseconds(asked);
}

/* A timespec from a duration since the clock's epoch; the epoch for negative ones. */
template <class Duration>
timespec since_epoch(const Duration &duration)
{
    constexpr std::time_t latest = std::numeric_limits<std::time_t>::max();
    const std::chrono::duration<long double> rough = duration;
    if (!(rough.count() > 0))
        return {0, 0};
    if (!(rough.count() < static_cast<long double>(latest)))
        return {latest, 0};
    const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
    const auto rest = std::chrono::ceil<std::chrono::nanoseconds>(duration - whole);
    const bool is_next = rest >= std::chrono::seconds(1);
    return {static_cast<std::time_t>(whole.count() + is_next),
            is_next ? 0 : static_cast<long>(rest.count())};
}

/* Calls `wait` with a clock id and a timespec, and returns its result. */
template <class Duration, class Wait>
int once(const std::chrono::time_point<std::chrono::steady_clock, Duration> &time, Wait wait)
{
    const timespec at = since_epoch(time.time_since_epoch());
    return wait(CLOCK_MONOTONIC, &at);
}

template <class Duration, class Wait>
int once(const std::chrono::time_point<std::chrono::system_clock, Duration> &time, Wait wait)
{
    const timespec at = since_epoch(time.time_since_epoch());
    return wait(CLOCK_REALTIME, &at);
}

/* Another clock may run at any speed, so a wait is divided into slices: ETIMEDOUT may be
 * early. */
template <class Clock, class Duration, class Wait>
int once(const std::chrono::time_point<Clock, Duration> &time, Wait wait)
{
    constexpr std::uint64_t longest = 60'000'000'000;
    const auto now = Clock::now();
    const std::uint64_t left = now < time ? nanoseconds(time - now) : 0;
    return once(after(std::chrono::nanoseconds(left < longest ? left : longest)), wait);
}

/* Repeats `once` until the deadline has passed on its own clock. */
template <class Clock, class Duration, class Wait>
int until(const std::chrono::time_point<Clock, Duration> &time, Wait wait)
{
    int error;
    do
        error = once(time, wait);
    while (error == ETIMEDOUT && Clock::now() < time);
    return error;
}

} // namespace detail

/* Throws ENOTSUP if the library and this header have different versions. */
inline void check_version()
{
    detail::check(cohort_check_version(COHORT_VERSION),
                  "cohort: the library is of another version than cohort.hpp");
}

/* Ends waits early: present ones and later ones, once it is cancelled.  It must outlive all
 * of them. */
class token {
public:
    using native_handle_type = cohort_token_t *;

    constexpr token() noexcept = default;
    token(const token &) = delete;
    token &operator=(const token &) = delete;

    void cancel() noexcept { cohort_token_cancel(&native); }
    bool is_cancelled() const noexcept { return cohort_token_is_cancelled(&native) != 0; }

    native_handle_type native_handle() noexcept { return &native; }

private:
    cohort_token_t native = COHORT_TOKEN_INIT;
};

#ifdef __cpp_lib_jthread
namespace detail {
/* Calls `wait` with a token that is cancelled once a stop is requested. */
template <class Wait>
auto unless(const std::stop_token &stop, Wait wait)
{
    token ends;
    const std::stop_callback cancel(stop, [&ends]() noexcept { ends.cancel(); });
    return wait(ends);
}
} // namespace detail
#endif

/* Lockable, in 8 bytes.  Locking it twice deadlocks; unlock() throws EPERM if it is free. */
class COHORT_CAPABILITY mutex {
public:
    using native_handle_type = cohort_mutex_t *;

    constexpr mutex() noexcept = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept COHORT_ACQUIRE(this) COHORT_UNCHECKED { cohort_mutex_lock(&native); }

    bool try_lock() noexcept COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_mutex_lock_try(&native) == 0;
    }

    void unlock() COHORT_RELEASE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_mutex_unlock(&native), "cohort::mutex::unlock");
    }

    native_handle_type native_handle() noexcept { return &native; }

protected:
    cohort_mutex_t native = COHORT_MUTEX_INIT;
};

/* TimedLockable: a mutex of the same size. */
class COHORT_CAPABILITY timed_mutex : public mutex {
public:
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_mutex_lock_for(&native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_mutex_lock_until(&native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_lock_unless(token &token) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_mutex_lock_unless(&native, token.native_handle()) == 0;
    }

#ifdef __cpp_lib_jthread
    /* False once a stop is requested; from C++20 on. */
    bool try_lock_unless(const std::stop_token &stop) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::unless(stop, [this](token &ends) COHORT_UNCHECKED {
            return try_lock_unless(ends);
        });
    }
#endif
};

/* Lockable repeatedly by one thread; unlock() throws EPERM for other threads, lock() EAGAIN
 * beyond 4294967295 times.  Not annotated: Clang's analysis has no recursive locks. */
class recursive_mutex {
public:
    constexpr recursive_mutex() noexcept = default;
    recursive_mutex(const recursive_mutex &) = delete;
    recursive_mutex &operator=(const recursive_mutex &) = delete;

    void lock() COHORT_UNCHECKED
    {
        if (is_mine()) {
            if (!again())
                detail::fail(EAGAIN, "cohort::recursive_mutex::lock");
        } else {
            inner.lock();
            begin();
        }
    }

    bool try_lock() noexcept COHORT_UNCHECKED
    {
        return is_mine() ? again() : inner.try_lock() && begin();
    }

    void unlock() COHORT_UNCHECKED
    {
        if (!is_mine())
            detail::fail(EPERM, "cohort::recursive_mutex::unlock");
        if (--depth == 0) {
            __atomic_store_n(&owner, 0, __ATOMIC_RELAXED);
            inner.unlock();
        }
    }

protected:
    /* A thread reads its own name only if it wrote it: names are never reused. */
    bool is_mine() const noexcept
    {
        return cohort_thread_is_owner(&owner) != 0;
    }

    bool again() noexcept
    {
        const bool is_room = depth < std::numeric_limits<std::uint32_t>::max();
        depth += is_room;
        return is_room;
    }

    bool begin() noexcept
    {
        cohort_thread_set_owner(&owner);
        depth = 1;
        return true;
    }

    timed_mutex inner;
    /* The library accesses it, so race detectors report nothing. */
    std::uint64_t owner = 0;
    std::uint32_t depth = 0;
};

/* TimedLockable: a recursive_mutex with deadlines. */
class recursive_timed_mutex : public recursive_mutex {
public:
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) COHORT_UNCHECKED
    {
        return is_mine() ? again() : inner.try_lock_for(duration) && begin();
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) COHORT_UNCHECKED
    {
        return is_mine() ? again() : inner.try_lock_until(time) && begin();
    }
};

/* SharedLockable, in 16 bytes.  The locking thread unlocks it.  A reader may read again; a
 * writer that locks again deadlocks.  Unlocking throws EPERM if it is free, lock_shared() EAGAIN
 * beyond half a million readers. */
class COHORT_CAPABILITY shared_mutex {
public:
    using native_handle_type = cohort_rwlock_t *;

    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    void lock() noexcept COHORT_ACQUIRE(this) COHORT_UNCHECKED { cohort_rwlock_write(&native); }

    bool try_lock() noexcept COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_write_try(&native) == 0;
    }

    void unlock() COHORT_RELEASE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_unlock(&native), "cohort::shared_mutex::unlock");
    }

    void lock_shared() COHORT_ACQUIRE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_read(&native), "cohort::shared_mutex::lock_shared");
    }

    bool try_lock_shared() noexcept COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_read_try(&native) == 0;
    }

    void unlock_shared() COHORT_RELEASE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_unlock(&native), "cohort::shared_mutex::unlock_shared");
    }

    native_handle_type native_handle() noexcept { return &native; }

protected:
    cohort_rwlock_t native = COHORT_RWLOCK_INIT;
};

/* SharedTimedLockable: a shared_mutex with deadlines, of the same size. */
class COHORT_CAPABILITY shared_timed_mutex : public shared_mutex {
public:
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_write_for(&native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_rwlock_write_until(&native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_lock_unless(token &token) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_write_unless(&native, token.native_handle()) == 0;
    }

    bool try_lock_shared_unless(token &token) COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_read_unless(&native, token.native_handle()) == 0;
    }

#ifdef __cpp_lib_jthread
    /* False once a stop is requested; from C++20 on. */
    bool try_lock_unless(const std::stop_token &stop) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::unless(stop, [this](token &ends) COHORT_UNCHECKED {
            return try_lock_unless(ends);
        });
    }

    bool try_lock_shared_unless(const std::stop_token &stop)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return detail::unless(stop, [this](token &ends) COHORT_UNCHECKED {
            return try_lock_shared_unless(ends);
        });
    }
#endif

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_read_for(&native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_rwlock_read_until(&native, clock, at);
        }) == 0;
    }
};

/* A shared_timed_mutex with one reader that may become the writer, and fair unlocking, of the same
 * size; the names are Boost's.  unlock_fair() and unlock_shared_fair() hand the lock to a waiting
 * thread.  Unlocking throws EPERM if it is free. */
class COHORT_CAPABILITY upgrade_mutex : public shared_timed_mutex {
public:
    void lock_upgrade() COHORT_ACQUIRE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_read_upgradable(&native), "cohort::upgrade_mutex::lock_upgrade");
    }

    bool try_lock_upgrade() noexcept COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_read_upgradable_try(&native) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_upgrade_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_read_upgradable_for(&native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_upgrade_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_rwlock_read_upgradable_until(&native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_lock_upgrade_unless(token &token) COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_rwlock_read_upgradable_unless(&native, token.native_handle()) == 0;
    }

    void unlock_upgrade() COHORT_RELEASE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_unlock_upgradable(&native),
                      "cohort::upgrade_mutex::unlock_upgrade");
    }

    void unlock_upgrade_and_lock() COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_upgrade(&native),
                      "cohort::upgrade_mutex::unlock_upgrade_and_lock");
    }

    bool try_unlock_upgrade_and_lock() noexcept COHORT_UNCHECKED
    {
        return cohort_rwlock_upgrade_try(&native) == 0;
    }

    template <class Rep, class Period>
    bool try_unlock_upgrade_and_lock_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_UNCHECKED
    {
        return cohort_rwlock_upgrade_for(&native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_unlock_upgrade_and_lock_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_rwlock_upgrade_until(&native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_unlock_upgrade_and_lock_unless(token &token) COHORT_UNCHECKED
    {
        return cohort_rwlock_upgrade_unless(&native, token.native_handle()) == 0;
    }

#ifdef __cpp_lib_jthread
    /* False once a stop is requested; from C++20 on. */
    bool try_lock_upgrade_unless(const std::stop_token &stop)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return detail::unless(stop, [this](token &ends) COHORT_UNCHECKED {
            return try_lock_upgrade_unless(ends);
        });
    }

    bool try_unlock_upgrade_and_lock_unless(const std::stop_token &stop) COHORT_UNCHECKED
    {
        return detail::unless(stop, [this](token &ends) COHORT_UNCHECKED {
            return try_unlock_upgrade_and_lock_unless(ends);
        });
    }
#endif

    void unlock_upgrade_and_lock_shared() COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_end_upgradable(&native),
                      "cohort::upgrade_mutex::unlock_upgrade_and_lock_shared");
    }

    void unlock_and_lock_upgrade() COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_downgrade_upgradable(&native),
                      "cohort::upgrade_mutex::unlock_and_lock_upgrade");
    }

    void unlock_and_lock_shared() COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_downgrade(&native),
                      "cohort::upgrade_mutex::unlock_and_lock_shared");
    }

    void unlock_fair() COHORT_RELEASE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_unlock_fair(&native), "cohort::upgrade_mutex::unlock_fair");
    }

    void unlock_shared_fair() COHORT_RELEASE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_rwlock_unlock_fair(&native),
                      "cohort::upgrade_mutex::unlock_shared_fair");
    }
};

/* TimedLockable: a lock of `cohort list` by its name, or a composition such as
 * clof:mcs-mcs-ticket@cache,numa,system.  The constructor throws EINVAL for an unknown name,
 * unlock() EPERM if the lock is free.  Destroying a held lock ends the program. */
class COHORT_CAPABILITY named_lock {
public:
    using native_handle_type = cohort_lock_t *;

    explicit named_lock(const std::string &name) : native(cohort_lock_new(name.c_str()))
    {
        if (!native) {
            const int error = errno;
            char why[320];
            cohort_lock_explain(name.c_str(), why, sizeof why);
            detail::fail(error, "cohort: lock \"" + name + "\": " + why);
        }
    }

    named_lock(const named_lock &) = delete;
    named_lock &operator=(const named_lock &) = delete;

    ~named_lock()
    {
        detail::check(cohort_lock_free(native), "cohort: a lock is destroyed while it is held");
    }

    void lock() noexcept COHORT_ACQUIRE(this) COHORT_UNCHECKED { cohort_lock_acquire(native); }

    bool try_lock() noexcept COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_lock_acquire_try(native) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_lock_acquire_for(native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_lock_acquire_until(native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_lock_unless(token &token) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_lock_acquire_unless(native, token.native_handle()) == 0;
    }

#ifdef __cpp_lib_jthread
    /* False once a stop is requested; from C++20 on. */
    bool try_lock_unless(const std::stop_token &stop) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::unless(stop, [this](token &ends) COHORT_UNCHECKED {
            return try_lock_unless(ends);
        });
    }
#endif

    void unlock() COHORT_RELEASE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_lock_release(native), "cohort::named_lock::unlock");
    }

    native_handle_type native_handle() noexcept { return native; }

private:
    cohort_lock_t *native;
};

/* SharedTimedLockable: "rwlock", "c-rw-np" or "c-rw-wp" (cohort_shared_new()).  The constructor
 * throws EINVAL for another name, unlocking EPERM if the lock is free.  Destroying a held lock ends
 * the program. */
class COHORT_CAPABILITY named_shared_lock {
public:
    using native_handle_type = cohort_shared_t *;

    explicit named_shared_lock(const std::string &name) : native(cohort_shared_new(name.c_str()))
    {
        if (!native)
            detail::fail(errno, "cohort: rwlock \"" + name + "\"");
    }

    named_shared_lock(const named_shared_lock &) = delete;
    named_shared_lock &operator=(const named_shared_lock &) = delete;

    ~named_shared_lock()
    {
        detail::check(cohort_shared_free(native), "cohort: a lock is destroyed while it is held");
    }

    void lock() noexcept COHORT_ACQUIRE(this) COHORT_UNCHECKED { cohort_shared_write(native); }

    bool try_lock() noexcept COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_shared_write_try(native) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_shared_write_for(native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_shared_write_until(native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_lock_unless(token &token) COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_shared_write_unless(native, token.native_handle()) == 0;
    }

    void unlock() COHORT_RELEASE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_shared_unlock(native), "cohort::named_shared_lock::unlock");
    }

    void lock_shared() COHORT_ACQUIRE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_shared_read(native), "cohort::named_shared_lock::lock_shared");
    }

    bool try_lock_shared() noexcept COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_shared_read_try(native) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_shared_read_for(native, detail::nanoseconds(duration)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
        COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return detail::until(time, [this](int clock, const timespec *at) COHORT_UNCHECKED {
            return cohort_shared_read_until(native, clock, at);
        }) == 0;
    }

    /* False once the token is cancelled. */
    bool try_lock_shared_unless(token &token) COHORT_TRY_ACQUIRE_SHARED(true, this) COHORT_UNCHECKED
    {
        return cohort_shared_read_unless(native, token.native_handle()) == 0;
    }

    void unlock_shared() COHORT_RELEASE_SHARED(this) COHORT_UNCHECKED
    {
        detail::check(cohort_shared_unlock(native), "cohort::named_shared_lock::unlock_shared");
    }

    native_handle_type native_handle() noexcept { return native; }

private:
    cohort_shared_t *native;
};

/* Holds a named lock for a scope.  It contains the lock's queue node; named_lock::lock() uses a
 * pooled one. */
class COHORT_ANNOTATION(scoped_lockable) context_guard {
public:
    explicit context_guard(named_lock &lock) noexcept COHORT_ACQUIRE(lock) COHORT_UNCHECKED
        : native(lock.native_handle())
    {
        cohort_lock_acquire_by(native, &context);
    }

    context_guard(const context_guard &) = delete;
    context_guard &operator=(const context_guard &) = delete;

    ~context_guard() COHORT_ANNOTATION(release_capability()) COHORT_UNCHECKED
    {
        cohort_lock_release_by(native, &context);
    }

private:
    cohort_context_t context;
    cohort_lock_t *native;
};

namespace detail {
struct algorithm {};
} // namespace detail

/* The functions of each algorithm for addresses, by the names of `cohort list` with _ for -;
 * `usual` is the default. */
namespace algorithm {
#define COHORT_ALGORITHM(name, functions) \
    struct name : detail::algorithm { \
        static constexpr auto lock = functions##_lock; \
        static constexpr auto trylock = functions##_trylock; \
        static constexpr auto clocklock = functions##_clocklock; \
        static constexpr auto unlock = functions##_unlock; \
    };
#define COHORT_NAMED_ALGORITHM(name) COHORT_ALGORITHM(name, cohort_gls_##name)
COHORT_ALGORITHM(usual, cohort_gls)
COHORT_EACH_LOCK(COHORT_NAMED_ALGORITHM)
#undef COHORT_NAMED_ALGORITHM
#undef COHORT_ALGORITHM
} // namespace algorithm

/* TimedLockable: the lock of an address, without declaration, of an algorithm such as
 * algorithm::mcs (cohort_gls_mcs_lock()).  All objects of one address are one lock, which keeps
 * its first algorithm until it is freed.  lock() throws EINVAL for null and for an address with a
 * lock of another algorithm, unlock() EPERM if the lock is free.  Not annotated for Clang's
 * analysis. */
template <class Algorithm>
class gls_of {
    static_assert(std::is_base_of_v<detail::algorithm, Algorithm>,
                  "the algorithm is one of the namespace cohort::algorithm, such as "
                  "cohort::algorithm::mcs");

public:
    using native_handle_type = const void *;

    constexpr explicit gls_of(const void *of) noexcept : address(of) {}

    void lock() { detail::check(Algorithm::lock(address), "cohort::gls::lock"); }

    bool try_lock() { return taken(Algorithm::trylock(address)); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
    {
        return try_lock_until(detail::after(duration));
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return taken(detail::until(time, [this](int clock, const timespec *at) {
            return Algorithm::clocklock(address, clock, at);
        }));
    }

    void unlock() { detail::check(Algorithm::unlock(address), "cohort::gls::unlock"); }

    /* Removes the lock; call it before the memory is reused.  Throws EBUSY if the lock is held or
     * has waiters. */
    void free() const { detail::check(cohort_gls_free(address), "cohort::gls::free"); }

    native_handle_type native_handle() const noexcept { return address; }

private:
    static bool taken(int error)
    {
        if (error != EBUSY && error != ETIMEDOUT)
            detail::check(error, "cohort::gls::try_lock");
        return error == 0;
    }

    const void *address;
};

/* Holds the lock of an address for a scope. */
template <class Algorithm>
class gls_guard_of {
public:
    explicit gls_guard_of(const void *of) : held(of) { held.lock(); }

    gls_guard_of(const gls_guard_of &) = delete;
    gls_guard_of &operator=(const gls_guard_of &) = delete;

    ~gls_guard_of() { Algorithm::unlock(held.native_handle()); }

private:
    gls_of<Algorithm> held;
};

/* The default lock of an address. */
using gls = gls_of<algorithm::usual>;
using gls_guard = gls_guard_of<algorithm::usual>;

/* From C++20 on: lock_of<"hmcs-3">, a named lock without an argument. */
#if __cplusplus >= 202002L && (__cpp_nontype_template_args >= 201911L || __clang_major__ >= 12)
namespace detail {
template <std::size_t Size>
struct name {
    char text[Size];

    constexpr name(const char (&given)[Size]) noexcept
    {
        for (std::size_t i = 0; i < Size; i++)
            text[i] = given[i];
    }
};
} // namespace detail

template <detail::name Name>
class COHORT_CAPABILITY lock_of : public named_lock {
public:
    lock_of() : named_lock(Name.text) {}
};

/* Another name. */
template <detail::name Name>
using lock = lock_of<Name>;
#endif

namespace detail {
/* What a section returned or threw.  It may have run on another thread. */
template <class Result>
struct outcome {
    template <class Section>
    void run(Section &section) noexcept
    {
#ifdef __cpp_exceptions
        try {
#endif
            if constexpr (std::is_void_v<Result>)
                section();
            else if constexpr (std::is_reference_v<Result>) {
                auto &&value = section();
                result = std::addressof(value);
            } else
                result.emplace(section());
#ifdef __cpp_exceptions
        } catch (...) {
            thrown = std::current_exception();
        }
#endif
    }

    Result get()
    {
#ifdef __cpp_exceptions
        if (thrown)
            std::rethrow_exception(std::move(thrown));
#endif
        if constexpr (std::is_reference_v<Result>)
            return static_cast<Result>(*result);
        else if constexpr (!std::is_void_v<Result>)
            return *std::move(result);
    }

private:
    struct nothing {};
    using kept = std::conditional_t<
        std::is_void_v<Result>, nothing,
        std::conditional_t<std::is_reference_v<Result>, std::remove_reference_t<Result> *,
                           std::optional<std::remove_reference_t<Result>>>>;

    kept result{};
#ifdef __cpp_exceptions
    std::exception_ptr thrown;
#endif
};

} // namespace detail

/* A lock to which critical sections are brought as functions: they may run on another thread, which
 * has the protected data in its cache.  Also Lockable, for sections that use thread-local
 * state.  Destroying it while it is used is undefined. */
class COHORT_CAPABILITY delegated {
public:
    using native_handle_type = cohort_delegated_t *;

    delegated() : native(cohort_delegated_new())
    {
        if (!native)
            detail::fail(ENOMEM, "cohort::delegated");
    }

    /* As cohort_delegated_new_named(): "sanl", with the thresholds of a configuration file. */
    explicit delegated(const char *name) : native(cohort_delegated_new_named(name))
    {
        if (!native)
            detail::fail(errno, "cohort::delegated");
    }

    delegated(const delegated &) = delete;
    delegated &operator=(const delegated &) = delete;

    ~delegated() { cohort_delegated_free(native); }

    /* Runs the section once under mutual exclusion, and returns or throws what it does.  It must
     * not lock the same lock. */
    template <class Section>
    std::invoke_result_t<Section &> run(Section &&section)
    {
        using result = std::invoke_result_t<Section &>;
        struct call {
            std::remove_reference_t<Section> *section;
            detail::outcome<result> outcome;
        } one{std::addressof(section), {}};
        const auto step = [](void *argument) noexcept {
            call &one = *static_cast<call *>(argument);
            one.outcome.run(*one.section);
        };
        detail::check(cohort_delegate(native, step, &one), "cohort::delegated::run");
        return one.outcome.get();
    }

    void lock() COHORT_ACQUIRE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_delegated_lock(native), "cohort::delegated::lock");
    }

    /* False if a critical section runs, in whichever thread. */
    bool try_lock() noexcept COHORT_TRY_ACQUIRE(true, this) COHORT_UNCHECKED
    {
        return cohort_delegated_lock_try(native) == 0;
    }

    void unlock() COHORT_RELEASE(this) COHORT_UNCHECKED
    {
        detail::check(cohort_delegated_unlock(native), "cohort::delegated::unlock");
    }

    native_handle_type native_handle() noexcept { return native; }

private:
    cohort_delegated_t *native;
};

/* Data that is only reached under its lock: `synchronized<T> data; data.lock()->x = 1;`.  With a
 * SharedLockable mutex, lock_shared() gives readers a const view. */
template <class T, class Mutex = mutex>
class synchronized {
    template <class View, class Held>
    class guard {
    public:
        View &operator*() const noexcept { return *data; }
        View *operator->() const noexcept { return data; }

        /* False for a try_lock() that failed: then there is no data. */
        explicit operator bool() const noexcept { return held.owns_lock(); }

    private:
        friend synchronized;

        template <class... How>
        guard(Mutex &mutex, View &view, How... how)
            : held(mutex, how...), data(held.owns_lock() ? std::addressof(view) : nullptr)
        {
        }

        Held held;
        View *data;
    };

public:
    using exclusive = guard<T, std::unique_lock<Mutex>>;
    using shared = guard<const T, std::shared_lock<Mutex>>;

    /* The data's constructor gets the arguments. */
    template <class... Arguments, class = std::enable_if_t<std::is_constructible_v<T, Arguments...>>>
    explicit constexpr synchronized(Arguments &&...arguments)
        : data(std::forward<Arguments>(arguments)...)
    {
    }

    synchronized(const synchronized &) = delete;
    synchronized &operator=(const synchronized &) = delete;

    [[nodiscard]] exclusive lock() { return exclusive(inner, data); }
    [[nodiscard]] exclusive try_lock() { return exclusive(inner, data, std::try_to_lock); }
    [[nodiscard]] shared lock_shared() const { return shared(inner, data); }

    /* Calls the function with the data, under the lock. */
    template <class Function>
    decltype(auto) with(Function &&function)
    {
        const exclusive held = lock();
        return std::invoke(std::forward<Function>(function), *held);
    }

private:
    mutable Mutex inner;
    T data;
};

/* Whether call_once() has been completed with it. */
class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag &) = delete;
    once_flag &operator=(const once_flag &) = delete;

private:
    template <class Function, class... Arguments>
    friend void call_once(once_flag &, Function &&, Arguments &&...);

    mutex inner;
    bool is_done = false;
};

/* Calls the function once for each flag, as std::call_once: callers wait until it has returned; if
 * it throws, the next caller calls it.  It deadlocks if the function calls it with the same flag. */
template <class Function, class... Arguments>
void call_once(once_flag &flag, Function &&function, Arguments &&...arguments)
{
    if (__atomic_load_n(&flag.is_done, __ATOMIC_ACQUIRE))
        return;
    const std::lock_guard<mutex> guard(flag.inner);
    if (flag.is_done)
        return;
    std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
    __atomic_store_n(&flag.is_done, true, __ATOMIC_RELEASE);
}

using std::cv_status;

/* A condition, in 24 bytes, for any BasicLockable, as std::condition_variable_any.  With
 * std::unique_lock of a mutex, timed_mutex or named_lock it costs as much as in C.  It wakes in
 * FIFO order.  A wait throws EPERM if its std::unique_lock does not own the lock. */
class condition_variable {
public:
    using native_handle_type = cohort_cond_t *;

    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    void notify_one() noexcept { cohort_cond_signal(&native); }
    void notify_all() noexcept { cohort_cond_broadcast(&native); }

    template <class Lock>
    void wait(Lock &lock)
    {
        sleep(lock, 0, nullptr);
    }

    template <class Lock, class Predicate>
    void wait(Lock &lock, Predicate predicate)
    {
        while (!predicate())
            wait(lock);
    }

    template <class Lock, class Clock, class Duration>
    cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time)
    {
        const int error = detail::once(time, [&](int clock, const timespec *at) {
            return sleep(lock, clock, at);
        });
        const bool is_over = error == ETIMEDOUT && !(Clock::now() < time);
        return is_over ? cv_status::timeout : cv_status::no_timeout;
    }

    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time,
                    Predicate predicate)
    {
        while (!predicate())
            if (wait_until(lock, time) == cv_status::timeout)
                return predicate();
        return true;
    }

    template <class Lock, class Rep, class Period>
    cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration)
    {
        return wait_until(lock, detail::after(duration));
    }

    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration,
                  Predicate predicate)
    {
        return wait_until(lock, detail::after(duration), std::move(predicate));
    }

#ifdef __cpp_lib_jthread
    /* Also ends once a stop is requested, and returns what the predicate does then.  For the
     * std::unique_lock of a mutex, timed_mutex or named_lock; from C++20 on. */
    template <class Mutex, class Predicate>
    bool wait(std::unique_lock<Mutex> &lock, const std::stop_token &stop, Predicate predicate)
    {
        return detail::unless(stop, [&](token &ends) {
            while (!ends.is_cancelled()) {
                if (predicate())
                    return true;
                sleep_unless(lock, ends);
            }
            return static_cast<bool>(predicate());
        });
    }
#endif

    native_handle_type native_handle() noexcept { return &native; }

private:
    /* Waits until the time, or without limit if it is null: 0 or ETIMEDOUT. */
    template <class Mutex>
    int sleep(std::unique_lock<Mutex> &lock, int clock, const timespec *at) COHORT_UNCHECKED
    {
        int error = EPERM;
        if (!lock.owns_lock()) {
        } else if constexpr (std::is_base_of_v<mutex, Mutex>) {
            cohort_mutex_t *held = lock.mutex()->native_handle();
            error = at ? cohort_cond_wait_until(&native, held, clock, at)
                       : cohort_cond_wait(&native, held);
        } else if constexpr (std::is_base_of_v<named_lock, Mutex>) {
            cohort_lock_t *held = lock.mutex()->native_handle();
            error = at ? cohort_cond_wait_lock_until(&native, held, clock, at)
                       : cohort_cond_wait_lock(&native, held);
        } else {
            error = sleep_by(lock, clock, at);
        }
        if (error != ETIMEDOUT)
            detail::check(error, "cohort::condition_variable::wait");
        return error;
    }

    template <class Lock>
    int sleep(Lock &lock, int clock, const timespec *at)
    {
        return sleep_by(lock, clock, at);
    }

    /* Waits until the token is cancelled. */
    template <class Mutex>
    void sleep_unless(std::unique_lock<Mutex> &lock, token &ends) COHORT_UNCHECKED
    {
        constexpr bool is_named = std::is_base_of_v<named_lock, Mutex>;
        static_assert(is_named || std::is_base_of_v<mutex, Mutex>,
                      "a wait with a std::stop_token needs a mutex, timed_mutex or named_lock");
        int error = EPERM;
        if (!lock.owns_lock()) {
        } else if constexpr (is_named) {
            error = cohort_cond_wait_lock_unless(&native, lock.mutex()->native_handle(),
                                                 ends.native_handle());
        } else {
            error = cohort_cond_wait_unless(&native, lock.mutex()->native_handle(),
                                            ends.native_handle());
        }
        if (error != ECANCELED)
            detail::check(error, "cohort::condition_variable::wait");
    }

    /* An exception of the lock ends the program here: none may pass through C. */
    template <class Lock>
    int sleep_by(Lock &lock, int clock, const timespec *at)
    {
        const cohort_step_t release = [](void *held) noexcept { static_cast<Lock *>(held)->unlock(); };
        const cohort_step_t acquire = [](void *held) noexcept { static_cast<Lock *>(held)->lock(); };
        void *held = std::addressof(lock);
        return at ? cohort_cond_wait_between_until(&native, release, acquire, held, clock, at)
                  : cohort_cond_wait_between(&native, release, acquire, held);
    }

    cohort_cond_t native = COHORT_COND_INIT;
};

/* condition_variable already accepts any lock. */
using condition_variable_any = condition_variable;

} // namespace cohort

#endif /* COHORT_HPP */
