/* Calls that are legal and rare: absolute addresses from MPI_BOTTOM, read-only send buffers, and an operator that depends on an element's
 * position. Covers every collective that has such buffers, on any number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ELEMENTS = 7, HOLE = -7, LARGE = 5003 };

/* True if broadcasts are the library's own: MPICH writes into the root's buffer. */
static int broadcasts_itself;
/* True for MPICH, which refuses rank 0's own block as both send and receive buffer. */
#ifdef MPICH_VERSION
static const int refuses_own_blocks = 1;
#else
static const int refuses_own_blocks = 0;
#endif
static int rank, size;
static const char *what = "";

static void expect(int place, long got, long wanted) {
    if (got != wanted) {
        fprintf(stderr, "rank %d: %s: element %d: %ld instead of %ld\n", rank, what, place, got, wanted);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* An element is two ints with a hole of one int between them. */
enum { INTS = 3 };

static int value(int giver, int element, int half) { return 1000 * giver + 2 * element + half; }

/* A type whose elements begin at `memory`, counted from MPI_BOTTOM. */
static MPI_Datatype absolute(const int *memory) {
    int lengths[2] = {1, 1};
    MPI_Aint places[2];
    MPI_Datatype type;
    MPI_Get_address(memory, &places[0]);
    MPI_Get_address(memory + 2, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static int *fresh(int blocks) {
    int *memory = malloc(sizeof(int) * INTS * ELEMENTS * blocks);
    for (int i = 0; i < INTS * ELEMENTS * blocks; i++) {
        memory[i] = HOLE;
    }
    return memory;
}

static void give(int *memory, int blocks) {
    for (int i = 0; i < ELEMENTS * blocks; i++) {
        memory[INTS * i] = value(rank, i, 0);
        memory[INTS * i + 2] = value(rank, i, 1);
    }
}

/* Block `block` is the elements of `giver` from `first` on. */
static void check(const int *memory, int block, int giver, int first) {
    for (int i = 0; i < ELEMENTS; i++) {
        const int *element = memory + INTS * (ELEMENTS * block + i);
        expect(i, element[0], value(giver, first + i, 0));
        expect(i, element[1], HOLE);
        expect(i, element[2], value(giver, first + i, 1));
    }
}

static void from_bottom(int root) {
    int *one = fresh(1), *all = fresh(size), *others = fresh(size);
    int *counts = malloc(sizeof(int) * size), *begins = malloc(sizeof(int) * size);
    MPI_Datatype of_one = absolute(one), of_all = absolute(all), of_others = absolute(others);
    for (int i = 0; i < size; i++) {
        counts[i] = ELEMENTS;
        begins[i] = ELEMENTS * i;
    }
    what = "MPI_BOTTOM, bcast";
    if (rank == root) {
        give(one, 1);
    }
    MPI_Bcast(MPI_BOTTOM, ELEMENTS, of_one, root, MPI_COMM_WORLD);
    check(one, 0, root, 0);
    give(one, 1);
    for (int vector = 0; vector <= 1; vector++) {
        what = vector ? "MPI_BOTTOM, gatherv" : "MPI_BOTTOM, gather";
        if (vector) {
            MPI_Gatherv(MPI_BOTTOM, ELEMENTS, of_one, MPI_BOTTOM, counts, begins, of_all, root, MPI_COMM_WORLD);
        } else {
            MPI_Gather(MPI_BOTTOM, ELEMENTS, of_one, MPI_BOTTOM, ELEMENTS, of_all, root, MPI_COMM_WORLD);
        }
        for (int i = 0; i < size && rank == root; i++) {
            check(all, i, i, 0);
        }
        what = vector ? "MPI_BOTTOM, allgatherv" : "MPI_BOTTOM, allgather";
        if (vector) {
            MPI_Allgatherv(MPI_BOTTOM, ELEMENTS, of_one, MPI_BOTTOM, counts, begins, of_all, MPI_COMM_WORLD);
        } else {
            MPI_Allgather(MPI_BOTTOM, ELEMENTS, of_one, MPI_BOTTOM, ELEMENTS, of_all, MPI_COMM_WORLD);
        }
        for (int i = 0; i < size; i++) {
            check(all, i, i, 0);
        }
        give(all, size);
        what = vector ? "MPI_BOTTOM, scatterv" : "MPI_BOTTOM, scatter";
        if (vector) {
            MPI_Scatterv(MPI_BOTTOM, counts, begins, of_all, MPI_BOTTOM, ELEMENTS, of_others, root, MPI_COMM_WORLD);
        } else {
            MPI_Scatter(MPI_BOTTOM, ELEMENTS, of_all, MPI_BOTTOM, ELEMENTS, of_others, root, MPI_COMM_WORLD);
        }
        check(others, 0, root, ELEMENTS * rank);
        what = vector ? "MPI_BOTTOM, alltoallv" : "MPI_BOTTOM, alltoall";
        if (vector) {
            MPI_Alltoallv(MPI_BOTTOM, counts, begins, of_all, MPI_BOTTOM, counts, begins, of_others, MPI_COMM_WORLD);
        } else {
            MPI_Alltoall(MPI_BOTTOM, ELEMENTS, of_all, MPI_BOTTOM, ELEMENTS, of_others, MPI_COMM_WORLD);
        }
        for (int i = 0; i < size; i++) {
            check(others, i, i, ELEMENTS * rank);
        }
    }
    MPI_Type_free(&of_one);
    MPI_Type_free(&of_all);
    MPI_Type_free(&of_others);
    free(one);
    free(all);
    free(others);
    free(counts);
    free(begins);
}

/* `count` ints that this rank gives, in pages that are then made read-only. */
static int *read_only(int count, size_t *bytes) {
    *bytes = (sizeof(int) * count + 4095) / 4096 * 4096;
    int *memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < count; i++) {
        memory[i] = 100000 * rank + i;
    }
    mprotect(memory, *bytes, PROT_READ);
    return memory;
}

static void from_read_only(int root, int count) {
    size_t bytes;
    int *given = read_only(count * size, &bytes);
    int *got = malloc(sizeof(int) * count * size);
    what = "read-only, bcast";
    MPI_Bcast(rank == root && !broadcasts_itself ? given : got, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count && rank != root; i++) {
        expect(i, got[i], broadcasts_itself ? got[i] : 100000L * root + i);
    }
    what = "read-only, gather";
    MPI_Gather(given, count, MPI_INT, got, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count * size && rank == root; i++) {
        expect(i, got[i], 100000L * (i / count) + i % count);
    }
    what = "read-only, allgather";
    MPI_Allgather(given, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < count * size; i++) {
        expect(i, got[i], 100000L * (i / count) + i % count);
    }
    what = "read-only, scatter";
    MPI_Scatter(given, count, MPI_INT, got, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        expect(i, got[i], 100000L * root + count * rank + i);
    }
    what = "read-only, alltoall";
    MPI_Alltoall(given, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < count * size; i++) {
        expect(i, got[i], 100000L * (i / count) + count * rank + i % count);
    }
    long ranks = (long)size * (size - 1) / 2;
    what = "read-only, allreduce";
    MPI_Allreduce(given, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        expect(i, got[i], 100000L * ranks + (long)size * i);
    }
    what = "read-only, reduce";
    MPI_Reduce(given, got, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; i < count && rank == root; i++) {
        expect(i, got[i], 100000L * ranks + (long)size * i);
    }
    what = "reduce, any address beside the root";
    for (int i = 0; i < count && rank != root; i++) {
        got[i] = given[i];
    }
    for (int call = 0; call < 2; call++) {
        MPI_Reduce(rank == root ? given : got, got, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            expect(i, got[i], rank == root ? 100000L * ranks + (long)size * i : given[i]);
        }
    }
    what = "gather, any address beside the root";
    MPI_Gather(rank == root ? given : got, count, MPI_INT, got, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count * size && rank == root; i++) {
        expect(i, got[i], 100000L * (i / count) + i % count);
    }
    /* Forbidden by MPI, but accepted by Open MPI: rank 0 alone passes one address for both sides. */
    if (!refuses_own_blocks) {
        what = "own block, allgather";
        for (int i = 0; i < count; i++) {
            got[count * rank + i] = given[i];
        }
        for (int call = 0; call < 2; call++) {
            MPI_Allgather(got + count * rank, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
            for (int i = 0; i < count * size; i++) {
                expect(i, got[i], 100000L * (i / count) + i % count);
            }
        }
        what = "own block, gather";
        for (int i = 0; i < count; i++) {
            got[count * rank + i] = given[i];
        }
        MPI_Gather(got + count * rank, count, MPI_INT, got, count, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < count * size && rank == root; i++) {
            expect(i, got[i], 100000L * (i / count) + i % count);
        }
        what = "own block, scatter";
        for (int i = 0; i < count * size; i++) {
            got[i] = given[i];
        }
        MPI_Scatter(got, count, MPI_INT, got + count * rank, count, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < count * size; i++) {
            expect(i, got[i], 100000L * (i / count == rank ? root : rank) + i);
        }
    }
    what = "read-only, reduce_scatter_block";
    MPI_Reduce_scatter_block(given, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        expect(i, got[i], 100000L * ranks + (long)size * (count * rank + i));
    }
    what = "read-only, scan";
    MPI_Scan(given, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        expect(i, got[i], 100000L * (rank * (rank + 1L) / 2) + (rank + 1L) * i);
    }
    munmap(given, bytes);
    free(got);
}

/* Adds elements and checks their positions: the elements of one call must be contiguous, and each must be combined with the element of the
 * same position. */
static void by_place(void *lower, void *upper, int *length, MPI_Datatype *type) {
    int *a = lower, *b = upper;
    (void)type;
    for (int i = 0; i < *length; i++) {
        expect(i, b[2 * i], a[2 * i]);
        expect(i, a[2 * i], a[0] + i);
        b[2 * i + 1] += a[2 * i + 1];
    }
}

static void by_an_operator(int root, int count) {
    int *given = malloc(sizeof(int) * 2 * count), *got = malloc(sizeof(int) * 2 * count);
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(by_place, 1, &op);
    for (int i = 0; i < count; i++) {
        given[2 * i] = i;
        given[2 * i + 1] = rank + i;
    }
    for (int call = 0; call < 3; call++) {
        what = (const char *[]){"by place, reduce", "by place, allreduce", "by place, scan"}[call];
        if (call == 0) {
            MPI_Reduce(given, got, count, type, op, root, MPI_COMM_WORLD);
        } else if (call == 1) {
            MPI_Allreduce(given, got, count, type, op, MPI_COMM_WORLD);
        } else {
            MPI_Scan(given, got, count, type, op, MPI_COMM_WORLD);
        }
        int givers = call == 2 ? rank + 1 : size;
        for (int i = 0; i < count && (call > 0 || rank == root); i++) {
            expect(i, got[2 * i], i);
            expect(i, got[2 * i + 1], givers * (givers - 1) / 2 + givers * i);
        }
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    free(given);
    free(got);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    broadcasts_itself = getenv("KILTER_TEST_LIBRARY_BCAST") != NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int root = 0; root < size; root++) {
        from_bottom(root);
        from_read_only(root, ELEMENTS);
        from_read_only(root, LARGE);
        for (int count = 1; count <= 3 * size + 1; count++) {
            by_an_operator(root, count);
        }
    }
    MPI_Finalize();
    if (rank == 0) {
        puts("OK");
    }
    return 0;
}
