/* Calls that differ from the one before in one argument each, three times over: a prepared call must not be reused for a call with other
 * arguments. Runs on two ranks. Prints for each collective the number of calls that a profile without bounds replaces. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static int rank, allreduces, bcasts, gathers;

static void expect(const char *what, long got, long wanted) {
    if (got != wanted) {
        fprintf(stderr, "rank %d: %s: %ld instead of %ld\n", rank, what, got, wanted);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void allreduce(const char *what, int count, int in_place, MPI_Op op, int wanted) {
    int own[MOST], all[MOST];
    for (int i = 0; i < MOST; i++) {
        own[i] = 10 * rank + i + 1;
        all[i] = in_place ? own[i] : -1;
    }
    MPI_Allreduce(in_place ? MPI_IN_PLACE : own, all, count, MPI_INT, op, MPI_COMM_WORLD);
    expect(what, all[0], wanted);
    expect(what, all[count - 1] - all[0], op == MPI_SUM ? 2 * (count - 1) : all[count - 1] - all[0]);
    for (int i = count; i < MOST; i++) {
        expect("behind the result", all[i], in_place ? own[i] : -1);
    }
    allreduces++;
}

static void minus(void *lower, void *upper, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((int *)upper)[i] = ((int *)lower)[i] - ((int *)upper)[i];
    }
}

static void plus(void *lower, void *upper, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((int *)upper)[i] += ((int *)lower)[i];
    }
}

/* Handles that MPI reuses for other objects. */
static void of_own(void) {
    MPI_Op op;
    MPI_Op_create(plus, 1, &op);
    allreduce("a sum of the program's", 2, 0, op, 12);
    MPI_Op_free(&op);
    MPI_Op_create(minus, 0, &op);
    allreduce("a difference", 2, 0, op, 1 - 11);
    MPI_Op_free(&op);
    for (int ints = 1; ints <= 4; ints++) {
        MPI_Datatype type;
        int data[MOST];
        for (int i = 0; i < MOST; i++) {
            data[i] = rank == 0 ? i : -1;
        }
        MPI_Type_contiguous(ints, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(data, 2, type, 0, MPI_COMM_WORLD);
        bcasts++;
        expect("the last element of a broadcast", data[2 * ints - 1], 2 * ints - 1);
        expect("behind a broadcast", data[2 * ints], rank == 0 ? 2 * ints : -1);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; round++) {
        /* Prepared calls of 1, 5 and 9 elements share a slot. */
        for (int count = 1; count <= 9; count += 4) {
            for (int twice = 0; twice < 2; twice++) {
                allreduce("a sum", count, 0, MPI_SUM, 12);
                allreduce("a sum in place", count, 1, MPI_SUM, 12);
                allreduce("a maximum", count, 0, MPI_MAX, 11);
            }
        }
        double own = rank + 0.5, all = 0;
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        allreduces++;
        expect("twice a sum of doubles", (long)(2 * all), 4);
        for (int turn = 0; turn < 6; turn++) {
            int root = turn % 2, value = rank == root ? 100 + turn : -1, gathered[2] = {-1, -1}, mine = 7 * rank + turn;
            MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
            bcasts++;
            expect("a broadcast value", value, 100 + turn);
            const int in_place = rank == root && turn >= 2;
            if (in_place) {
                gathered[rank] = mine;
            }
            MPI_Gather(in_place ? MPI_IN_PLACE : &mine, 1, MPI_INT, gathered, 1, MPI_INT, root, MPI_COMM_WORLD);
            gathers++;
            expect("rank 0's block", gathered[0], rank == root ? turn : -1);
            expect("rank 1's block", gathered[1], rank == root ? 7 + turn : -1);
        }
        of_own();
    }
    if (rank == 0) {
        printf("ALLREDUCE %d BCAST %d GATHER %d\n", allreduces, bcasts, gathers);
    }
    MPI_Finalize();
    return 0;
}
