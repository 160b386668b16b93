/* Erroneous calls that a library reports, under MPI_ERRORS_RETURN. Prints if each returned an error. A correct call of each collective
 * follows, which would hang if a rank had been left alone in the erroneous one. (An allgather from its own result is missing here: only rank 0
 * of MPICH refuses it, and the others hang without the drop-in too.) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 64, RANKS = 8 };

static int rank, size;
static MPI_Comm comm;

static void say(const char *what, int code) {
    int wrong = code != MPI_SUCCESS, all;
    PMPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s: %d of %d\n", what, all, size);
    }
}

int main(int argc, char **argv) {
    int data[COUNT * RANKS], got[COUNT * RANKS];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Open MPI reports wrong buffers to the error handler of the world. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT * RANKS; i++) {
        data[i] = i;
    }
    for (int round = 0; round < 2; round++) {
        say("allreduce, one buffer", MPI_Allreduce(data, data, COUNT, MPI_INT, MPI_SUM, comm));
        say("allreduce", MPI_Allreduce(data, got, COUNT, MPI_INT, MPI_SUM, comm));
        say("allgather", MPI_Allgather(data, COUNT, MPI_INT, got, COUNT, MPI_INT, comm));
        say("scan, one buffer", MPI_Scan(data, data, COUNT, MPI_INT, MPI_SUM, comm));
        say("scan", MPI_Scan(data, got, COUNT, MPI_INT, MPI_SUM, comm));
        for (int kind = 0; kind < 3; kind++) {
            int code = MPI_SUCCESS;
            /* MPICH crashes without the drop-in too. */
            if (rank == size - 1 && getenv("KILTER_TEST_IN_PLACE") != NULL) {
                switch (kind) {
                    case 0: code = MPI_Reduce(MPI_IN_PLACE, got, COUNT, MPI_INT, MPI_SUM, 0, comm); break;
                    case 1: code = MPI_Gather(MPI_IN_PLACE, COUNT, MPI_INT, got, COUNT, MPI_INT, 0, comm); break;
                    default: code = MPI_Scatter(data, COUNT, MPI_INT, MPI_IN_PLACE, COUNT, MPI_INT, 0, comm);
                }
            }
            say((const char *[]){"reduce, in place beside the root", "gather, in place beside the root",
                                 "scatter, in place beside the root"}[kind], code);
            switch (kind) {
                case 0: code = MPI_Reduce(data, got, COUNT, MPI_INT, MPI_SUM, 0, comm); break;
                case 1: code = MPI_Gather(data, COUNT, MPI_INT, got, COUNT, MPI_INT, 0, comm); break;
                default: code = MPI_Scatter(data, COUNT, MPI_INT, got, COUNT, MPI_INT, 0, comm);
            }
            say((const char *[]){"reduce", "gather", "scatter"}[kind], code);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
