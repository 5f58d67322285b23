/* Takes two mutexes in opposite orders by code of two modules, each closed before the other is
   opened, at the same addresses if they are free.

   closed MODULE MODULE [TIMES]     repeats the first one TIMES times more, one after the other */
#include <pthread.h>

#ifdef TAKES

__attribute__((noinline)) void TAKES(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
}

void run(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
    for (int turn = 0; turn < 300; turn++)
        TAKES(outer, inner);
}

#else

#include <dlfcn.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef void run_in_module(pthread_mutex_t *, pthread_mutex_t *);

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static run_in_module *run;
static sem_t may_end;
/* No hand-shake that is observed: the second thread would follow the first. */
static atomic_int done;

static void *takes(void *is_backwards)
{
    if (is_backwards)
        run(&second, &first);
    else
        run(&first, &second);
    done++;
    sem_wait(&may_end);
    return NULL;
}

static void *opened(const char *path)
{
    void *module = dlopen(path, RTLD_NOW);
    if (module == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    run = (run_in_module *)dlsym(module, "run");
    return module;
}

int main(int count, char **words)
{
    pthread_t threads[2];
    for (int times = count == 4 ? atoi(words[3]) : 0; times > 0; times--) {
        void *module = opened(words[1]);
        run(&first, &second);
        dlclose(module);
    }
    sem_init(&may_end, 0, 0);
    for (int turn = 0; turn < 2 && count >= 3; turn++) {
        void *module = opened(words[1 + turn]);
        pthread_create(&threads[turn], NULL, takes, turn == 0 ? NULL : words);
        while (done <= turn)
            sched_yield();
        if (dlclose(module) != 0 || dlopen(words[1 + turn], RTLD_NOW | RTLD_NOLOAD) != NULL)
            return 2;
    }
    for (int turn = 0; turn < 2; turn++)
        sem_post(&may_end);
    for (int turn = 0; turn < 2; turn++)
        pthread_join(threads[turn], NULL);
    return 0;
}

#endif
