"""Collectives from Python: 10 allreduces, 5 broadcasts, 3 gathers."""

from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
for i in range(10):
    total = array("i", [0] * 16)
    comm.Allreduce(array("i", [rank + i] * 16), total)
    assert total == array("i", [ranks * (ranks - 1) // 2 + ranks * i] * 16)
for i in range(5):
    data = array("i", [40 + i if rank == 0 else 0] * 16)
    comm.Bcast(data)
    assert data == array("i", [40 + i] * 16)
for i in range(3):
    everything = array("i", [-1] * 16 * ranks)
    comm.Gather(array("i", [100 * i + rank] * 16), everything)
    assert rank or everything == array("i", [100 * i + of for of in range(ranks) for _ in range(16)])
if rank == 0:
    print("OK")
