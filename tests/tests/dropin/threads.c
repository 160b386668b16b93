/* Several threads, each with communicators of its own that come and go while the others call collectives. Prints
 * "CALLS <allreduces per rank>" and "OK", or "NO THREADS" where the library does not support them. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 25, CALLS = 8, COUNT = 257 };

static MPI_Comm parents[THREADS];

static void fail(const char *what, int thread, int round) {
    fprintf(stderr, "WRONG: %s in thread %d, round %d\n", what, thread, round);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void *work(void *argument) {
    const int thread = (int)(intptr_t)argument;
    int rank, ranks;
    MPI_Comm_rank(parents[thread], &rank);
    MPI_Comm_size(parents[thread], &ranks);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        MPI_Comm_dup(parents[thread], &comm);
        /* A call on one rank alone, while the other threads make theirs. */
        MPI_Group group, self;
        MPI_Comm lonely;
        MPI_Comm_group(parents[thread], &group);
        MPI_Group_incl(group, 1, &rank, &self);
        MPI_Comm_create_group(parents[thread], self, thread, &lonely);
        int alone = -1;
        MPI_Allreduce(&round, &alone, 1, MPI_INT, MPI_SUM, lonely);
        if (alone != round) {
            fail("an allreduce of one rank", thread, round);
        }
        MPI_Comm_free(&lonely);
        MPI_Group_free(&self);
        MPI_Group_free(&group);
        for (int call = 0; call < CALLS; call++) {
            int mine[COUNT], sum[COUNT];
            for (int i = 0; i < COUNT; i++) {
                mine[i] = (rank + 1) * (thread + 1) + i * call;
            }
            MPI_Allreduce(mine, sum, COUNT, MPI_INT, MPI_SUM, comm);
            for (int i = 0; i < COUNT; i++) {
                if (sum[i] != ranks * (ranks + 1) / 2 * (thread + 1) + ranks * i * call) {
                    fail("an allreduce", thread, round);
                }
            }
            int from_root[COUNT];
            for (int i = 0; i < COUNT; i++) {
                from_root[i] = rank == call % ranks ? 1000 * thread + 7 * round + i : -1;
            }
            MPI_Bcast(from_root, COUNT, MPI_INT, call % ranks, comm);
            for (int i = 0; i < COUNT; i++) {
                if (from_root[i] != 1000 * thread + 7 * round + i) {
                    fail("a broadcast", thread, round);
                }
            }
        }
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("NO THREADS\n");
        MPI_Finalize();
        return 0;
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
    }
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&parents[i]);
    }
    if (rank == 0) {
        printf("CALLS %d\nOK\n", THREADS * ROUNDS * CALLS);
    }
    MPI_Finalize();
    return 0;
}
