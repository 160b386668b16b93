/* With LARGE_COUNTS, every collective is called in its large count form: counts are MPI_Count, displacements MPI_Aint. */
#ifdef LARGE_COUNTS
typedef MPI_Count Count;
typedef MPI_Aint Displacement;
#define MPI_Allgather MPI_Allgather_c
#define MPI_Allgatherv MPI_Allgatherv_c
#define MPI_Allreduce MPI_Allreduce_c
#define MPI_Alltoall MPI_Alltoall_c
#define MPI_Alltoallv MPI_Alltoallv_c
#define MPI_Bcast MPI_Bcast_c
#define MPI_Exscan MPI_Exscan_c
#define MPI_Gather MPI_Gather_c
#define MPI_Gatherv MPI_Gatherv_c
#define MPI_Reduce MPI_Reduce_c
#define MPI_Reduce_scatter MPI_Reduce_scatter_c
#define MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c
#define MPI_Scan MPI_Scan_c
#define MPI_Scatter MPI_Scatter_c
#define MPI_Scatterv MPI_Scatterv_c
#else
typedef int Count;
typedef int Displacement;
#endif
