/* A program in which one rank comes late to collectives: it sleeps before the call. The last rank is late to allreduces, rank 0 to broadcasts of which it
   is the root, and rank 1 to reductions of which it is not. The ranks of one half wait for their own. It keeps when each rank began and ended each call, on
   the clock of the day, which ranks share whatever their other clocks say, and prints how long each waited by that, and how often it came last. */
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ALLREDUCE, BCAST, REDUCE, ALLGATHER, KINDS };
enum { MOST_RANKS = 8, MOST_CALLS = 16 };

typedef struct {
    double begin, end;
} Call;

static Call calls[KINDS][MOST_CALLS];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void late(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

#define TIMED(kind, call)              \
    do {                               \
        calls[kind][i].begin = now();  \
        call;                          \
        calls[kind][i].end = now();    \
    } while (0)

/* The ranks for which a rank waits: with a root it for all and all for it, else all for all of the communicator. */
static int waits_for(int kind, int rank, int other) {
    if (rank == other)
        return 0;
    switch (kind) {
    case ALLGATHER: return rank % 2 == other % 2;
    case ALLREDUCE: return 1;
    default: return rank == 0 || other == 0;
    }
}

static void tell(Call (*all)[KINDS][MOST_CALLS], int ranks, int made) {
    static const char *const names[KINDS] = {"MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Allgather"};
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int rank = 0; rank < ranks; ++rank) {
            double waiting = 0;
            int times_last = 0;
            for (int i = 0; i < made; ++i) {
                const Call own = all[rank][kind][i];
                double longest = 0;
                int is_last = 1;
                for (int other = 0; other < ranks; ++other) {
                    const double begin = all[other][kind][i].begin;
                    if (kind != ALLGATHER || other % 2 == rank % 2)
                        is_last &= begin <= own.begin;
                    /* One that came after this rank had left was not waited for. */
                    if (waits_for(kind, rank, other) && begin <= own.end && begin - own.begin > longest)
                        longest = begin - own.begin;
                }
                waiting += longest;
                times_last += is_last;
            }
            printf("%s %d waiting %.9f last %d\n", names[kind], rank, waiting, times_last);
        }
    }
}

int main(int argc, char **argv) {
    static Call all[MOST_RANKS][KINDS][MOST_CALLS];
    int rank, ranks;
    double in = 1, out = 0;
    long milliseconds = argc > 1 ? atol(argv[1]) : 30;
    int made = argc > 2 ? atoi(argv[2]) : 6;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (made > MOST_CALLS || ranks > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < made; ++i) {
        if (rank == ranks - 1)
            late(milliseconds);
        TIMED(ALLREDUCE, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < made; ++i) {
        if (rank == 0)
            late(milliseconds);
        TIMED(BCAST, MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < made; ++i) {
        if (rank == 1)
            late(milliseconds);
        TIMED(REDUCE, MPI_Reduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    }
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < made; ++i) {
        if (rank < 2)
            late(milliseconds);
        TIMED(ALLGATHER, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, (double[64]){0}, 1, MPI_DOUBLE, half));
    }
    MPI_Comm_free(&half);
    MPI_Gather(calls, sizeof calls, MPI_BYTE, all, sizeof calls, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) {
        puts("OK");
        tell(all, ranks, made);
    }
    return 0;
}
