/* Broadcasts on the world and on a communicator of its first two ranks. Prints OK. */
#include <mpi.h>
#include <stdio.h>

#define CALLS 10

static void call(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < CALLS; i++) {
        long value = rank == 0 ? 1000 + i : -1;
        MPI_Bcast(&value, 1, MPI_LONG, 0, comm);
        if (value != 1000 + i) {
            printf("rank %d: %ld in call %d\n", rank, value, i);
            fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Comm two;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    call(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &two);
    if (two != MPI_COMM_NULL) {
        call(two);
        MPI_Comm_free(&two);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("OK\n");
    MPI_Finalize();
    return 0;
}
