// Locks of addresses, with algorithms of `cohort list`; they need no declaration.
#include <cohort.hpp>

#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace algorithm = cohort::algorithm;

// One lock is contended, the other seldom used.
static long hot, seldom;

static void work()
{
    cohort::gls_of<algorithm::ticket> lock(&seldom);
    for (int i = 0; i < 20000; i++) {
        {
            cohort::gls_guard_of<algorithm::mcs> guard(&hot);
            hot++;
        }
        if (i % 100 == 0) {
            std::unique_lock guard(lock); // movable, with deadlines
            seldom++;
        }
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work);
    for (std::thread &thread : threads)
        thread.join();
    std::printf("algorithms: %ld and %ld\n", hot, seldom);
    return hot == 80000 && seldom == 800 ? 0 : 1;
}
