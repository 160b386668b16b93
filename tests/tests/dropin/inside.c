/* Makes ten calls of each item, COLLECTIVE:COUNT[:own], on ints, and checks what they leave: reduce, to the last rank, allreduce, bcast, from the
 * last rank, and alltoall. `own` is an operator of the program's, which does not commute. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 10 };

/* The contribution of the higher rank. */
static void higher(void *lower, void *upper, int *length, MPI_Datatype *type) {
    (void)lower;
    (void)upper;
    (void)length;
    (void)type;
}

static int rank, ranks;

static void expect(const char *item, int place, int got, int wanted) {
    if (got != wanted) {
        fprintf(stderr, "%s, rank %d, element %d: %d instead of %d\n", item, rank, place, got, wanted);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void call(const char *item, const char *collective, int count, int is_own, MPI_Op op) {
    const int last = ranks - 1, all = count * ranks;
    int *own = malloc(sizeof(int) * (size_t)(all + 1)), *got = malloc(sizeof(int) * (size_t)(all + 1));
    for (int i = 0; i <= all; i++) {
        own[i] = 1000 * rank + i;
        got[i] = -1;
    }
    if (strcmp(collective, "bcast") == 0) {
        int *data = rank == last ? own : got;
        MPI_Bcast(data, count, MPI_INT, last, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            expect(item, i, data[i], 1000 * last + i);
        }
        expect(item, count, got[count], -1);
    } else if (strcmp(collective, "alltoall") == 0) {
        MPI_Alltoall(own, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < all; i++) {
            expect(item, i, got[i], 1000 * (i / count) + rank * count + i % count);
        }
        expect(item, all, got[all], -1);
    } else {
        const int is_all = strcmp(collective, "allreduce") == 0;
        if (is_all) {
            MPI_Allreduce(own, got, count, MPI_INT, op, MPI_COMM_WORLD);
        } else {
            MPI_Reduce(own, got, count, MPI_INT, op, last, MPI_COMM_WORLD);
        }
        const int has_result = is_all || rank == last;
        for (int i = 0; i < count; i++) {
            const int result = is_own ? 1000 * last + i : 1000 * ranks * last / 2 + ranks * i;
            expect(item, i, got[i], has_result ? result : -1);
        }
        expect(item, count, got[count], -1);
    }
    free(own);
    free(got);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Op own;
    MPI_Op_create(higher, 0, &own);
    for (int i = 1; i < argc; i++) {
        char collective[32];
        int count = 0;
        if (sscanf(argv[i], "%31[a-z]:%d", collective, &count) != 2) {
            fprintf(stderr, "%s is no item\n", argv[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        const int is_own = strstr(argv[i], ":own") != NULL;
        for (int k = 0; k < CALLS; k++) {
            call(argv[i], collective, count, is_own, is_own ? own : MPI_SUM);
        }
    }
    MPI_Op_free(&own);
    MPI_Finalize();
    if (rank == 0) {
        puts("OK");
    }
    return 0;
}
