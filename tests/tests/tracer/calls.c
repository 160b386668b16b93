/* A program whose calls are known: collectives on the world and on halves of it, messages around a ring, non-blocking ones. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double in[64] = {0}, out[64];
    int *all = calloc((size_t)ranks * 16, sizeof *all), mine[16] = {0};

    for (int i = 0; i < 10; ++i)
        MPI_Allreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 5; ++i)
        MPI_Allreduce(MPI_IN_PLACE, out, 64, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i)
        MPI_Gather(mine, 16, MPI_INT, all, 16, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(mine, 16, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Communicators: two of the same members after each other are one, two at the same time are two. */
    MPI_Comm half, twin;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    MPI_Barrier(half);
    for (int i = 0; i < 4; ++i) {
        MPI_Comm_dup(half, &twin);
        MPI_Bcast(mine, 1, MPI_INT, 0, twin);
        MPI_Comm_free(&twin);
    }

    /* Messages: 7 around the ring, 100 bytes each, and 3 that are not blocking; one to nobody. */
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    char to[100] = {0}, from[200];
    for (int i = 0; i < 7; ++i) {
        if (rank == 0) {
            MPI_Send(to, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD);
            MPI_Recv(from, 200, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(from, 200, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(to, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < 3; ++i) {
        MPI_Request requests[2];
        MPI_Irecv(from, 200, MPI_CHAR, before, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(to, 50, MPI_CHAR, next, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Send(to, 100, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    /* A message within the half goes to the same process as in the world. */
    int half_rank, half_ranks;
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_ranks);
    MPI_Sendrecv(to, 10, MPI_CHAR, (half_rank + 1) % half_ranks, 3, from, 10, MPI_CHAR,
                 (half_rank + half_ranks - 1) % half_ranks, 3, half, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Iallreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, half, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    /* A persistent send to this rank itself, started twice. */
    MPI_Request persistent[2];
    MPI_Send_init(to, 20, MPI_CHAR, 0, 4, MPI_COMM_SELF, &persistent[0]);
    MPI_Recv_init(from, 20, MPI_CHAR, 0, 4, MPI_COMM_SELF, &persistent[1]);
    for (int i = 0; i < 2; ++i) {
        MPI_Startall(2, persistent);
        MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);

    /* Not counted. */
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);

    /* A derived type, and an operator of the program's own. */
    MPI_Datatype vector;
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Bcast(mine, 2, vector, 0, MPI_COMM_WORLD);
    MPI_Type_free(&vector);
    MPI_Comm_free(&half);
    if (argc > 1) {
        if (rank == 0) puts("OK");
        fflush(stdout);
        exit(3);
    }
    MPI_Finalize();
    if (rank == 0) puts("OK");
    free(all);
    return 0;
}
