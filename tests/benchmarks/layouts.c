/* A job for scripts/benchmark-layouts: times of collectives on MPI_COMM_WORLD, or on its first ranks, split off.
 *
 *   layouts RANKS REPETITIONS FUNCTION:BYTES...    RANKS 0: all; FUNCTION is bcast, reduce, allreduce or scan
 *
 * A repetition begins at an agreed time and ends with the last rank. The hosts have one monotonic clock, as those of a virtual cluster do. A repetition
 * to which a rank came late is made again. Rank 0 prints FUNCTION:BYTES and the median in microseconds, a line each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UPS = 3, TRIES = 20 };

/* Seconds from the last rank's end to the next start, in which all ranks learn of it. */
static const double MARGIN = 4e-3;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void sleep_until(double time) {
    struct timespec at = {(time_t)time, (long)(1e9 * (time - (double)(time_t)time))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
        ;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int call(const char *function, const double *own, double *result, int count, MPI_Comm comm) {
    if (!strcmp(function, "bcast"))
        return MPI_Bcast(result, count, MPI_DOUBLE, 0, comm);
    if (!strcmp(function, "reduce"))
        return MPI_Reduce(own, result, count, MPI_DOUBLE, MPI_SUM, 0, comm);
    if (!strcmp(function, "allreduce"))
        return MPI_Allreduce(own, result, count, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(function, "scan"))
        return MPI_Scan(own, result, count, MPI_DOUBLE, MPI_SUM, comm);
    fprintf(stderr, "layouts: `%s` is no function; allowed: bcast, reduce, allreduce, scan\n", function);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return MPI_ERR_ARG;
}

/* The median of the repetitions in seconds. */
static double measure(const char *function, int count, int repetitions, MPI_Comm comm) {
    double *own = malloc(sizeof *own * (size_t)count), *result = malloc(sizeof *own * (size_t)count);
    double *times = malloc(sizeof *times * (size_t)repetitions);
    if (!own || !result || !times)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < count; i++)
        own[i] = result[i] = i % 7;
    for (int i = 0; i < WARM_UPS; i++)
        call(function, own, result, count, comm);
    double start = now();
    MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_DOUBLE, MPI_MAX, comm);
    int counted = 0;
    for (int tries = 0; counted < repetitions && tries < TRIES * repetitions; tries++) {
        start += MARGIN;
        double late = now() > start;
        sleep_until(start);
        call(function, own, result, count, comm);
        double said[2] = {now(), late}, all[2];
        MPI_Allreduce(said, all, 2, MPI_DOUBLE, MPI_MAX, comm);
        if (all[1] == 0)
            times[counted++] = all[0] - start;
        start = all[0];
    }
    qsort(times, (size_t)counted, sizeof *times, ascending);
    double median = counted ? times[counted / 2] : -1;
    free(own);
    free(result);
    free(times);
    return median;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int ranks = argc > 1 ? atoi(argv[1]) : 0, repetitions = argc > 2 ? atoi(argv[2]) : 0;
    if (ranks < 0 || ranks > size || repetitions < 1) {
        fprintf(stderr, "layouts: usage: layouts RANKS REPETITIONS FUNCTION:BYTES..., RANKS from 0 to %d\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm comm = MPI_COMM_WORLD;
    if (ranks > 0)
        MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    for (int i = 3; i < argc && comm != MPI_COMM_NULL; i++) {
        char function[32];
        long bytes;
        if (sscanf(argv[i], "%31[^:]:%ld", function, &bytes) != 2 || bytes < (long)sizeof(double)) {
            fprintf(stderr, "layouts: `%s` is no FUNCTION:BYTES of at least %zu bytes\n", argv[i], sizeof(double));
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        double seconds = measure(function, (int)(bytes / (long)sizeof(double)), repetitions, comm);
        if (rank == 0)
            printf("%s %.2f\n", argv[i], 1e6 * seconds);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
