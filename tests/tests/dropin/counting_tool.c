/* Another tool of the profiling interface: counts the broadcasts that pass through it, and has to see that MPI begins. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

/* Threads broadcast at the same time. */
static atomic_int seen;
static int begun;

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    begun = 1;
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    seen++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fprintf(stderr, begun ? "TOOL %d\n" : "TOOL %d, never begun\n", atomic_load(&seen));
    }
    return PMPI_Finalize();
}
