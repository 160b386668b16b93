/* A program in which one rank comes late to collectives: it sleeps before the call. The last rank is late to allreduces and to a scan, rank 0 to broadcasts of which it
   is the root, and rank 1 to reductions of which it is not. The ranks of one half wait for their own. */
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void late(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv) {
    int rank, ranks;
    double in = 1, out = 0;
    long milliseconds = argc > 1 ? atol(argv[1]) : 100;
    int calls = argc > 2 ? atoi(argv[2]) : 6;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < calls; ++i) {
        if (rank == ranks - 1)
            late(milliseconds);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < calls; ++i) {
        if (rank == 0)
            late(milliseconds);
        MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < calls; ++i) {
        if (rank == 1)
            late(milliseconds);
        MPI_Reduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < calls; ++i) {
        if (rank < 2)
            late(milliseconds);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, (double[64]){0}, 1, MPI_DOUBLE, half);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    if (rank == 0)
        puts("OK");
    return 0;
}
