! Operations from Fortran: 5 sends and 5 receives, 3 broadcasts, a persistent pair started twice: 17 on each rank. Through mpif.h with
! -DKILTER_MPIF_H, through mpi_f08 with -DKILTER_MPI_F08, else through mpi.
program operations
#if defined(KILTER_MPI_F08)
  use mpi_f08
#elif !defined(KILTER_MPIF_H)
  use mpi
#endif
  implicit none
#if defined(KILTER_MPIF_H)
  include 'mpif.h'
#endif
#if defined(KILTER_MPI_F08)
  type(MPI_Request) :: pair(2)
#else
  integer :: pair(2)
#endif
  integer :: rank, peer, code, i
  logical :: done
  integer :: mine(16), theirs(16)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  peer = 1 - rank
  do i = 1, 5
    mine = 10 * i + rank
    call MPI_Irecv(theirs, 16, MPI_INTEGER, peer, i, MPI_COMM_WORLD, pair(1), code)
    call MPI_Isend(mine, 16, MPI_INTEGER, peer, i, MPI_COMM_WORLD, pair(2), code)
    call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, code)
    if (any(theirs /= 10 * i + peer)) call MPI_Abort(MPI_COMM_WORLD, 3, code)
  end do
  do i = 1, 3
    mine = merge(40 + i, 0, rank == 0)
    call MPI_Ibcast(mine, 16, MPI_INTEGER, 0, MPI_COMM_WORLD, pair(1), code)
    done = .false.
    do while (.not. done)
      call MPI_Test(pair(1), done, MPI_STATUS_IGNORE, code)
    end do
    if (any(mine /= 40 + i)) call MPI_Abort(MPI_COMM_WORLD, 4, code)
  end do
  call MPI_Recv_init(theirs, 16, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, pair(1), code)
  call MPI_Send_init(mine, 16, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, pair(2), code)
  do i = 1, 2
    call MPI_Startall(2, pair, code)
    call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, code)
  end do
  call MPI_Request_free(pair(1), code)
  call MPI_Request_free(pair(2), code)
  if (rank == 0) print '(a)', 'OK'
  call MPI_Finalize(code)
end program
