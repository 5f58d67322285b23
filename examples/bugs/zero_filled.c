/* Uses a mutex in zero-filled memory, which nothing initialises; found if compiled with
 * -include cohort-debug.h. */
#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    long requests;
} stats;

static void __attribute__((noinline)) count(void)
{
    pthread_mutex_lock(&stats.lock);
    stats.requests++;
    pthread_mutex_unlock(&stats.lock);
}

int main(void)
{
    count();
    return 0;
}
