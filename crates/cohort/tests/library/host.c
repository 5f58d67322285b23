// A program that loads plug-ins, and libcohort last: host LIBRARY PLUGIN...
#include <cohort.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int (*lock)(cohort_mutex_t *), (*unlock)(cohort_mutex_t *);
static cohort_mutex_t mutex;
static long total;
static pthread_barrier_t loaded;

static void *adds(void *unused)
{
    pthread_barrier_wait(&loaded);
    for (int i = 0; i < 1000; i++) {
        lock(&mutex);
        total++;
        unlock(&mutex);
    }
    return unused;
}

int main(int count, char **arguments)
{
    int refused = 0;
    pthread_t threads[4];
    // Two threads are there before the library is.
    pthread_barrier_init(&loaded, NULL, 4);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 2; i < count; i++)
        refused += !dlopen(arguments[i], RTLD_NOW);
    if (!refused) {
        puts("the reserve has room for all plug-ins");
        return 1;
    }
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    lock = (int (*)(cohort_mutex_t *))dlsym(library, "cohort_mutex_lock");
    unlock = (int (*)(cohort_mutex_t *))dlsym(library, "cohort_mutex_unlock");
    for (int i = 2; i < 4; i++)
        pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return total != 4000;
}
