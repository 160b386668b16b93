/* A library that cannot make memory that ranks share. */
#include <mpi.h>

int PMPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window) {
    (void)size, (void)unit, (void)info, (void)comm, (void)base;
    *window = MPI_WIN_NULL;
    return MPI_ERR_NO_MEM;
}
