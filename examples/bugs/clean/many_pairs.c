/* Many threads, one after the other, acquire the same locks in one order, beside other locks. Many
 * locks are created and destroyed. No record overflows. */
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 80, OUTER = 30, INNER = 30, TOGETHER = 10, COME_AND_GO = 30000 };

static pthread_mutex_t outer[OUTER], inner[INNER], together[TOGETHER];

static void *take_pairs(void *nothing)
{
    for (int i = 0; i < OUTER; i++)
        for (int j = 0; j < INNER; j++) {
            pthread_mutex_lock(&outer[i]);
            pthread_mutex_lock(&inner[j]);
            pthread_mutex_unlock(&inner[j]);
            pthread_mutex_unlock(&outer[i]);
        }
    return nothing;
}

static void *take_sets(void *nothing)
{
    for (int set = 0; set < 1 << TOGETHER; set++) {
        for (int i = 0; i < TOGETHER; i++)
            if (set >> i & 1)
                pthread_mutex_lock(&together[i]);
        for (int i = 0; i < TOGETHER; i++)
            if (set >> i & 1)
                pthread_mutex_unlock(&together[i]);
    }
    return nothing;
}

static void *come_and_go(void *nothing)
{
    for (int i = 0; i < COME_AND_GO; i++) {
        pthread_mutex_t one, other;
        pthread_mutex_init(&one, NULL);
        pthread_mutex_init(&other, NULL);
        pthread_mutex_lock(&one);
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
        pthread_mutex_unlock(&one);
        pthread_mutex_destroy(&one);
        pthread_mutex_destroy(&other);
    }
    return nothing;
}

static void run(void *(*what)(void *), int times)
{
    for (int i = 0; i < times; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, what, NULL);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    run(take_pairs, THREADS);
    run(take_sets, 2);
    run(come_and_go, 4);
    return 0;
}
