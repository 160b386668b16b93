/* Many communicators: made and freed one after the other, and as many held at once as the library allows. A few calls are made and checked
   on each. Prints the number that could be held, which depends on the library, and OK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHURN 3000
#define HOLD 3000
#define CALLS 3

static int rank, size;

static void fail(const char *what, int number) {
    printf("rank %d: %s, communicator %d\n", rank, what, number);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The sum identifies the communicator. */
static void call(MPI_Comm comm, int number) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < CALLS; i++) {
        long given[3] = {number, i, 1}, sum[3] = {-1, -1, -1};
        MPI_Allreduce(given, sum, 3, MPI_LONG, MPI_SUM, comm);
        if (sum[0] != (long)number * ranks || sum[1] != (long)i * ranks || sum[2] != ranks)
            fail("wrong sum", number);
    }
}

/* Makes a communicator like the world, in reverse order, of two halves, or of one rank. */
static int make(int kind, MPI_Comm *comm) {
    switch (kind % 4) {
    case 0:
        return MPI_Comm_dup(MPI_COMM_WORLD, comm);
    case 1:
        return MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm);
    case 2:
        return MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, comm);
    default:
        return MPI_Comm_dup(MPI_COMM_SELF, comm);
    }
}

static void churn(int number) {
    for (int i = 0; i < number; i++) {
        MPI_Comm comm;
        if (make(i, &comm) != MPI_SUCCESS)
            fail("cannot be made", i);
        call(comm, i);
        MPI_Comm_free(&comm);
    }
}

/* There are two communicators of the same processes, and ranks free the first at different points between the calls on the second. That works without
   the drop-in, since no library waits in MPI_Comm_free. */
static void out_of_step(void) {
    for (int i = 0; i < 60; i++) {
        MPI_Comm one, other;
        make(1, &one);
        make(1, &other);
        call(one, i);
        if (rank == 0)
            MPI_Comm_free(&one);
        call(other, i);
        if (rank != 0)
            MPI_Comm_free(&one);
        MPI_Comm_free(&other);
    }
}

static int hold(void) {
    static MPI_Comm held[HOLD];
    int number = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (number < HOLD) {
        int made = MPI_Comm_dup(MPI_COMM_WORLD, &held[number]) == MPI_SUCCESS, all;
        MPI_Allreduce(&made, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!all)
            break;
        call(held[number], number);
        number++;
    }
    for (int i = 0; i < number; i++) {
        call(held[i], i);
        MPI_Comm_free(&held[i]);
    }
    return number;
}

int main(int argc, char **argv) {
    int provided, wanted = argc > 1 && !strcmp(argv[1], "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    call(MPI_COMM_WORLD, 1);
    churn(CHURN);
    out_of_step();
    int held = hold();
    churn(100);
    if (rank == 0)
        printf("HELD %d\nOK\n", held);
    MPI_Finalize();
    return 0;
}
