/* Compiles if the library has MPI_Allreduce_c and the other large count functions of MPI 4. */
#include <mpi.h>
#if MPI_VERSION >= 4
kilter_large_counts yes
#else
kilter_large_counts no
#endif
