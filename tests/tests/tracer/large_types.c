/* Types whose constructors take MPI_Count, in messages and collectives. Libraries before MPI 4 have none: there the usual constructors do. */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4
#define VECTOR MPI_Type_vector_c
#define CONTIGUOUS MPI_Type_contiguous_c
#else
#define VECTOR MPI_Type_vector
#define CONTIGUOUS MPI_Type_contiguous
#endif

int main(int argc, char **argv) {
  int rank, wrong = 0;
  double columns[64], block[16];
  MPI_Datatype column, columns_of_two, pair;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  VECTOR(8, 1, 8, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  VECTOR(8, 2, 8, MPI_DOUBLE, &columns_of_two);
  MPI_Type_commit(&columns_of_two);
  CONTIGUOUS(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  for (int at = 0; at < 64; at++) columns[at] = rank == 0 ? at : -1;
  MPI_Bcast(columns, 1, column, 0, MPI_COMM_WORLD);
  for (int row = 0; row < 8; row++) wrong += columns[8 * row] != 8 * row;
  MPI_Bcast(columns, 4, pair, 0, MPI_COMM_WORLD);
  for (int at = 0; at < 8; at++) wrong += columns[at] != at;
  MPI_Sendrecv(columns, 1, columns_of_two, rank, 1, block, 16, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int row = 0; row < 8; row++) wrong += block[2 * row] != 8 * row;
  MPI_Type_free(&column);
  MPI_Type_free(&columns_of_two);
  MPI_Type_free(&pair);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(wrong ? "WRONG" : "OK");
  MPI_Finalize();
  return 0;
}
