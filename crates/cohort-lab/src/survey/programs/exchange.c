/* Threads of two processes send each other numbers by MPI, all at once, and add up
 * what they receive: nothing is lost, doubled, or given to the wrong thread. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef THREADS
#define THREADS 4
#define ROUNDS 200
#endif

enum { WINDOW = 4, COLLECT_EVERY = 20 };

static int rank, other;
static MPI_Comm own[THREADS];
static long wrong[THREADS];

/* Unlike for every thread, round and place in the window. */
static long token(int sender, int thread, int round, int place)
{
    return (((long)sender * THREADS + thread) * ROUNDS + round) * WINDOW + place;
}

/* Several messages are on their way in both directions; every so often all threads
 * of this number agree on a sum. */
static void *exchange(void *argument)
{
    int thread = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        long sent[WINDOW], received[WINDOW];
        MPI_Request requests[2 * WINDOW];
        MPI_Status ends[2 * WINDOW];
        for (int place = 0; place < WINDOW; place++) {
            MPI_Irecv(&received[place], 1, MPI_LONG, other, thread,
                      MPI_COMM_WORLD, &requests[place]);
            sent[place] = token(rank, thread, round, place);
            MPI_Isend(&sent[place], 1, MPI_LONG, other, thread, MPI_COMM_WORLD,
                      &requests[WINDOW + place]);
        }
        MPI_Waitall(2 * WINDOW, requests, ends);
        for (int place = 0; place < WINDOW; place++)
            wrong[thread] += received[place] != token(other, thread, round, place);
        if (round % COLLECT_EVERY == 0) {
            long mine = token(rank, thread, round, 0), sum = 0;
            MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, own[thread]);
            wrong[thread] += sum != mine + token(other, thread, round, 0);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided != MPI_THREAD_MULTIPLE || ranks != 2) {
        fprintf(stderr, "this needs MPI_THREAD_MULTIPLE and two processes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    other = 1 - rank;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, exchange, (void *)i) != 0)
            MPI_Abort(MPI_COMM_WORLD, 2);
    long here = 0, everywhere = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        here += wrong[i];
    }
    MPI_Reduce(&here, &everywhere, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d messages, %ld wrong\n", 2 * THREADS * ROUNDS * WINDOW, everywhere);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&own[i]);
    MPI_Finalize();
    return 0;
}
