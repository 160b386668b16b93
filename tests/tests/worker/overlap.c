/* Preloaded into the worker by its tests. Writes the MPI calls of each rank to KILTER_TEST_TRACE.<rank>, a letter each; small letters are
 * messages of zero bytes. If KILTER_TEST_FAULT is set, it corrupts the data that arrives at the last rank, except the first message of
 * 4097 bytes. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char trace[1 << 20];
static size_t length;
static char *arriving;

static void add(char letter)
{
    if (length < sizeof trace)
        trace[length++] = letter;
}

/* Corrupts the message that arrived last. */
static void spoil(char *data)
{
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (data && rank == size - 1 && getenv("KILTER_TEST_FAULT"))
        data[0] ^= 1;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    add(count ? 'S' : 's');
    return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    add(count ? 'R' : 'r');
    int code = PMPI_Recv(data, count, type, from, tag, comm, status);
    static int seen;
    spoil(count && !(count == 4097 && !seen++) ? data : NULL);
    return code;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    add('I');
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    add('J');
    arriving = data;
    return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    add('W');
    int code = PMPI_Wait(request, status);
    spoil(arriving);
    arriving = NULL;
    return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    add('A');
    int code = PMPI_Waitall(count, requests, statuses);
    spoil(arriving);
    arriving = NULL;
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    add('T');
    return PMPI_Test(request, flag, status);
}

int MPI_Barrier(MPI_Comm comm)
{
    add('!');
    return PMPI_Barrier(comm);
}

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    add('B');
    arriving = data;
    return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    add('D');
    arriving = recv;
    return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

int MPI_Iallgather(const void *send, int count, MPI_Datatype type, void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
                   MPI_Request *request)
{
    add('G');
    arriving = recv;
    return PMPI_Iallgather(send, count, type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ialltoall(const void *send, int count, MPI_Datatype type, void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
                  MPI_Request *request)
{
    add('L');
    arriving = recv;
    return PMPI_Ialltoall(send, count, type, recv, recv_count, recv_type, comm, request);
}

int MPI_Finalize(void)
{
    char path[4096];
    const char *base = getenv("KILTER_TEST_TRACE");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", base ? base : "", rank);
    FILE *file = base ? fopen(path, "w") : NULL;
    if (file) {
        fwrite(trace, 1, length, file);
        fclose(file);
    }
    return PMPI_Finalize();
}
