/* A collective whose implementation fails on all ranks, on a communicator with an error handler of the program's. */
#include <mpi.h>
#include <stdio.h>

static MPI_Comm mine;
static int called;

static void handler(MPI_Comm *comm, int *code, ...) {
    called += *comm == mine && *code == MPI_ERR_INTERN ? 1 : 1000;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, data[4] = {0};
    MPI_Errhandler user;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_rank(mine, &rank);
    MPI_Comm_create_errhandler(handler, &user);
    MPI_Comm_set_errhandler(mine, user);
    const int code = MPI_Bcast(data, 4, MPI_INT, 0, mine);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    const int silent = MPI_Bcast(data, 4, MPI_INT, 0, mine);
    if (rank == 0) {
        printf("HANDLED %d CODES %d %d\n", called, code == MPI_ERR_INTERN, silent == MPI_ERR_INTERN);
    }
    MPI_Errhandler_free(&user);
    MPI_Comm_free(&mine);
    MPI_Finalize();
    return 0;
}
