/* Part of verify.c: blocks of different lengths, anywhere in memory, and blocks for each rank. */

typedef struct {
    Count counts[MAX_RANKS];
    Displacement at[MAX_RANKS];
    long capacity; /* elements of memory */
} Blocks;

enum { ONE_AFTER_THE_OTHER, WITH_GAPS, LAST_FIRST, PLACEMENTS, FAR = 100003 };

/* Elements from one rank to another; none between some. */
static long length(int from, int to, int count, int symmetric) {
    return (from + (symmetric ? to : 2 * to) + 1) % 4 == 0 ? 0 : count + (from + to) % 2;
}

static Blocks placed(const long *lengths, int placement) {
    Blocks blocks;
    long at = placement == WITH_GAPS;
    for (int i = 0; i < ranks; i++) {
        const int of = placement == LAST_FIRST ? ranks - 1 - i : i;
        blocks.counts[of] = (Count)lengths[of];
        blocks.at[of] = (Displacement)at;
        at += lengths[of] + (placement == WITH_GAPS ? 2 : 0);
    }
    blocks.capacity = at;
    return blocks;
}

/* Block `block` holds what rank `of` has for rank `to`: data far from those of other ranks. */
static void put(int layout, int32_t *memory, const Blocks *blocks, int block, int of, int to) {
    write_pairs(layout, memory + blocks->at[block] * layouts[layout].slots, of, (long)to * FAR, (long)blocks->counts[block]);
}

/* Checks every integer in the blocks, between them and behind them. */
static void expect_same(int layout, const int32_t *got, const int32_t *wanted, long capacity) {
    const long integers = capacity * layouts[layout].slots + GUARD / 4;
    for (long i = 0; i < integers; i++) {
        if (got[i] != wanted[i]) {
            fail("wrong integer", i);
        }
    }
}

static void expect_blocks(int layout, int32_t *got, int32_t *wanted, const Blocks *blocks) {
    expect_same(layout, got, wanted, blocks->capacity);
    free(got);
    free(wanted);
}

static void alltoall(int layout, int other, int count, int in_place) {
    const long total = (long)count * ranks;
    int32_t *send = empty(layout, total), *recv = empty(other, total), *wanted = empty(other, total);
    for (int of = 0; of < ranks; of++) {
        write_pairs(layout, send + (long)of * count * layouts[layout].slots, rank, (long)of * FAR, count);
        write_pairs(other, wanted + (long)of * count * layouts[other].slots, of, (long)rank * FAR, count);
        if (in_place) {
            write_pairs(other, recv + (long)of * count * layouts[other].slots, rank, (long)of * FAR, count);
        }
    }
    call("alltoall", 8 * total, 1, "layouts %d and %d, in place %d", layout, other, in_place);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : send, in_place ? -3 : count, in_place ? MPI_DATATYPE_NULL : layouts[layout].type,
                 recv, count, layouts[other].type, comm);
    expect_same(other, recv, wanted, total);
    free(send);
    free(recv);
    free(wanted);
}

static void alltoallv(int layout, int other, int count, int in_place, int placement) {
    long out[MAX_RANKS] = {0}, in[MAX_RANKS] = {0};
    for (int i = 0; i < ranks; i++) {
        out[i] = length(rank, i, count, in_place);
        in[i] = length(i, rank, count, in_place);
    }
    const Blocks given = placed(out, placement), taken = placed(in, (placement + rank) % PLACEMENTS);
    int32_t *send = empty(layout, given.capacity), *before = empty(layout, given.capacity);
    int32_t *recv = empty(other, taken.capacity), *wanted = empty(other, taken.capacity);
    for (int i = 0; i < ranks; i++) {
        put(layout, send, &given, i, rank, i);
        put(layout, before, &given, i, rank, i);
        put(other, wanted, &taken, i, i, rank);
        if (in_place) {
            put(other, recv, &taken, i, rank, i);
        }
    }
    call("alltoallv", 0, 1, "layouts %d and %d, in place %d, placement %d", layout, other, in_place, placement);
    MPI_Alltoallv(in_place ? MPI_IN_PLACE : send, in_place ? NULL : given.counts, in_place ? NULL : given.at,
                  in_place ? MPI_DATATYPE_NULL : layouts[layout].type, recv, taken.counts, taken.at, layouts[other].type, comm);
    expect_blocks(other, recv, wanted, &taken);
    expect_blocks(layout, send, before, &given);
}

