"""Ranks of pages by damped iteration, over mpi4py: in each step an Allgather of the vector's blocks, an Allreduce of a sum of doubles, and one of a
maximum. Prints sum and maximum to the last bit every so many steps, and the seconds of all.

    pagerank.py STEPS [PAGES]
"""

import random
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
steps = int(sys.argv[1])
pages = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
own = pages // size
first = rank * own
draw = random.Random(7)
# Pages that link to each one: the same graph on every rank.
links = [[draw.randrange(pages) for _ in range(5)] for _ in range(pages)]
block = array("d", [1.0 / pages] * own)
vector = array("d", [0.0] * pages)
given, total, largest = array("d", [0.0]), array("d", [0.0]), array("d", [0.0])

comm.Barrier()
began = MPI.Wtime()
for step in range(steps):
    comm.Allgather([block, MPI.DOUBLE], [vector, MPI.DOUBLE])
    wanted = step * 37 % pages
    for place in range(own):
        of_page = links[first + place]
        block[place] = 0.17 * sum(vector[other] for other in of_page)
    if first <= wanted < first + own:
        block[wanted - first] += 0.15
    given[0] = sum(block)
    comm.Allreduce([given, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    for place in range(own):
        block[place] /= total[0]
    given[0] = max(block)
    comm.Allreduce([given, MPI.DOUBLE], [largest, MPI.DOUBLE], op=MPI.MAX)
    if rank == 0 and (step + 1) % (steps // 10 or 1) == 0:
        print("step", step + 1, total[0].hex(), largest[0].hex(), flush=True)
if rank == 0:
    print("seconds", round(MPI.Wtime() - began, 3), flush=True)
