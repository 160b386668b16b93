"""All sixteen collectives from Python, each a number of times of its own: 1 for the first in the alphabet, 16 for the last."""

from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
COUNT = 16
# Blocks of different lengths, the last rank's the longest.
COUNTS = [COUNT + of for of in range(ranks)]
ALL = sum(COUNTS)


def ints(values):
    return array("i", values)


def block(of, i):
    """What rank `of` has in repetition `i`."""
    return ints(1000 * i + 100 * of + k for k in range(COUNT))


def long_block(of, i):
    return ints(1000 * i + 100 * of + k for k in range(COUNTS[of]))


def total(blocks):
    return ints(map(sum, zip(*blocks)))


def joined(blocks):
    return ints(value for one in blocks for value in one)


def empty(length=COUNT):
    return ints([-1] * length)


def allgather(i):
    got = empty(COUNT * ranks)
    comm.Allgather(block(rank, i), got)
    assert got == joined(block(of, i) for of in range(ranks))


def allgatherv(i):
    got = empty(ALL)
    comm.Allgatherv(long_block(rank, i), [got, COUNTS])
    assert got == joined(long_block(of, i) for of in range(ranks))


def allreduce(i):
    got = empty()
    comm.Allreduce(block(rank, i), got)
    assert got == total(block(of, i) for of in range(ranks))


def alltoall(i):
    got = empty(COUNT * ranks)
    comm.Alltoall(joined(block(rank, i + to) for to in range(ranks)), got)
    assert got == joined(block(of, i + rank) for of in range(ranks))


def alltoallv(i):
    got = empty(COUNTS[rank] * ranks)
    mine = joined(ints([1000 * i + 100 * rank + to] * COUNTS[to]) for to in range(ranks))
    comm.Alltoallv([mine, COUNTS], [got, [COUNTS[rank]] * ranks])
    assert got == joined(ints([1000 * i + 100 * of + rank] * COUNTS[rank]) for of in range(ranks))


def barrier(_):
    comm.Barrier()


def bcast(i):
    got = block(i, i) if rank == i % ranks else empty()
    comm.Bcast(got, root=i % ranks)
    assert got == block(i, i)


def exscan(i):
    got = empty()
    comm.Exscan(block(rank, i), got)
    assert got == (total(block(of, i) for of in range(rank)) if rank > 0 else empty())


def gather(i):
    got = empty(COUNT * ranks)
    comm.Gather(block(rank, i), got, root=i % ranks)
    assert rank != i % ranks or got == joined(block(of, i) for of in range(ranks))


def gatherv(i):
    got = empty(ALL)
    comm.Gatherv(long_block(rank, i), [got, COUNTS], root=i % ranks)
    assert rank != i % ranks or got == joined(long_block(of, i) for of in range(ranks))


def reduce(i):
    got = empty()
    comm.Reduce(block(rank, i), got, root=i % ranks)
    assert rank != i % ranks or got == total(block(of, i) for of in range(ranks))


def reduce_scatter(i):
    got = empty(COUNTS[rank])
    comm.Reduce_scatter(ints([i + rank] * ALL), got, COUNTS)
    assert got == ints([sum(i + of for of in range(ranks))] * COUNTS[rank])


def reduce_scatter_block(i):
    got = empty()
    comm.Reduce_scatter_block(joined(block(rank, i + to) for to in range(ranks)), got)
    assert got == total(block(of, i + rank) for of in range(ranks))


def scan(i):
    got = empty()
    comm.Scan(block(rank, i), got)
    assert got == total(block(of, i) for of in range(rank + 1))


def scatter(i):
    got = empty()
    comm.Scatter(joined(block(to, i) for to in range(ranks)), got, root=i % ranks)
    assert got == block(rank, i)


def scatterv(i):
    got = empty(COUNTS[rank])
    comm.Scatterv([joined(long_block(to, i) for to in range(ranks)), COUNTS], got, root=i % ranks)
    assert got == long_block(rank, i)


COLLECTIVES = [
    allgather,
    allgatherv,
    allreduce,
    alltoall,
    alltoallv,
    barrier,
    bcast,
    exscan,
    gather,
    gatherv,
    reduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    scatter,
    scatterv,
]
for calls, collective in enumerate(COLLECTIVES, 1):
    for i in range(calls):
        collective(i)
if rank == 0:
    print("OK")