static void gathers(int layout, int other, int count, int in_place, int placement) {
    long lengths[MAX_RANKS] = {0}, bytes = 0;
    for (int i = 0; i < ranks; i++) {
        lengths[i] = length(i, 0, count, 0);
        bytes += 8 * lengths[i];
    }
    const Blocks all = placed(lengths, (placement + rank) % PLACEMENTS);
    const Count own = all.counts[rank];
    int32_t *send = empty(layout, (long)own);
    write_pairs(layout, send, rank, 0, (long)own);
    /* root -1 stands for all ranks */
    for (int root = -1; root < ranks; root++) {
        if (!wanted(root < 0 ? "allgatherv" : "gatherv")) {
            continue;
        }
        const int takes = root < 0 || rank == root, is_here = in_place && takes;
        int32_t *recv = empty(other, all.capacity), *wanted = empty(other, all.capacity);
        for (int i = 0; i < ranks && takes; i++) {
            put(other, wanted, &all, i, i, 0);
        }
        if (is_here) {
            put(other, recv, &all, rank, rank, 0);
        }
        const void *from = is_here ? MPI_IN_PLACE : send;
        const Count number = is_here ? -3 : own;
        MPI_Datatype type = is_here ? MPI_DATATYPE_NULL : layouts[layout].type;
        if (root < 0) {
            call("allgatherv", bytes, 1, "layouts %d and %d, in place %d, placement %d", layout, other, in_place, placement);
            MPI_Allgatherv(from, number, type, recv, all.counts, all.at, layouts[other].type, comm);
        } else {
            call("gatherv", 0, 1, "layouts %d and %d, in place %d, placement %d, root %d", layout, other, in_place, placement,
                 root);
            MPI_Gatherv(from, number, type, recv, takes ? all.counts : NULL, takes ? all.at : NULL,
                        takes ? layouts[other].type : MPI_DATATYPE_NULL, root, comm);
        }
        expect_blocks(other, recv, wanted, &all);
    }
    free(send);
}

static void scatterv(int layout, int other, int count, int in_place, int placement) {
    long lengths[MAX_RANKS] = {0};
    for (int i = 0; i < ranks; i++) {
        lengths[i] = length(0, i, count, 0);
    }
    const Blocks all = placed(lengths, placement);
    const Count own = all.counts[rank];
    for (int root = 0; root < ranks; root++) {
        const int gives = rank == root, is_here = in_place && gives;
        int32_t *send = empty(layout, all.capacity), *before = empty(layout, all.capacity);
        int32_t *recv = empty(other, (long)own), *wanted = empty(other, (long)own);
        for (int i = 0; i < ranks; i++) {
            put(layout, send, &all, i, root, i);
            put(layout, before, &all, i, root, i);
        }
        if (!is_here) {
            write_pairs(other, wanted, root, (long)rank * FAR, (long)own);
        }
        call("scatterv", 0, 1, "layouts %d and %d, in place %d, placement %d, root %d", layout, other, in_place, placement, root);
        MPI_Scatterv(gives ? send : NULL, gives ? all.counts : NULL, gives ? all.at : NULL,
                     gives ? layouts[layout].type : MPI_DATATYPE_NULL, is_here ? MPI_IN_PLACE : recv, is_here ? -3 : own,
                     is_here ? MPI_DATATYPE_NULL : layouts[other].type, root, comm);
        expect_same(other, recv, wanted, (long)own);
        expect_blocks(layout, send, before, &all);
        free(recv);
        free(wanted);
    }
}

static void blocks(int layout, int other, int count, int in_place) {
    if (wanted("alltoall")) {
        alltoall(layout, other, count, in_place);
    }
    for (int placement = 0; placement < PLACEMENTS; placement++) {
        if (wanted("alltoallv")) {
            alltoallv(layout, other, count, in_place, placement);
        }
        gathers(layout, other, count, in_place, placement);
        if (wanted("scatterv")) {
            scatterv(layout, other, count, in_place, placement);
        }
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Checks that no rank leaves a barrier before the last has arrived. The ranks share a clock. */
static void barriers(void) {
    for (int late = 0; late < ranks; late++) {
        if (rank == late) {
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
        double entered = now(), last;
        call("barrier", 0, 1, "rank %d late", late);
        MPI_Barrier(comm);
        const double left = now();
        call("allreduce", 8, 1, "after a barrier");
        MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
        snprintf(current, sizeof current, "barrier, rank %d late", late);
        if (left < last) {
            fail("left before the last rank came", late);
        }
    }
}
