/* Rank 1 posts a receive of 4 MiB. Then it makes no MPI call, as a program that computes, and polls the last byte, for at most as many
 * seconds as the argument says. Prints "ARRIVED" or "NOT ARRIVED". */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 4 << 20, READY = 1, DATA = 2 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    const double limit = argc > 1 ? atof(argv[1]) : 10;
    int rank, level, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Query_thread(&level);
    if (rank == 0 && getenv("KILTER_TEST_LEVEL")) {
        fprintf(stderr, level == MPI_THREAD_MULTIPLE ? "MULTIPLE\n" : "NOT RAISED\n");
    }
    char *buffer = calloc(BYTES, 1);
    MPI_Request request;
    if (rank == 0) {
        memset(buffer, 7, BYTES);
        MPI_Recv(&token, 1, MPI_INT, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* The other rank has left MPI by now. */
        const struct timespec moment = {0, 50000000};
        nanosleep(&moment, NULL);
        MPI_Isend(buffer, BYTES, MPI_CHAR, 1, DATA, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(buffer, BYTES, MPI_CHAR, 0, DATA, MPI_COMM_WORLD, &request);
        MPI_Send(&token, 1, MPI_INT, 0, READY, MPI_COMM_WORLD);
        const volatile char *last = buffer + BYTES - 1;
        const double end = now() + limit;
        while (*last == 0 && now() < end) {
        }
        printf(*last == 7 ? "ARRIVED\n" : "NOT ARRIVED\n");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (buffer[0] != 7 || *last != 7) {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
