// A thread waits until another thread cancels its wait.
#include <cohort.hpp>
#include <cstdio>
#include <thread>

int main()
{
    cohort::timed_mutex mutex;
    cohort::shared_timed_mutex table;
    cohort::named_lock queue("hmcs-t-2");
    cohort::token stop;
    bool got[4];

    mutex.lock();
    table.lock();
    queue.lock();
    std::thread waits[] = {
        std::thread([&] { got[0] = mutex.try_lock_unless(stop); }),
        std::thread([&] { got[1] = table.try_lock_unless(stop); }),
        std::thread([&] { got[2] = table.try_lock_shared_unless(stop); }),
        std::thread([&] { got[3] = queue.try_lock_unless(stop); }),
    };
    stop.cancel();
    for (std::thread &wait : waits)
        wait.join();
    mutex.unlock();
    table.unlock();
    queue.unlock();
    if (got[0] || got[1] || got[2] || got[3] || !stop.is_cancelled())
        return 1;
    std::puts("cancel: four waits ended");
    return 0;
}
