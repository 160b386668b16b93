/* Collectives written by hand: by_hand PATTERN [half] runs one of them six times, on all ranks or, with `half`, on the even and the odd ones apart. Between
   two times each rank computes, as programs do, and all of them synchronise by a collective of the library's. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1200, TIMES = 6, TAG = 7 };

static int rank, size;
static MPI_Comm comm;

static void to(const double *data, int count, int other) { MPI_Send(data, count, MPI_DOUBLE, other, TAG, comm); }
static void from(double *data, int count, int other) { MPI_Recv(data, count, MPI_DOUBLE, other, TAG, comm, MPI_STATUS_IGNORE); }

static void bcast_linear(double *data) {
  if (rank == 0) {
    for (int other = 1; other < size; other++) to(data, COUNT, other);
  } else {
    from(data, COUNT, 0);
  }
}

static void bcast_ring(double *data) {
  if (rank > 0) from(data, COUNT, rank - 1);
  if (rank + 1 < size) to(data, COUNT, rank + 1);
}

static void bcast_binomial(double *data) {
  int mask = 1;
  for (; mask < size; mask <<= 1) {
    if (rank & mask) {
      from(data, COUNT, rank - mask);
      break;
    }
  }
  for (mask >>= 1; mask > 0; mask >>= 1) {
    if (rank + mask < size) to(data, COUNT, rank + mask);
  }
}

static void scatter_linear(double *all, double *own) {
  if (rank == 0) {
    for (int other = 1; other < size; other++) to(all + other * COUNT, COUNT, other);
    memcpy(own, all, COUNT * sizeof *own);
  } else {
    from(own, COUNT, 0);
  }
}

static void gather_linear(double *own, double *all) {
  if (rank == 0) {
    memcpy(all, own, COUNT * sizeof *own);
    for (int other = 1; other < size; other++) from(all + other * COUNT, COUNT, other);
  } else {
    to(own, COUNT, 0);
  }
}

static void allgather_ring(double *own, double *all) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  memcpy(all + rank * COUNT, own, COUNT * sizeof *own);
  for (int step = 0; step < size - 1; step++) {
    int send = (rank + size - step) % size, receive = (rank + size - step - 1) % size;
    MPI_Sendrecv(all + send * COUNT, COUNT, MPI_DOUBLE, next, TAG, all + receive * COUNT, COUNT, MPI_DOUBLE, before, TAG, comm, MPI_STATUS_IGNORE);
  }
}

static void alltoall_pairwise(double *all, double *result) {
  MPI_Request requests[64];
  int made = 0;
  for (int step = 1; step < size; step++) {
    int other = (rank + size - step) % size;
    MPI_Irecv(result + other * COUNT, COUNT, MPI_DOUBLE, other, TAG, comm, &requests[made++]);
  }
  for (int step = 1; step < size; step++) {
    int other = (rank + step) % size;
    MPI_Isend(all + other * COUNT, COUNT, MPI_DOUBLE, other, TAG, comm, &requests[made++]);
  }
  MPI_Waitall(made, requests, MPI_STATUSES_IGNORE);
  memcpy(result + rank * COUNT, all + rank * COUNT, COUNT * sizeof *all);
}

static void barrier_dissemination(void) {
  for (int distance = 1; distance < size; distance <<= 1) {
    MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + distance) % size, TAG, NULL, 0, MPI_BYTE, (rank + size - distance) % size, TAG, comm, MPI_STATUS_IGNORE);
  }
}

/* Each rank adds what its neighbours hold to what it holds, as a halo exchange does: no collective. */
static void halo(double *data) {
  double left[8], right[8];
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Sendrecv(data, 8, MPI_DOUBLE, before, TAG, right, 8, MPI_DOUBLE, next, TAG, comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(data + COUNT - 8, 8, MPI_DOUBLE, next, TAG, left, 8, MPI_DOUBLE, before, TAG, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < 8; i++) data[i] += left[i] * 1e-3, data[COUNT - 1 - i] += right[i] * 1e-3;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int world_rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (argc > 2 && strcmp(argv[2], "half") == 0) {
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comm);
  } else {
    comm = MPI_COMM_WORLD;
  }
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const char *pattern = argc > 1 ? argv[1] : "";
  double *own = malloc(COUNT * sizeof *own), *all = malloc(size * COUNT * sizeof *all), *result = malloc(size * COUNT * sizeof *result);
  srand(17 + world_rank);
  for (int time = 0; time < TIMES; time++) {
    for (int i = 0; i < COUNT; i++) own[i] = rand() * 1e-3;
    for (int i = 0; i < size * COUNT; i++) all[i] = rand() * 1e-3, result[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(pattern, "bcast_linear") == 0) bcast_linear(own);
    else if (strcmp(pattern, "bcast_ring") == 0) bcast_ring(own);
    else if (strcmp(pattern, "bcast_binomial") == 0) bcast_binomial(own);
    else if (strcmp(pattern, "scatter_linear") == 0) scatter_linear(all, own);
    else if (strcmp(pattern, "gather_linear") == 0) gather_linear(own, result);
    else if (strcmp(pattern, "allgather_ring") == 0) allgather_ring(own, result);
    else if (strcmp(pattern, "alltoall_pairwise") == 0) alltoall_pairwise(all, result);
    else if (strcmp(pattern, "barrier_dissemination") == 0) barrier_dissemination();
    else if (strcmp(pattern, "halo") == 0) halo(own);
    else {
      fprintf(stderr, "by_hand: no pattern `%s`\n", pattern);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  free(own);
  free(all);
  free(result);
  MPI_Finalize();
  return 0;
}
