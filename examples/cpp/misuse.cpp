// Exceptions for detectable mistakes.
#define COHORT_NO_THREAD_SAFETY // clang would reject them
#include <cohort.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

template <class Mistake>
static void expect(int error, Mistake mistake)
{
    try {
        mistake();
    } catch (const std::system_error &thrown) {
        std::printf("misuse: %s\n", thrown.what());
        if (thrown.code() == std::error_code(error, std::generic_category()))
            return;
    }
    std::printf("misuse: it was not noticed\n");
    std::exit(1);
}

int main()
{
    cohort::mutex mutex;
    cohort::recursive_mutex recursive;
    cohort::shared_mutex shared;
    cohort::condition_variable changed;
    cohort::named_lock named("mcs");

    cohort::check_version();
    expect(EPERM, [&] { mutex.unlock(); });
    expect(EPERM, [&] { shared.unlock(); });
    expect(EPERM, [&] { shared.unlock_shared(); });
    expect(EPERM, [&] { named.unlock(); });
    expect(EPERM, [&] { recursive.unlock(); });
    expect(EINVAL, [] { cohort::named_lock none("no-such-lock"); });
    expect(EINVAL, [] { cohort::named_lock none("clof:mcs-mcs@cache,numa"); });
    expect(EPERM, [&] {
        std::unique_lock lock(mutex, std::defer_lock);
        changed.wait(lock);
    });

    // An address has one lock, of one algorithm, until it is freed.
    using mcs = cohort::gls_of<cohort::algorithm::mcs>;
    mcs addressed(&named);
    expect(EINVAL, [] { mcs(nullptr).lock(); });
    expect(EPERM, [&] { addressed.unlock(); });
    addressed.lock();
    expect(EINVAL, [&] { cohort::gls(&named).lock(); });
    expect(EINVAL, [&] { cohort::gls_guard_of<cohort::algorithm::ticket> guard(&named); });
    expect(EBUSY, [&] { addressed.free(); });
    addressed.unlock();
    addressed.free();
    cohort::gls(&named).try_lock();
    expect(EINVAL, [&] { addressed.try_lock(); });

    // Another thread holds it.
    recursive.lock();
    std::thread([&] { expect(EPERM, [&] { recursive.unlock(); }); }).join();
    recursive.unlock();
    return 0;
}
