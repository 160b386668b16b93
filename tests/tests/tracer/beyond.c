/* Calls that are neither messages nor plain collectives: windows of the world and of halves of it, files of both, and persistent collectives where the
   library has them. The file is the only argument. */
#include <mpi.h>
#include <stdio.h>

static void windows(MPI_Comm comm) {
    int rank, ranks;
    long long *memory, own[4] = {1, 2, 3, 4}, old[4];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int next = (rank + 1) % ranks;
    MPI_Win window;
    MPI_Win_allocate(64 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &window);
    for (int i = 0; i < 64; ++i) memory[i] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(own, 4, MPI_LONG_LONG, next, 0, 4, MPI_LONG_LONG, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < 3; ++i) {
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
        MPI_Get(old, 2, MPI_LONG_LONG, next, 0, 2, MPI_LONG_LONG, window);
        MPI_Win_flush(next, window);
        MPI_Accumulate(own, 1, MPI_LONG_LONG, next, 8, 1, MPI_LONG_LONG, MPI_SUM, window);
        MPI_Win_unlock(next, window);
    }
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(own, old, MPI_LONG_LONG, next, 16, MPI_SUM, window);
    MPI_Win_flush_all(window);
    MPI_Win_unlock_all(window);
    MPI_Win_fence(0, window);
    if (memory[3] != 4 || memory[8] != 3 || memory[16] != 1) {
        printf("wrong: %lld %lld %lld\n", memory[3], memory[8], memory[16]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Win_free(&window);
}

static void files(MPI_Comm comm, const char *name) {
    int rank, ranks, own[8] = {0}, read[16] = {0}, count;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < 8; ++i) own[i] = 8 * rank + i;
    MPI_File file;
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 0);
    MPI_File_write_at_all(file, rank * 32, own, 8, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(comm);
    MPI_Status status;
    /* 12 of the 16 that are asked for: the file ends. */
    MPI_File_read_at(file, ranks * 32 - 48, read, 16, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_File_read_at(file, 0, read, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_File_iwrite_at(file, rank * 32, own, 2, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (count != 12 || read[3] != 3) {
        printf("wrong: %d %d\n", count, read[3]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    windows(MPI_COMM_WORLD);
    /* After each other: Open MPI 4.1 gives windows of disjoint communicators, which have one number, one file of shared memory. */
    for (int turn = 0; turn < 2; ++turn) {
        if (rank / 2 == turn) windows(half);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    files(MPI_COMM_WORLD, argv[1]);
#if MPI_VERSION >= 4
    double in[8] = {1}, out[8];
    MPI_Request request;
    MPI_Allreduce_init(in, out, 8, MPI_DOUBLE, MPI_SUM, half, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; ++i) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    if (out[0] != 2) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) puts("PERSISTENT");
#endif
    MPI_Comm_free(&half);
    MPI_Finalize();
    if (rank == 0) puts("OK");
    return 0;
}
