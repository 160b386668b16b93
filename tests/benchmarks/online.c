/* A job for scripts/benchmark-online: broadcasts, reductions, prefix sums and allreduces in several sizes.
 *
 *   online mixed CALLS    8 B, 1 KiB and 32 KiB in each round, 256 KiB in every fourth
 *   online best CALLS     allreduces and broadcasts of 8 B, for which the library is as good as anything
 *   online paired CALLS   the same, and as many by the library's own functions, past whatever is preloaded: blocks of 200 calls in turn, so that both
 *                         have the same state of the machine
 *
 * Each call follows the last one, as in a program that computes little. Rank 0 prints the seconds from the first call to the last, a checksum and the
 * number of calls; `paired` the seconds of both kinds of blocks, each from a barrier to another one, with those by the library's own functions last. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 32768, BLOCK = 200 };
static double mine[LARGEST], result[LARGEST];

static double check(int count) {
    double sum = 0;
    for (int i = 0; i < count; i += 97)
        sum += result[i];
    return sum;
}

/* The functions that a block calls. */
struct functions {
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*barrier)(MPI_Comm);
};

/* Those of the library itself: whatever is preloaded has no part in a search that begins with the library. */
static struct functions library_functions(void) {
    void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
    struct functions own = {0};
    if (library) {
        *(void **)&own.bcast = dlsym(library, "MPI_Bcast");
        *(void **)&own.allreduce = dlsym(library, "MPI_Allreduce");
        *(void **)&own.barrier = dlsym(library, "MPI_Barrier");
    }
    if (!own.bcast || !own.allreduce || !own.barrier) {
        fprintf(stderr, "online: the functions of the MPI library itself were not found: %s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return own;
}

/* Rank 0's seconds of a block, and its checksum. */
static double block(const struct functions *called, const struct functions *own, int calls, double *sum) {
    own->barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int call = 0; call < calls; call += 2) {
        result[0] = mine[0];
        called->bcast(result, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        *sum += check(1);
        called->allreduce(mine, result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        *sum += check(1);
    }
    own->barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

int main(int argc, char **argv) {
    static const int sizes[] = {1, 128, 4096, LARGEST};
    int rank, is_mixed = argc > 1 && !strcmp(argv[1], "mixed");
    long calls = argc > 2 ? atol(argv[2]) : 10000, made = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < LARGEST; i++)
        mine[i] = rank + i % 7;
    double sum = 0;
    /* The first calls make connections, in any job. */
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(mine, result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (argc > 1 && !strcmp(argv[1], "paired")) {
        const struct functions own = library_functions(), program = {MPI_Bcast, MPI_Allreduce, MPI_Barrier};
        double seconds[2] = {0, 0}, sums[2] = {0, 0};
        for (long pair = 0; made < calls; pair++, made += BLOCK)
            for (int turn = 0; turn < 2; turn++) {
                const int kind = (int)(pair + turn) % 2;
                seconds[kind] += block(kind ? &own : &program, &own, BLOCK, &sums[kind]);
            }
        if (rank == 0 && sums[0] == sums[1])
            printf("%.3f %.0f %ld %.3f\n", seconds[0], sums[0], made, seconds[1]);
        else if (rank == 0)
            fprintf(stderr, "online: the checksum is %.0f, by the library's own functions it is %.0f\n", sums[0], sums[1]);
        MPI_Finalize();
        return 0;
    }
    double begin = MPI_Wtime();
    for (long round = 0; made < calls; round++) {
        for (int size = 0; size < (is_mixed ? 4 : 1); size++) {
            if (size == 3 && round % 4 != 0)
                continue;
            int count = sizes[size];
            memcpy(result, mine, sizeof *mine * (size_t)count);
            MPI_Bcast(result, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            sum += check(count);
            MPI_Allreduce(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            sum += check(count);
            made += 2;
            if (!is_mixed)
                continue;
            MPI_Reduce(mine, result, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
            if (rank == 0)
                sum += check(count);
            MPI_Scan(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
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
