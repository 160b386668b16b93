# Calls of mpi4py: 4 allreduces of 80 bytes, 3 broadcasts of 8 bytes, a barrier.
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
mine, everything = array("d", [1.0] * 10), array("d", [0.0] * 10)
for _ in range(4):
    world.Allreduce([mine, MPI.DOUBLE], [everything, MPI.DOUBLE], MPI.SUM)
for _ in range(3):
    world.Bcast([mine, 1, MPI.DOUBLE], 0)
world.Barrier()
assert list(everything) == [float(world.size)] * 10 and list(mine) == [1.0] * 10
if world.rank == 0:
    print("OK")
