/* A program whose messages are known, byte by byte, on four ranks: a message with number S has the bytes (31 i + 7 S + i / 256) mod 256. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, next, before;

static void fill(char *bytes, int count, int number) {
    for (int i = 0; i < count; ++i) bytes[i] = (char)(31 * i + 7 * number + i / 256);
}

static void check(const char *bytes, int count, int number) {
    for (int i = 0; i < count; ++i)
        if (bytes[i] != (char)(31 * i + 7 * number + i / 256)) {
            fprintf(stderr, "rank %d: message %d, byte %d\n", rank, number, i);
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
}

/* Any source and any tag, and a buffer that is longer than the message. */
static void ring(void) {
    char to[100], from[200];
    fill(to, 100, 10 + rank);
    if (rank == 0) MPI_Send(to, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD);
    MPI_Recv(from, 200, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(from, 100, 10 + before);
    if (rank != 0) MPI_Send(to, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A vector on one side, plain elements on the other; the type goes before the receive is complete. */
static void derived(void) {
    char packed[20];
    int spread[15] = {0}, plain[5], position = 0;
    MPI_Datatype vector;
    MPI_Request request;
    if (rank == 0) {
        MPI_Type_vector(5, 1, 3, MPI_INT, &vector);
        MPI_Type_commit(&vector);
        fill(packed, 20, 20);
        MPI_Unpack(packed, 20, &position, spread, 1, vector, MPI_COMM_WORLD);
        MPI_Ssend(spread, 1, vector, 1, 2, MPI_COMM_WORLD);
        MPI_Irecv(spread, 1, vector, 1, 2, MPI_COMM_WORLD, &request);
        MPI_Type_free(&vector);
        MPI_Send(NULL, 0, MPI_INT, 1, 20, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 5; ++i) memcpy(packed + 4 * i, &spread[3 * i], 4);
        check(packed, 20, 21);
    } else if (rank == 1) {
        MPI_Recv(plain, 5, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check((char *)plain, 20, 20);
        MPI_Recv(NULL, 0, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fill((char *)plain, 20, 21);
        MPI_Send(plain, 5, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

static void exchanges(void) {
    static char to[3000], from[3000];
    fill(to, 3000, 30 + rank);
    MPI_Sendrecv(to, 3000, MPI_CHAR, next, 3, from, 3000, MPI_CHAR, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(from, 3000, 30 + before);
    fill(to, 40, 40 + rank);
    MPI_Sendrecv_replace(to, 40, MPI_CHAR, next, 4, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(to, 40, 40 + before);
}

static void unblocked(void) {
    char to[2][16], from[2][16];
    MPI_Request requests[4];
    for (int i = 0; i < 2; ++i) {
        int count = i == 0 ? 16 : 0;
        fill(to[i], count, 50 + rank);
        MPI_Irecv(from[i], 16, MPI_CHAR, before, 5, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(to[i], count, MPI_CHAR, next, 5, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    check(from[0], 16, 50 + before);
}

static void persistent(void) {
    char to[24], from[24];
    MPI_Request requests[2];
    MPI_Send_init(to, 24, MPI_CHAR, next, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(from, 24, MPI_CHAR, before, 6, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; ++i) {
        fill(to, 24, 60 + 10 * i + rank);
        MPI_Startall(2, requests);
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        check(from, 24, 60 + 10 * i + before);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Messages that are found before they are received. */
static void probed(void) {
    char bytes[12];
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    int flag = 0;
    if (rank == 3) {
        for (int i = 0; i < 4; ++i) {
            fill(bytes, 12, 80 + i);
            MPI_Send(bytes, 12, MPI_CHAR, 2, 7 + 70 * (i == 1), MPI_COMM_WORLD);
        }
    } else if (rank == 2) {
        MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(bytes, 12, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        check(bytes, 12, 80);
        while (!flag) MPI_Improbe(3, 77, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Imrecv(bytes, 12, MPI_CHAR, &message, &request);
        MPI_Wait(&request, &status);
        check(bytes, 12, 81);
        for (flag = 0; !flag;) MPI_Iprobe(3, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(bytes, 12, MPI_CHAR, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Probe(3, 7, MPI_COMM_WORLD, &status);
        MPI_Recv(bytes, 12, MPI_CHAR, 3, 7, MPI_COMM_WORLD, &status);
        check(bytes, 12, 83);
        /* There is no such message. */
        for (int i = 0; i < 5; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

/* All ways to send and to complete, on a half of the world. */
static void halves(void) {
    enum { WAYS = 6 };
    MPI_Comm half;
    int half_rank;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    MPI_Comm_rank(half, &half_rank);
    char bytes[WAYS][8], *space = malloc(4096);
    MPI_Request requests[WAYS];
    if (half_rank == 1) {
        for (int i = 0; i < WAYS; ++i) MPI_Irecv(bytes[i], 8, MPI_CHAR, 0, 8, half, &requests[i]);
        MPI_Barrier(half);
        int done = 0, flag, index, indices[WAYS];
        MPI_Waitany(WAYS, requests, &index, MPI_STATUS_IGNORE);
        for (done = 1; done < 3;) {
            MPI_Waitsome(WAYS, requests, &index, indices, MPI_STATUSES_IGNORE);
            done += index;
        }
        for (flag = 0; !flag;) MPI_Test(&requests[WAYS - 1], &flag, MPI_STATUS_IGNORE);
        for (flag = 0; !flag;) MPI_Testany(WAYS, requests, &index, &flag, MPI_STATUS_IGNORE);
        MPI_Testsome(WAYS, requests, &index, indices, MPI_STATUSES_IGNORE);
        for (flag = 0; !flag;) MPI_Testall(WAYS, requests, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i < WAYS; ++i) check(bytes[i], 8, 90 + i + 10 * (rank % 2));
    } else {
        MPI_Buffer_attach(space, 4096);
        MPI_Barrier(half);
        for (int i = 0; i < WAYS; ++i) fill(bytes[i], 8, 90 + i + 10 * (rank % 2));
        MPI_Bsend(bytes[0], 8, MPI_CHAR, 1, 8, half);
        MPI_Rsend(bytes[1], 8, MPI_CHAR, 1, 8, half);
        MPI_Isend(bytes[2], 8, MPI_CHAR, 1, 8, half, &requests[0]);
        MPI_Ibsend(bytes[3], 8, MPI_CHAR, 1, 8, half, &requests[1]);
        MPI_Irsend(bytes[4], 8, MPI_CHAR, 1, 8, half, &requests[2]);
        MPI_Issend(bytes[5], 8, MPI_CHAR, 1, 8, half, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        int size;
        MPI_Buffer_detach(&space, &size);
    }
    int in = rank, out;
    MPI_Reduce(&in, &out, 1, MPI_INT, MPI_MAX, 1, half);
    MPI_Comm_free(&half);
    free(space);
}

static void nothing(void) {
    char byte;
    int flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Send(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 9, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&byte, 1, MPI_CHAR, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    if (!flag) MPI_Abort(MPI_COMM_WORLD, 5);
}

static void collectives(void) {
    double in[4] = {0}, out[4];
    MPI_Request request;
    MPI_Bcast(in, 4, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    if (argc > 1 && strcmp(argv[1], "many") == 0) {
        char bytes[64];
        for (int i = 0; i < atoi(argv[2]); ++i) {
            fill(bytes, 64, i);
            MPI_Sendrecv_replace(bytes, 64, MPI_CHAR, next, 3, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Finalize();
        return 0;
    }
    ring();
    if (argc > 1 && rank == 1) raise(SIGKILL);
    derived();
    exchanges();
    unblocked();
    persistent();
    probed();
    halves();
    nothing();
    collectives();
    MPI_Finalize();
    if (rank == 0) puts("OK");
    return 0;
}
