/* Unlocks a mutex that no thread holds, below a caller with a large frame. */
#include <pthread.h>

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void misuse(void)
{
    pthread_mutex_unlock(&counter);
    __asm__ volatile("");
}

static __attribute__((noinline)) void wide(void)
{
    volatile char room[12 << 10];
    room[0] = 1;
    misuse();
    room[1] = room[0];
}

int main(void)
{
    wide();
    return 0;
}
