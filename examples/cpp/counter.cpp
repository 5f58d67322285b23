// Four threads share a counter.
#include <cohort.hpp>

#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static cohort::mutex mutex;
static long total;

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            for (int j = 0; j < 100000; j++) {
                std::lock_guard guard(mutex);
                total++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("counter: %ld\n", total);
    return total == 400000 ? 0 : 1;
}
