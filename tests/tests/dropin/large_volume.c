/* A broadcast and an allgather of more than 2 GiB in all: counted in elements of 1 MiB, or, with LARGE_COUNTS, in bytes. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "large_counts.h"

enum { MIB = 1 << 20, TOTAL = 2100 };

static int rank, ranks;

/* The value of the `i`-th 8 bytes of the data. */
static uint64_t pattern(size_t i, uint64_t salt) { return (i + salt) * UINT64_C(0x9e3779b97f4a7c15); }

static void fill(uint64_t *buffer, size_t begin, size_t words, uint64_t salt) {
    for (size_t i = 0; i < words; i++) {
        buffer[i] = pattern(begin + i, salt);
    }
}

static void check(const uint64_t *buffer, size_t words, uint64_t salt, const char *what) {
    for (size_t i = 0; i < words; i++) {
        if (buffer[i] != pattern(i, salt)) {
            printf("rank %d: %s is wrong at byte %zu\n", rank, what, i * 8);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static uint64_t *memory(size_t bytes) {
    uint64_t *buffer = malloc(bytes);
    if (buffer == NULL) {
        printf("rank %d: no memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return buffer;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef LARGE_COUNTS
    MPI_Datatype type = MPI_CHAR;
    const Count per_mib = MIB;
#else
    MPI_Datatype type;
    const Count per_mib = 1;
    MPI_Type_contiguous(MIB, MPI_CHAR, &type);
    MPI_Type_commit(&type);
#endif
    const size_t words = (size_t)TOTAL * MIB / 8;
    uint64_t *whole = memory(words * 8);
    if (rank == 0) {
        fill(whole, 0, words, 1);
    } else {
        fill(whole, 0, words, 0);
    }
    MPI_Bcast(whole, TOTAL * per_mib, type, 0, MPI_COMM_WORLD);
    check(whole, words, 1, "the broadcast");

    const Count block = TOTAL / ranks;
    const size_t own = (size_t)block * MIB / 8;
    uint64_t *mine = memory(own * 8);
    fill(mine, own * (size_t)rank, own, 2);
    MPI_Allgather(mine, block * per_mib, type, whole, block * per_mib, type, MPI_COMM_WORLD);
    check(whole, own * (size_t)ranks, 2, "the allgather");
    free(mine);
    free(whole);
    if (rank == 0) {
        printf("OK\n");
    }
    MPI_Finalize();
    return 0;
}
