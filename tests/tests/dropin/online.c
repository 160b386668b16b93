/* Calls on which candidates are tried in the running program, with every result checked.
 *
 *   online loop CALLS COUNT      allreduces of so many numbers on the world
 *   online free ROUNDS           duplicates and parts of the world that are freed after a few calls each, in the middle of whatever is under way
 *   online between CALLS         calls on the world, on two duplicates, on halves of it and between these, in turn
 *   online threads CALLS         four threads with a communicator each
 *   online all CALLS             every collective with one volume
 *
 * Prints "OK" at the end, or "NO THREADS". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, THREADS = 4, MOST_RANKS = 16 };

static void fail(const char *what, long at) {
    fprintf(stderr, "WRONG: %s in call %ld\n", what, at);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* An allreduce of so many numbers, each other in every call. */
static void allreduce(MPI_Comm comm, int count, long call) {
    int mine[MOST], sum[MOST], rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < count; i++)
        mine[i] = rank + (int)(call % 1000) * i;
    MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        if (sum[i] != ranks * (ranks - 1) / 2 + ranks * (int)(call % 1000) * i)
            fail("an allreduce", call);
}

static void bcast(MPI_Comm comm, int count, long call) {
    int data[MOST], rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int root = (int)(call % ranks);
    for (int i = 0; i < count; i++)
        data[i] = rank == root ? (int)call + i : -1;
    MPI_Bcast(data, count, MPI_INT, root, comm);
    for (int i = 0; i < count; i++)
        if (data[i] != (int)call + i)
            fail("a broadcast", call);
}

static void loop(long calls, int count) {
    for (long call = 0; call < calls; call++)
        allreduce(MPI_COMM_WORLD, count, call);
}

static void come_and_go(long rounds) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long round = 0; round < rounds; round++) {
        MPI_Comm same, half;
        MPI_Comm_dup(MPI_COMM_WORLD, &same);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        for (long call = 0; call < 3 * round; call++) {
            allreduce(same, 16, call);
            bcast(half, 16, call);
        }
        MPI_Comm_free(&same);
        MPI_Comm_free(&half);
    }
}

static void between(long calls) {
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm one, two, half, across;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &across);
    for (long call = 0; call < calls; call++) {
        allreduce(one, 4, call);
        bcast(two, 600, call);
        allreduce(half, 300, call);
        allreduce(two, 1, call);
        int mine = rank % 2, theirs = -1, others;
        MPI_Comm_remote_size(across, &others);
        MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, across);
        if (theirs != (rank % 2 ? 0 : others))
            fail("an allreduce between groups", call);
        allreduce(MPI_COMM_WORLD, 4, call);
    }
    /* In another order than they were made, and one of them never. */
    MPI_Comm_free(&across);
    MPI_Comm_free(&one);
    MPI_Comm_free(&half);
}

static MPI_Comm of_thread[THREADS];
static long calls_of_threads;
static int (*free_of_thread)(MPI_Comm *) = MPI_Comm_free;

static void *work(void *argument) {
    const int thread = (int)(intptr_t)argument;
    for (long call = 0; call < calls_of_threads; call++) {
        allreduce(of_thread[thread], 8 << thread, call);
        bcast(of_thread[thread], 8, call);
    }
    free_of_thread(&of_thread[thread]);
    return NULL;
}

static void threads(long calls) {
    pthread_t started[THREADS];
    calls_of_threads = calls;
    /* The library's own: the drop-in does not see the call. */
    if (getenv("KILTER_TEST_FREE_UNSEEN")) {
        /* In this order: a part of Debian's MPICH brings Open MPI's library along. */
        void *library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_NOLOAD);
        library = library ? library : dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
        *(void **)&free_of_thread = library ? dlsym(library, "PMPI_Comm_free") : NULL;
        if (!free_of_thread)
            fail("no library's own MPI_Comm_free", 0);
    }
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i]);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&started[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(started[i], NULL);
}

/* x -> ax + b, one after the other: does not commute. */
typedef struct {
    uint32_t a, b;
} Line;

static void compose(void *lower, void *upper, int *length, MPI_Datatype *type) {
    (void)type;
    Line *first = lower, *then = upper;
    for (int i = 0; i < *length; i++) {
        Line one = {first[i].a * then[i].a, first[i].b * then[i].a + then[i].b};
        then[i] = one;
    }
}

static Line line(int of, int at, long call) {
    Line own = {2u * (uint32_t)(of + at) + 1u, (uint32_t)(of * 7 + at + call)};
    return own;
}

static void expect_lines(const Line *got, int count, int last, long call) {
    for (int i = 0; i < count; i++) {
        Line all = line(0, i, call);
        int one = 1;
        for (int of = 1; of <= last; of++) {
            Line next = line(of, i, call);
            compose(&all, &next, &one, NULL);
            all = next;
        }
        if (all.a != got[i].a || all.b != got[i].b)
            fail("a reduction in the order of ranks", call);
    }
}

