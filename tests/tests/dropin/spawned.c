/* Spawns processes without the drop-in and merges them with processes that have it into one communicator, on which all call collectives.
   Before that, no message may arrive that the program did not send. Prints OK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHILDREN 1

static void check(int is_right, const char *what) {
    if (!is_right) {
        printf("%s\n", what);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Comm parent, other, all;
    int rank, size, ranks, came;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &came, MPI_STATUS_IGNORE);
        check(!came, "a message that nobody sent");
        char *without[] = {"-u", "LD_PRELOAD", argv[0], NULL};
        MPI_Comm_spawn("/usr/bin/env", without, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    } else {
        check(getenv("LD_PRELOAD") == NULL, "the child has the drop-in");
        other = parent;
    }
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &all);
    MPI_Comm_size(all, &ranks);
    for (int i = 0; i < 5; i++) {
        long one = 1 + i, sum = -1;
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, all);
        check(sum == (1 + i) * (long)ranks, "wrong sum on all");
        one = rank;
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        check(sum == (long)size * (size - 1) / 2, "wrong sum on the world");
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    if (rank == 0 && parent == MPI_COMM_NULL)
        puts("OK");
    return 0;
}
