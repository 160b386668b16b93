/* Collectives by hand, ten times each: rank 0 sends 256 KiB to one rank after the other, gets a block of a length of its own from each, and
   keeps the largest numbers of all. */
#include "kilter_trace.h"
#include <mpi.h>
#include <stdlib.h>

#define BYTES (1 << 18)
#define NUMBERS 1000

static void spread(unsigned char *data, int rank, int ranks) {
  if (rank == 0)
    for (int to = 1; to < ranks; to++)
      MPI_Send(data, BYTES, MPI_BYTE, to, 3, MPI_COMM_WORLD);
  else
    MPI_Recv(data, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collect(unsigned char *data, int rank, int ranks) {
  if (rank > 0) {
    MPI_Send(data, 3000 * rank, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
    return;
  }
  for (int from = 1, at = 0; from < ranks; at += 3000 * from++)
    MPI_Recv(data + at, 3000 * from, MPI_BYTE, from, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void keep_largest(double *largest, int rank, int ranks) {
  static double more[NUMBERS];
  if (rank > 0) {
    MPI_Send(largest, NUMBERS, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD);
    return;
  }
  kilter_send_to_self(largest, NUMBERS, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int from = 1; from < ranks; from++) {
    MPI_Recv(more, NUMBERS, MPI_DOUBLE, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < NUMBERS; i++)
      if (more[i] > largest[i]) largest[i] = more[i];
  }
  kilter_send_to_self(largest, NUMBERS, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void fill(unsigned char *data, int bytes, unsigned *state) {
  for (int i = 0; i < bytes; i++) {
    *state = *state * 1103515245u + 12345u;
    data[i] = (unsigned char)(*state >> 16);
  }
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char *data = malloc(BYTES);
  unsigned state = 12345u + 777u * (unsigned)rank;
  for (int time = 0; time < 10; time++) {
    if (rank == 0) fill(data, BYTES, &state);
    spread(data, rank, ranks);
  }
  for (int time = 0; time < 10; time++) {
    if (rank > 0) fill(data, 3000 * rank, &state);
    collect(data, rank, ranks);
  }
  /* Each rank has the largest number at some places. */
  static double largest[NUMBERS];
  for (int time = 0; time < 10; time++) {
    for (int i = 0; i < NUMBERS; i++) largest[i] = (i + rank + time) % ranks + 0.37 * time + i / 7.0;
    keep_largest(largest, rank, ranks);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