/* Reductions by an operator that does not commute, in place in every other call. */
static void in_order(long call) {
    enum { N = 33 };
    static MPI_Op op;
    static MPI_Datatype type;
    if (!op) {
        MPI_Type_contiguous(2, MPI_UINT32_T, &type);
        MPI_Type_commit(&type);
        MPI_Op_create(compose, 0, &op);
    }
    int rank, p;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const int root = (int)(call % p);
    Line mine[N], all[N];
    const void *from = call % 2 ? MPI_IN_PLACE : (const void *)mine;
#define LINES for (int i = 0; i < N; i++) mine[i] = all[i] = line(rank, i, call)
    LINES;
    MPI_Allreduce(from, all, N, type, op, MPI_COMM_WORLD);
    expect_lines(all, N, p - 1, call);
    LINES;
    MPI_Scan(from, all, N, type, op, MPI_COMM_WORLD);
    expect_lines(all, N, rank, call);
    LINES;
    MPI_Reduce(rank == root ? from : mine, all, N, type, op, root, MPI_COMM_WORLD);
    if (rank == root)
        expect_lines(all, N, p - 1, call);
}

static void every(long calls) {
    enum { N = 64 };
    int rank, p;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm world = MPI_COMM_WORLD;
    int mine[MOST_RANKS * N], all[MOST_RANKS * N], counts[MOST_RANKS], places[MOST_RANKS];
    for (int of = 0; of < p; of++)
        counts[of] = N, places[of] = of * N;
    const int ranks = p * (p - 1) / 2;
    for (long call = 0; call < calls; call++) {
        int root = (int)(call % p);
#define FILL for (int i = 0; i < p * N; i++) mine[i] = 10000 * rank + i, all[i] = -1
#define EXPECT(name, entries, wanted) for (int i = 0; i < (entries); i++) if (all[i] != (wanted)) fail(name, call)
        FILL; MPI_Allgather(mine, N, MPI_INT, all, N, MPI_INT, world);
        EXPECT("an allgather", p * N, 10000 * (i / N) + i % N);
        FILL; MPI_Allgatherv(mine, N, MPI_INT, all, counts, places, MPI_INT, world);
        EXPECT("an allgatherv", p * N, 10000 * (i / N) + i % N);
        FILL; MPI_Alltoall(mine, N, MPI_INT, all, N, MPI_INT, world);
        EXPECT("an alltoall", p * N, 10000 * (i / N) + rank * N + i % N);
        FILL; MPI_Alltoallv(mine, counts, places, MPI_INT, all, counts, places, MPI_INT, world);
        EXPECT("an alltoallv", p * N, 10000 * (i / N) + rank * N + i % N);
        MPI_Barrier(world);
        FILL; MPI_Exscan(mine, all, N, MPI_INT, MPI_SUM, world);
        if (rank > 0) EXPECT("an exscan", N, 10000 * (rank * (rank - 1) / 2) + rank * i);
        FILL; MPI_Gather(mine, N, MPI_INT, all, N, MPI_INT, root, world);
        if (rank == root) EXPECT("a gather", p * N, 10000 * (i / N) + i % N);
        FILL; MPI_Gatherv(mine, N, MPI_INT, all, counts, places, MPI_INT, root, world);
        if (rank == root) EXPECT("a gatherv", p * N, 10000 * (i / N) + i % N);
        FILL; MPI_Reduce(mine, all, N, MPI_INT, MPI_SUM, root, world);
        if (rank == root) EXPECT("a reduce", N, 10000 * ranks + p * i);
        FILL; MPI_Reduce_scatter(mine, all, counts, MPI_INT, MPI_SUM, world);
        EXPECT("a reduce_scatter", N, 10000 * ranks + p * (rank * N + i));
        FILL; MPI_Reduce_scatter_block(mine, all, N, MPI_INT, MPI_SUM, world);
        EXPECT("a reduce_scatter_block", N, 10000 * ranks + p * (rank * N + i));
        FILL; MPI_Scan(mine, all, N, MPI_INT, MPI_SUM, world);
        EXPECT("a scan", N, 10000 * (rank * (rank + 1) / 2) + (rank + 1) * i);
        FILL; MPI_Scatter(mine, N, MPI_INT, all, N, MPI_INT, root, world);
        EXPECT("a scatter", N, 10000 * root + rank * N + i);
        FILL; MPI_Scatterv(mine, counts, places, MPI_INT, all, N, MPI_INT, root, world);
        EXPECT("a scatterv", N, 10000 * root + rank * N + i);
        allreduce(world, N, call);
        bcast(world, N, call);
        in_order(call);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    const long calls = argc > 2 ? atol(argv[2]) : 0;
    const int wanted = strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    int provided, rank;
    /* A rank whose environment is not like the others'. */
    const char *own = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    if (getenv("KILTER_TEST_DIFFER") && own && atoi(own) == 1)
        unsetenv("KILTER_ONLINE");
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < wanted) {
        puts("NO THREADS");
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(what, "loop"))
        loop(calls, argc > 3 ? atoi(argv[3]) : 256);
    else if (!strcmp(what, "free"))
        come_and_go(calls);
    else if (!strcmp(what, "between"))
        between(calls);
    else if (!strcmp(what, "threads"))
        threads(calls);
    else if (!strcmp(what, "all"))
        every(calls);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("OK");
    MPI_Finalize();
    return 0;
}
