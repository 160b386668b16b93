/* The time of short calls on one rank: what a preloaded library adds shows best where the library itself does next to nothing.
 *
 * Prints a line `NAME NANOSECONDS RECORDS` for each kind of call: the least mean of 15 series, and the records that a trace has of it: one of the
 * call, and one of each message or collective in it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERIES = 15 };

static double least;

static void keep(double seconds, int calls) {
    double each = seconds / calls * 1e9;
    if (each < least) least = each;
}

#define MEASURE(name, records, call)                     \
    do {                                                 \
        least = 1e30;                                    \
        for (int series = 0; series < SERIES; ++series) { \
            double begin = MPI_Wtime();                  \
            for (int i = 0; i < calls; ++i) call;        \
            keep(MPI_Wtime() - begin, calls);            \
        }                                                \
        printf("%s %.2f %d\n", name, least, records);     \
    } while (0)

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 100000, flag;
    double in = 1, out;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Request request = MPI_REQUEST_NULL;
    MEASURE("allreduce-8-bytes", 2, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    MEASURE("allreduce-two-communicators", 2, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, i & 1 ? other : MPI_COMM_SELF));
    MEASURE("send-to-nobody", 2, MPI_Send(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_SELF));
    MEASURE("test-of-nothing", 1, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    char to[64] = {0}, from[64];
    /* Calls that find nothing, while the library looks. */
    MPI_Irecv(from, 64, MPI_CHAR, 0, 2, MPI_COMM_SELF, &request);
    MEASURE("test-of-a-receive", 1, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MEASURE("probe-that-finds-nothing", 1, MPI_Iprobe(0, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    /* A message to itself, in three calls. */
    MEASURE("message-to-self-64-bytes", 6, {
        MPI_Irecv(from, 64, MPI_CHAR, 0, 1, MPI_COMM_SELF, &request);
        MPI_Send(to, 64, MPI_CHAR, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    /* Long ones: what hashing takes, of bytes without a pattern. */
    enum { LONG = 1 << 16 };
    unsigned char *long_to = malloc(LONG), *long_from = malloc(LONG);
    unsigned number = 1;
    for (int i = 0; i < LONG; ++i) long_to[i] = (unsigned char)((number = number * 1664525u + 1013904223u) >> 24);
    calls = calls / 100 + 1;
    MEASURE("message-to-self-64-kibibytes", 3,
            MPI_Sendrecv(long_to, LONG, MPI_BYTE, 0, 1, long_from, LONG, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    free(long_to);
    free(long_from);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
