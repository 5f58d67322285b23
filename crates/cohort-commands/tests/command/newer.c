/* A program and, with -DLIBRARY, the library that it needs before the C library: in that one, shared
 * conditions have their flags in the eighth word, as under version 2.41. */
#include <pthread.h>

int told;

#ifdef LIBRARY
int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
    volatile unsigned *words = (volatile unsigned *)cond;
    for (unsigned i = 0; i < sizeof *cond / sizeof *words; i++)
        words[i] = 0;
    words[7] = *(const unsigned *)attributes;
    return 0;
}

int pthread_cond_signal(pthread_cond_t *cond)
{
    (void)cond;
    told++;
    return 0;
}
#else
#include <stdio.h>

int main(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_cond_t shared, own = PTHREAD_COND_INITIALIZER;
    pthread_cond_init(&shared, &attributes);
    pthread_cond_signal(&own);
    pthread_cond_signal(&shared);
    printf("%d\n", told);
    return 0;
}
#endif
