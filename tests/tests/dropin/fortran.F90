! Collectives from Fortran: 10 allreduces, 5 broadcasts, 3 gathers, one of them in place. Through mpif.h with -DKILTER_MPIF_H, through
! mpi_f08 with -DKILTER_MPI_F08, else through mpi.
program collectives
#if defined(KILTER_MPI_F08)
  use mpi_f08
#elif !defined(KILTER_MPIF_H)
  use mpi
#endif
  implicit none
#if defined(KILTER_MPIF_H)
  include 'mpif.h'
#endif
  integer :: rank, ranks, code, i
  integer, allocatable :: everything(:)
  integer :: mine(16), total(16)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  allocate(everything(16 * ranks))
  do i = 1, 10
    mine = rank + i
    call MPI_Allreduce(mine, total, 16, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    if (any(total /= ranks * (ranks - 1) / 2 + ranks * i)) call MPI_Abort(MPI_COMM_WORLD, 3, code)
  end do
  do i = 1, 5
    mine = merge(40 + i, 0, rank == 0)
    call MPI_Bcast(mine, 16, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    if (any(mine /= 40 + i)) call MPI_Abort(MPI_COMM_WORLD, 4, code)
  end do
  do i = 1, 3
    mine = 100 * i + rank
    everything = -1
    if (i == 3 .and. rank == 0) then
      everything(1:16) = mine
      call MPI_Gather(MPI_IN_PLACE, 16, MPI_INTEGER, everything, 16, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    else
      call MPI_Gather(mine, 16, MPI_INTEGER, everything, 16, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    end if
    if (rank == 0) then
      if (any(everything(16 * ranks - 15:) /= 100 * i + ranks - 1)) call MPI_Abort(MPI_COMM_WORLD, 5, code)
      if (any(everything(:16) /= 100 * i)) call MPI_Abort(MPI_COMM_WORLD, 6, code)
    end if
  end do
  if (rank == 0) print '(a)', 'OK'
  call MPI_Finalize(code)
end program
