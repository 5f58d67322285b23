/* Two threads take a spin lock and a mutex in different orders, and meet: a deadlock. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t count;
static pthread_barrier_t both_hold_one;

static void *forwards(void *nothing)
{
    pthread_mutex_lock(&table);
    pthread_barrier_wait(&both_hold_one);
    pthread_spin_lock(&count);
    pthread_spin_unlock(&count);
    pthread_mutex_unlock(&table);
    return nothing;
}

static void *backwards(void *nothing)
{
    pthread_spin_lock(&count);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
    pthread_spin_unlock(&count);
    return nothing;
}

int main(void)
{
    pthread_t one, other;
    pthread_spin_init(&count, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_create(&one, NULL, forwards, NULL);
    pthread_create(&other, NULL, backwards, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    pthread_spin_destroy(&count);
    return 0;
}
