/* kilter_send_to_self for Fortran: compile this file with the program (mpicc -c kilter_trace.c).
 *
 *   call kilter_send_to_self(buffer, count, datatype, comm, ierror)
 *
 * With the module mpi_f08, datatype and comm are datatype%MPI_VAL and comm%MPI_VAL. */
#include "kilter_trace.h"

void kilter_send_to_self_(const void *buffer, const MPI_Fint *count, const MPI_Fint *datatype, const MPI_Fint *comm, MPI_Fint *error)
{
    *error = (MPI_Fint)kilter_send_to_self(buffer, (int)*count, MPI_Type_f2c(*datatype), MPI_Comm_f2c(*comm));
}
