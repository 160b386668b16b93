/* Overhead of the drop-in on a call that it leaves alone. MPI_Allreduce of 8 bytes through the drop-in (the preloaded MPI_Allreduce) is
 * timed in turn with the library's own function in the same process, so that both meet the same machine.
 *
 * Prints, on rank 0, one line for each communicator: name, ranks, nanoseconds of the library's own, and what the drop-in adds:
 * both the smallest of all rounds, and the medians. Run by scripts/benchmark-overhead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 31 };

typedef int (*allreduce_function)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static double ns_per_call(allreduce_function allreduce, MPI_Comm comm, int calls) {
    double in = 1.0, out = 0.0;
    const double begin = now_ns();
    for (int i = 0; i < calls; i++) {
        allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
    }
    return (now_ns() - begin) / calls;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const char *name, allreduce_function library, MPI_Comm comm, int calls) {
    double own[ROUNDS], through[ROUNDS], added[ROUNDS];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    ns_per_call(library, comm, calls);
    ns_per_call(MPI_Allreduce, comm, calls);
    for (int round = 0; round < ROUNDS; round++) {
        own[round] = ns_per_call(library, comm, calls);
        through[round] = ns_per_call(MPI_Allreduce, comm, calls);
        added[round] = through[round] - own[round];
    }
    qsort(own, ROUNDS, sizeof *own, ascending);
    qsort(through, ROUNDS, sizeof *through, ascending);
    qsort(added, ROUNDS, sizeof *added, ascending);
    if (rank == 0) {
        printf("%-28s %5d %12.1f %12.1f %12.1f\n", name, size, own[0], through[0] - own[0], added[ROUNDS / 2]);
    }
}

int main(int argc, char **argv) {
    int provided, rank, size;
    const int wanted = argc > 2 && argv[2][0] == 'm' ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* The library itself, not what is preloaded in front of it. */
    void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    allreduce_function library = handle ? (allreduce_function)dlsym(handle, "PMPI_Allreduce") : NULL;
    if (library == NULL) {
        fprintf(stderr, "usage: overhead LIBRARY [multiple]; LIBRARY is the file name of the MPI library, such as libmpi.so.40\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (library == (allreduce_function)MPI_Allreduce) {
        fprintf(stderr, "nothing is preloaded: both functions are the library's\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        printf("%-28s %5s %12s %12s %12s\n", "communicator", "ranks", "library ns", "added ns", "median ns");
    }
    if (size == 1) {
        MPI_Comm other;
        compare("MPI_COMM_SELF", library, MPI_COMM_SELF, 200000);
        MPI_Comm_dup(MPI_COMM_SELF, &other);
        compare("a duplicate", library, other, 200000);
        MPI_Comm_free(&other);
    }
    if (size > 1) {
        compare("MPI_COMM_WORLD", library, MPI_COMM_WORLD, 20000);
    }
    MPI_Finalize();
    return 0;
}
