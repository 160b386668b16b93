/* A broadcast by hand: rank 0 sends 1 MiB to one rank after the other, ten times. */
#include <mpi.h>
#include <stdlib.h>

#define BYTES (1 << 20)

static void spread(unsigned char *data, int rank, int ranks) {
  if (rank == 0)
    for (int to = 1; to < ranks; to++)
      MPI_Send(data, BYTES, MPI_BYTE, to, 3, MPI_COMM_WORLD);
  else
    MPI_Recv(data, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char *data = malloc(BYTES);
  unsigned state = 12345;
  for (int time = 0; time < 10; time++) {
    if (rank == 0)
      for (int i = 0; i < BYTES; i++) {
        state = state * 1103515245u + 12345u;
        data[i] = (unsigned char)(state >> 16);
      }
    spread(data, rank, ranks);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
