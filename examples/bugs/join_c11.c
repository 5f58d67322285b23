/* join.c with the functions of C11. */
#include <stddef.h>
#include <threads.h>

static mtx_t state;

static int finish(void *nothing)
{
    (void)nothing;
    mtx_lock(&state);
    mtx_unlock(&state);
    return 0;
}

int main(void)
{
    thrd_t worker;
    mtx_init(&state, mtx_plain);
    mtx_lock(&state);
    thrd_create(&worker, finish, NULL);
    thrd_join(worker, NULL);
    mtx_unlock(&state);
    return 0;
}
