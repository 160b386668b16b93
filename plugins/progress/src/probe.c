/* Whether the library has MPI_Allreduce_c and its like, which came with MPI 4. */
#include <mpi.h>
#if MPI_VERSION >= 4
kilter_large_counts yes
#else
kilter_large_counts no
#endif
