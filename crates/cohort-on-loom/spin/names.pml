/* The threads and CPUs in the model of a single lock, which includes this first and
 * threads.pml last.
 *
 *   -DTHREADS=n
 *   -DROUNDS=n     each thread acquires n times, not for ever
 */

#ifndef THREADS
#define THREADS 3
#endif

/* Thread 1 is alone in its cohort, and the others share one, unless the model says
 * otherwise. */
#define COHORTS 2
#ifndef COHORT
#define COHORT(t) ((t) == 1)
#endif

/* A null pointer: no array has a place of that number, so the verifier reports a thread
 * that follows it. */
#define NONE 255
