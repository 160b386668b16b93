/* Preloaded into the worker by its tests: makes MPI_Reduce, or rank 1's clock, misbehave as KILTER_TEST_FAULT says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int has_fault(const char *name)
{
    const char *fault = getenv("KILTER_TEST_FAULT");
    return fault && !strcmp(fault, name);
}

/* The clock of rank 1 is five seconds ahead, for sleeping too. */
static const time_t AHEAD = 5;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    int code = (int)syscall(SYS_clock_gettime, clock, time);
    if (rank && !strcmp(rank, "1") && has_fault("clock"))
        time->tv_sec += AHEAD;
    return code;
}

/* Rank 1 oversleeps every second start of a repetition. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    static int starts;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    struct timespec until = *time;
    if ((flags & TIMER_ABSTIME) && rank && !strcmp(rank, "1") && has_fault("clock"))
        until.tv_sec -= AHEAD;
    int code = syscall(SYS_clock_nanosleep, clock, flags, &until, left) ? EINTR : 0;
    if ((flags & TIMER_ABSTIME) && rank && !strcmp(rank, "1") && has_fault("oversleep") && ++starts % 2)
        usleep(5000);
    return code;
}

typedef int reduce_function(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);

static int calls;

static int reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    reduce_function *next = (reduce_function *)dlsym(RTLD_NEXT, "PMPI_Reduce");
    int rank, last = count - 1;
    PMPI_Comm_rank(comm, &rank);
    calls++;
    if (has_fault("error") && rank == 1)
        return MPI_ERR_OTHER;
    if (has_fault("slow") && rank == 1)
        usleep(20000);
    int code = next(send, recv, count, type, op, root, comm);
    if (has_fault("slow leaf") && rank == 1)
        usleep(20000);
    if (has_fault("output") && rank == root)
        ((char *)recv)[last] ^= 1;
    if (has_fault("output later") && rank == root && calls > 1)
        ((char *)recv)[last] ^= 1;
    if (has_fault("input") && rank == 1)
        ((char *)send)[0] ^= 1;
    if (has_fault("behind") && rank == root)
        ((char *)recv)[count] ^= 1;
    if (has_fault("other rank") && rank != root)
        ((char *)recv)[0] = 1;
    return code;
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return reduce(send, recv, count, type, op, root, comm);
}

int PMPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return reduce(send, recv, count, type, op, root, comm);
}

/* Stands in for the function that the drop-in exports. */
int kilter_dropin_calls(void (*visit)(const char *, unsigned long long, void *), void *data)
{
    visit("reduce.fault", (unsigned long long)calls, data);
    return 1;
}
