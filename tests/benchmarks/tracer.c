/* The time of short calls on one rank: what a preloaded library adds shows best where the library itself does next to nothing.
 *
 * Prints a line `NAME NANOSECONDS` for each kind of call: the least mean of 15 series. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERIES = 15 };

static double least;

static void keep(double seconds, int calls) {
    double each = seconds / calls * 1e9;
    if (each < least) least = each;
}

#define MEASURE(name, call)                              \
    do {                                                 \
        least = 1e30;                                    \
        for (int series = 0; series < SERIES; ++series) { \
            double begin = MPI_Wtime();                  \
            for (int i = 0; i < calls; ++i) call;        \
            keep(MPI_Wtime() - begin, calls);            \
        }                                                \
        printf("%s %.2f\n", name, least);                \
    } while (0)

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 100000, flag;
    double in = 1, out;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Request request = MPI_REQUEST_NULL;
    MEASURE("allreduce-8-bytes", MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    MEASURE("allreduce-two-communicators", MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, i & 1 ? other : MPI_COMM_SELF));
    MEASURE("send-to-nobody", MPI_Send(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_SELF));
    MEASURE("test-of-nothing", MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
