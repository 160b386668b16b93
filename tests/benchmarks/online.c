/* A job for scripts/benchmark-online: broadcasts, reductions, prefix sums and allreduces in several sizes.
 *
 *   online mixed CALLS    8 B, 1 KiB and 32 KiB in each round, 256 KiB in every fourth
 *   online best CALLS     allreduces and broadcasts of 8 B, for which the library is as good as anything
 *
 * Each call follows the last one, as in a program that computes little. Rank 0 prints the seconds from the first call to the last, and a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 32768 };
static double own[LARGEST], result[LARGEST];

static double check(int count) {
    double sum = 0;
    for (int i = 0; i < count; i += 97)
        sum += result[i];
    return sum;
}

int main(int argc, char **argv) {
    static const int sizes[] = {1, 128, 4096, LARGEST};
    int rank, is_mixed = argc > 1 && !strcmp(argv[1], "mixed");
    long calls = argc > 2 ? atol(argv[2]) : 10000, made = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < LARGEST; i++)
        own[i] = rank + i % 7;
    double sum = 0;
    /* The first calls make connections, in any job. */
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(own, result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double begin = MPI_Wtime();
    for (long round = 0; made < calls; round++) {
        for (int size = 0; size < (is_mixed ? 4 : 1); size++) {
            if (size == 3 && round % 4 != 0)
                continue;
            int count = sizes[size];
            memcpy(result, own, sizeof *own * (size_t)count);
            MPI_Bcast(result, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            sum += check(count);
            MPI_Allreduce(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            sum += check(count);
            made += 2;
            if (!is_mixed)
                continue;
            MPI_Reduce(own, result, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
            if (rank == 0)
                sum += check(count);
            MPI_Scan(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            sum += check(count);
            made += 2;
        }
    }
    double seconds = MPI_Wtime() - begin, all;
    MPI_Reduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    double total = 0;
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.3f %.0f %ld\n", all, total, made);
    MPI_Finalize();
    return 0;
}
