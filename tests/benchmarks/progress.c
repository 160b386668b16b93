/* Overhead of the progress thread's library where it cannot help: blocking calls between two ranks, computation by itself, and computation
 * beside a receive whose message is not sent meanwhile. Run by scripts/benchmark-progress, once for each launch.
 *
 * Prints on rank 0 a line for each: name, a tab, seconds of one call or computation (the median of the rounds).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 41, LARGE = 64 << 10, STEPS = 400000 };

static int rank;
static char buffer[LARGE];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static volatile uint64_t result;

/* A fixed amount of work. Each step needs the one before, so that it cannot run in parallel. */
static void compute(void) {
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    result = x;
}

/* Each gives the seconds of one call. */
static double ping_pong(void) {
    const int calls = 500, peer = 1 - rank;
    const double begin = now();
    for (int i = 0; i < calls; i++) {
        if (rank == 0) MPI_Send(buffer, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(buffer, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    }
    return (now() - begin) / calls / 2;
}

static double allreduce(void) {
    const int calls = 500;
    double in = 1.0, out;
    const double begin = now();
    for (int i = 0; i < calls; i++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (now() - begin) / calls;
}

/* A broadcast with an answer, so that the root does not run ahead. */
static double bcast(void) {
    const int calls = 100;
    const double begin = now();
    for (int i = 0; i < calls; i++) {
        MPI_Bcast(buffer, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rank == 0) MPI_Recv(buffer, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(buffer, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    return (now() - begin) / calls;
}

static double computation(void) {
    const double begin = now();
    compute();
    return now() - begin;
}

static double computation_beside_a_receive(void) {
    MPI_Request requests[2];
    const int peer = 1 - rank;
    MPI_Irecv(buffer, 8, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = computation();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(buffer + 8, 8, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return seconds;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, double (*round)(void)) {
    double seconds[ROUNDS];
    round();
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[i] = round();
    }
    qsort(seconds, ROUNDS, sizeof *seconds, ascending);
    if (rank == 0) printf("%s\t%.9e\n", name, seconds[ROUNDS / 2]);
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "progress: %d ranks; start it with 2, as scripts/benchmark-progress does\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    measure("ping-pong, 8 B", ping_pong);
    measure("MPI_Allreduce, 8 B", allreduce);
    measure("MPI_Bcast, 64 KiB", bcast);
    measure("computation", computation);
    measure("computation, receive under way", computation_beside_a_receive);
    MPI_Finalize();
    return 0;
}
