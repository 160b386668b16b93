/* An ordinary MPI program: every collective that can be replaced, checked against a sequential model.
 *
 * With LARGE_COUNTS, in the large count forms; with BRIEF, with one count of elements. KILTER_TEST_COLLECTIVES, such as " bcast scan ", leaves it these
 * collectives alone. At the end rank 0 prints a line for each kind of call that it made:
 *     CALLS <collective> <ranks of the communicator> <total bytes, 0 where not all ranks know> <operator commutes: 0 or 1> <number of calls>
 * and then "OK". Any wrong byte ends the job with a line that says which call it was.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "large_counts.h"

enum { MAX_RANKS = 8, MAX_CALLS = 4096, KINDS = 3, LARGE = 4099, GUARD = 16 };
#define UNTOUCHED 0xA5

/* An element, its type and an operator. */
typedef struct {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    int commutes;
    int size;   /* bytes of data */
    int extent; /* bytes from one element to the next */
} Kind;

typedef struct {
    double value;
    int32_t place;
} Located; /* MPI_DOUBLE_INT: a hole at its end */

static Kind kinds[KINDS];
static MPI_Comm comm;
static int rank, ranks;
static char current[256];

static struct {
    char name[32];
    int ranks, commutes;
    long bytes, number;
} calls[MAX_CALLS];
static int kinds_of_call;

static void fail(const char *what, long at) {
    fprintf(stderr, "WRONG: %s: rank %d of %d: %s at %ld\n", current, rank, ranks, what, at);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Notes a call that is about to be made, for the message of a failure and for the counts. */
static void call(const char *name, long bytes, int commutes, const char *format, ...) {
    va_list arguments;
    int length = snprintf(current, sizeof current, "%s, %ld bytes in total, ", name, bytes);
    va_start(arguments, format);
    vsnprintf(current + length, sizeof current - (size_t)length, format, arguments);
    va_end(arguments);
    int i = 0;
    while (i < kinds_of_call && (strcmp(calls[i].name, name) != 0 || calls[i].ranks != ranks ||
                                 calls[i].bytes != bytes || calls[i].commutes != commutes)) {
        i++;
    }
    if (i == kinds_of_call) {
        if (kinds_of_call == MAX_CALLS) {
            fail("too many kinds of calls", i);
        }
        snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
        calls[i].ranks = ranks;
        calls[i].bytes = bytes;
        calls[i].commutes = commutes;
        kinds_of_call++;
    }
    calls[i].number++;
}

/* True if this collective is to be called. */
static int wanted(const char *name) {
    const char *only = getenv("KILTER_TEST_COLLECTIVES");
    char whole[34];
    snprintf(whole, sizeof whole, " %s ", name);
    return only == NULL || strstr(only, whole) != NULL;
}

static uint32_t word(int of, long i) { return (uint32_t)(((uint64_t)(of * 7919 + 1 + i) * 2654435769u) >> 3) | 1; }

/* Element i of rank `of`'s data. */
static void element(int kind, int of, long i, char *out) {
    if (kind == 2) {
        Located located = {.value = (double)(word(of, i) % 97), .place = of};
        memcpy(out, &located.value, sizeof located.value);
        memcpy(out + sizeof located.value, &located.place, sizeof located.place);
    } else {
        uint32_t words[2] = {word(of, 2 * i), word(of, 2 * i + 1)};
        memcpy(out, words, (size_t)kinds[kind].size);
    }
}

/* upper = lower op upper */
static void combine(int kind, const char *lower, char *upper) {
    if (kind == 2) {
        double a, b;
        int32_t i, j;
        memcpy(&a, lower, 8), memcpy(&b, upper, 8);
        memcpy(&i, lower + 8, 4), memcpy(&j, upper + 8, 4);
        if (a > b || (a == b && i < j)) {
            memcpy(upper, lower, 12);
        }
        return;
    }
    uint32_t a[2] = {0, 0}, b[2] = {0, 0}, result[2];
    memcpy(a, lower, (size_t)kinds[kind].size), memcpy(b, upper, (size_t)kinds[kind].size);
    if (kind == 0) {
        result[0] = a[0] + b[0];
    } else { /* x -> a x + b, one after the other: does not commute */
        result[0] = a[0] * b[0];
        result[1] = a[1] * b[0] + b[1];
    }
    memcpy(upper, result, (size_t)kinds[kind].size);
}

static void compose(void *lower, void *upper, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) {
        combine(1, (char *)lower + 8 * i, (char *)upper + 8 * i);
    }
}

static char *buffer(long elements, int extent) {
    char *memory = malloc((size_t)(elements * extent + GUARD));
    memset(memory, UNTOUCHED, (size_t)(elements * extent + GUARD));
    return memory;
}

static char *filled(int kind, long elements) {
    char *memory = buffer(elements, kinds[kind].extent);
    for (long i = 0; i < elements; i++) {
        element(kind, rank, i, memory + i * kinds[kind].extent);
    }
    return memory;
}

/* Elements `first`.. of the combination of the data of ranks 0 to `last`. */
static void expect_combined(int kind, const char *got, int last, long first, long elements, long capacity) {
    char total[16], next[16];
    for (long i = 0; i < elements; i++) {
        element(kind, 0, first + i, total);
        for (int of = 1; of <= last; of++) {
            element(kind, of, first + i, next);
            combine(kind, total, next);
            memcpy(total, next, (size_t)kinds[kind].size);
        }
        if (memcmp(total, got + i * kinds[kind].extent, (size_t)kinds[kind].size) != 0) {
            fail("wrong element", i);
        }
    }
    const char *end = got + capacity * kinds[kind].extent;
    for (int i = 0; i < GUARD; i++) {
        if ((unsigned char)end[i] != UNTOUCHED) {
            fail("written beyond the end", i);
        }
    }
}

static void expect_input(int kind, const char *got, long elements) {
    char wanted[16];
    for (long i = 0; i < elements; i++) {
        element(kind, rank, i, wanted);
        if (memcmp(wanted, got + i * kinds[kind].extent, (size_t)kinds[kind].size) != 0) {
            fail("input changed", i);
        }
    }
}

static void reductions(int kind, int count, int in_place) {
    const Kind *k = &kinds[kind];
    const long n = (long)count * k->size;
    char *send = filled(kind, count);
    char *recv;
    const void *from = in_place ? MPI_IN_PLACE : send;
    if (wanted("allreduce")) {
        recv = in_place ? filled(kind, count) : buffer(count, k->extent);
        call("allreduce", n, k->commutes, "%s, in place %d", k->name, in_place);
        MPI_Allreduce(from, recv, count, k->type, k->op, comm);
        expect_combined(kind, recv, ranks - 1, 0, count, count);
        free(recv);
    }

    if (wanted("scan")) {
        recv = in_place ? filled(kind, count) : buffer(count, k->extent);
        call("scan", n, k->commutes, "%s, in place %d", k->name, in_place);
        MPI_Scan(from, recv, count, k->type, k->op, comm);
        expect_combined(kind, recv, rank, 0, count, count);
        free(recv);
    }

    if (wanted("exscan")) {
        recv = in_place ? filled(kind, count) : buffer(count, k->extent);
        call("exscan", n, k->commutes, "%s, in place %d", k->name, in_place);
        MPI_Exscan(from, recv, count, k->type, k->op, comm);
        if (rank > 0) {
            expect_combined(kind, recv, rank - 1, 0, count, count);
        } else {
            char *untouched = in_place ? filled(kind, count) : buffer(count, k->extent);
            if (memcmp(recv, untouched, (size_t)((long)count * k->extent + GUARD)) != 0) {
                fail("the lowest rank's buffer changed", 0);
            }
            free(untouched);
        }
        free(recv);
    }

    for (int root = 0; wanted("reduce") && root < ranks; root++) {
#ifdef MPICH_VERSION
        if (in_place && root > 0) {
            continue; /* MPICH 4.0.2 itself crashes there with two ranks */
        }
#endif
        const int is_root = rank == root;
        recv = !is_root ? NULL : in_place ? filled(kind, count) : buffer(count, k->extent);
        call("reduce", n, k->commutes, "%s, in place %d, root %d", k->name, in_place, root);
        MPI_Reduce(is_root ? from : send, recv, count, k->type, k->op, root, comm);
        if (is_root) {
            expect_combined(kind, recv, ranks - 1, 0, count, count);
        }
        free(recv);
    }
    expect_input(kind, send, count);
    free(send);

    if (wanted("reduce_scatter_block")) {
        const long total = (long)count * ranks;
        send = filled(kind, total);
        recv = in_place ? filled(kind, total) : buffer(total, k->extent);
        call("reduce_scatter_block", n * ranks, k->commutes, "%s, in place %d", k->name, in_place);
        MPI_Reduce_scatter_block(from == MPI_IN_PLACE ? MPI_IN_PLACE : send, recv, count, k->type, k->op, comm);
        expect_combined(kind, recv, ranks - 1, (long)rank * count, count, total);
        expect_input(kind, send, total);
        free(recv);
        free(send);
    }

    for (int uneven = 0; wanted("reduce_scatter") && uneven < 2; uneven++) {
        Count counts[MAX_RANKS];
        long sum = 0, first = 0;
        for (int i = 0; i < ranks; i++) {
            counts[i] = uneven ? count * ((i + 2) % 3) + i % 2 : count;
            first += i < rank ? counts[i] : 0;
            sum += counts[i];
        }
        send = filled(kind, sum);
        recv = in_place ? filled(kind, sum) : buffer(sum, k->extent);
        call("reduce_scatter", sum * k->size, k->commutes, "%s, in place %d, uneven %d", k->name, in_place, uneven);
        MPI_Reduce_scatter(from == MPI_IN_PLACE ? MPI_IN_PLACE : send, recv, counts, k->type, k->op, comm);
        expect_combined(kind, recv, ranks - 1, first, counts[rank], sum);
        expect_input(kind, send, sum);
        free(recv);
        free(send);
    }
}

/* Types with different layouts of the same integers. Each element has two integers and takes `slots` integers of memory. */
enum { LAYOUTS = 3 };
static struct {
    MPI_Datatype type;
    int slots, first, second;
} layouts[LAYOUTS];

/* `elements` elements of two integers from rank `of`, starting at its element `begin`. */
static void write_pairs(int layout, int32_t *at, int of, long begin, long elements) {
    for (long i = 0; i < elements; i++) {
        at[i * layouts[layout].slots + layouts[layout].first] = (int32_t)word(of, 2 * (begin + i));
        at[i * layouts[layout].slots + layouts[layout].second] = (int32_t)word(of, 2 * (begin + i) + 1);
    }
}

static int32_t *pairs(int layout, int of, long elements) {
    int32_t *memory = (int32_t *)(void *)buffer(elements * layouts[layout].slots, 4);
    write_pairs(layout, memory, of, 0, elements);
    return memory;
}

static int32_t *empty(int layout, long elements) {
    return (int32_t *)(void *)buffer(elements * layouts[layout].slots, 4);
}

/* Checks that the pairs are there and that all other integers, in holes and behind the end, are unchanged. */
static void expect_pairs(int layout, const int32_t *got, int of, long begin, long elements, long capacity) {
    int32_t untouched;
    memset(&untouched, UNTOUCHED, sizeof untouched);
    const int slots = layouts[layout].slots;
    for (long i = 0; i < elements; i++) {
        for (int slot = 0; slot < slots; slot++) {
            int32_t wanted = slot == layouts[layout].first    ? (int32_t)word(of, 2 * (begin + i))
                             : slot == layouts[layout].second ? (int32_t)word(of, 2 * (begin + i) + 1)
                                                              : untouched;
            if (got[i * slots + slot] != wanted) {
                fail("wrong integer", i);
            }
        }
    }
    for (int i = 0; capacity >= 0 && i < GUARD / 4; i++) {
        if (got[capacity * slots + i] != untouched) {
            fail("written beyond the end", i);
        }
    }
}

/* `layout` is this rank's; another rank's may differ. */
static void movements(int layout, int other, int count, int in_place) {
    const long n = 8L * count, total = (long)count * ranks;
    MPI_Datatype type = layouts[layout].type, other_type = layouts[other].type;

    int32_t *send = pairs(layout, rank, count);
    int32_t *recv;
    if (wanted("allgather")) {
        recv = empty(other, total);
        if (in_place) {
            write_pairs(other, recv + (long)rank * count * layouts[other].slots, rank, 0, count);
        }
        call("allgather", n * ranks, 1, "layouts %d and %d, in place %d", layout, other, in_place);
        MPI_Allgather(in_place ? MPI_IN_PLACE : send, count, type, recv, count, other_type, comm);
        for (int of = 0; of < ranks; of++) {
            const long end = of == ranks - 1 ? count : -1;
            expect_pairs(other, recv + (long)of * count * layouts[other].slots, of, 0, count, end);
        }
        free(recv);
    }

    for (int root = 0; root < ranks; root++) {
        const int is_root = rank == root;
        if (wanted("gather")) {
            recv = is_root ? empty(other, total) : NULL;
            if (is_root && in_place) {
                write_pairs(other, recv + (long)rank * count * layouts[other].slots, rank, 0, count);
            }
            call("gather", n * ranks, 1, "layouts %d and %d, in place %d, root %d", layout, other, in_place, root);
            /* Arguments that MPI ignores on a rank are nonsense here. */
            MPI_Gather(is_root && in_place ? MPI_IN_PLACE : send, is_root && in_place ? -5 : count,
                       is_root && in_place ? MPI_DATATYPE_NULL : type, recv, is_root ? count : -7,
                       is_root ? other_type : MPI_DATATYPE_NULL, root, comm);
            for (int of = 0; is_root && of < ranks; of++) {
                const long end = of == ranks - 1 ? count : -1;
                expect_pairs(other, recv + (long)of * count * layouts[other].slots, of, 0, count, end);
            }
            free(recv);
        }

        if (wanted("scatter")) {
            int32_t *whole = is_root ? pairs(layout, root, total) : NULL;
            recv = empty(other, count);
            call("scatter", n * ranks, 1, "layouts %d and %d, in place %d, root %d", layout, other, in_place, root);
            MPI_Scatter(whole, is_root ? count : -7, is_root ? type : MPI_DATATYPE_NULL,
                        is_root && in_place ? MPI_IN_PLACE : recv, is_root && in_place ? -5 : count,
                        is_root && in_place ? MPI_DATATYPE_NULL : other_type, root, comm);
            if (!(is_root && in_place)) {
                expect_pairs(other, recv, root, (long)rank * count, count, count);
            }
            if (is_root) {
                expect_pairs(layout, whole, root, 0, total, total);
            }
            free(whole);
            free(recv);
        }

        if (wanted("bcast")) {
            const int mine = is_root ? layout : other;
            recv = is_root ? pairs(mine, root, count) : empty(mine, count);
            call("bcast", n, 1, "layouts %d and %d, root %d", layout, other, root);
            MPI_Bcast(recv, count, layouts[mine].type, root, comm);
            expect_pairs(mine, recv, root, 0, count, count);
            free(recv);
        }
    }
    expect_pairs(layout, send, rank, 0, count, count);
    free(send);
}

#include "verify_blocks.h"

static void everything(MPI_Comm on) {
    comm = on;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    /* A receive for anything must not see messages that are not the program's. */
    int stolen = -1;
    MPI_Request pending;
    MPI_Irecv(&stolen, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &pending);
#ifdef BRIEF
    const int counts[] = {ranks + 1};
#else
    const int counts[] = {0, 1, ranks - 1, ranks, ranks + 1, LARGE};
#endif
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            for (int kind = 0; kind < KINDS; kind++) {
                reductions(kind, counts[i], in_place);
            }
            movements(0, 0, counts[i], in_place);
            /* Each rank lays its data out in a way of its own. */
            movements(rank % LAYOUTS, (rank + 1) % LAYOUTS, counts[i], in_place);
            blocks(0, 0, counts[i], in_place);
            blocks(rank % LAYOUTS, (rank + 1) % LAYOUTS, counts[i], in_place);
        }
    }
    if (wanted("barrier")) {
        barriers();
    }
    const int sent = 1000 + rank;
    MPI_Status status;
    MPI_Send(&sent, 1, MPI_INT, (rank + 1) % ranks, 5, comm);
    MPI_Wait(&pending, &status);
    snprintf(current, sizeof current, "a receive that was pending meanwhile");
    if (stolen != 1000 + (rank + ranks - 1) % ranks || status.MPI_TAG != 5) {
        fail("another message", stolen);
    }
}

static int copies;

static int count_copy(MPI_Comm of, int key, void *extra, void *value, void *out, int *flag) {
    (void)of, (void)key, (void)extra;
    copies++;
    *(void **)out = value;
    *flag = 1;
    return MPI_SUCCESS;
}

/* Communicators are made and freed, so that MPI reuses their handles. */
static void many_communicators(void) {
    for (int i = 0; i < 30; i++) {
        MPI_Comm half;
        int me, all;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        MPI_Comm_size(MPI_COMM_WORLD, &all);
        MPI_Comm_split(MPI_COMM_WORLD, (me + i) % 2, -me, &half);
        comm = half;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        reductions(0, 40 + i, i % 2);
        MPI_Comm_free(&half);
    }
}

static void intercommunicator(void) {
    int me, all;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    if (all < 2) {
        return;
    }
    MPI_Comm half, inter;
    const int upper = me >= all / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : all / 2, 9, &inter);
    enum { N = 4096 };
    static int32_t mine[N], theirs[N];
    for (int i = 0; i < N; i++) {
        mine[i] = me + i;
    }
    snprintf(current, sizeof current, "allreduce on an intercommunicator");
    MPI_Allreduce(mine, theirs, N, MPI_INT, MPI_SUM, inter);
    const int first = upper ? 0 : all / 2, last = upper ? all / 2 : all;
    for (int i = 0; i < N; i++) {
        int32_t sum = 0;
        for (int of = first; of < last; of++) {
            sum += of + i;
        }
        if (theirs[i] != sum) {
            fail("wrong element", i);
        }
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int me, all, key;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &copies);

    kinds[0] = (Kind){"int sum", MPI_INT, MPI_SUM, 1, 4, 4};
    kinds[1] = (Kind){"maps composed", MPI_DATATYPE_NULL, MPI_OP_NULL, 0, 8, 8};
    kinds[2] = (Kind){"double_int maxloc", MPI_DOUBLE_INT, MPI_MAXLOC, 1, 12, (int)sizeof(Located)};
    MPI_Type_contiguous(2, MPI_INT, &kinds[1].type);
    MPI_Type_commit(&kinds[1].type);
    MPI_Op_create(compose, 0, &kinds[1].op);

    /* Contiguous; swapped; with holes, at the begin too. */
    MPI_Type_contiguous(2, MPI_INT, &layouts[0].type);
    layouts[0].slots = 2, layouts[0].first = 0, layouts[0].second = 1;
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 0}, MPI_INT, &layouts[1].type);
    layouts[1].slots = 2, layouts[1].first = 1, layouts[1].second = 0;
    MPI_Datatype sparse;
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 3}, MPI_INT, &sparse);
    MPI_Type_create_resized(sparse, 0, 20, &layouts[2].type);
    MPI_Type_free(&sparse);
    layouts[2].slots = 5, layouts[2].first = 1, layouts[2].second = 3;
    for (int i = 0; i < LAYOUTS; i++) {
        MPI_Type_commit(&layouts[i].type);
    }

    everything(MPI_COMM_WORLD);
    MPI_Comm other;
    if (all > 2) {
        MPI_Comm_split(MPI_COMM_WORLD, me < 2, -me, &other);
        everything(other);
        MPI_Comm_free(&other);
    }
    many_communicators();
    intercommunicator();
    if (copies != 0) {
        fail("attributes were copied, though nothing was duplicated", copies);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    comm = other;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    reductions(0, LARGE, 0);
    if (copies != 1) {
        fail("attributes were copied another number of times than communicators duplicated", copies);
    }
    MPI_Comm_free(&other);
    MPI_Comm_free_keyval(&key);

    for (int i = 0; me == 0 && i < kinds_of_call; i++) {
        printf("CALLS %s %d %ld %d %ld\n", calls[i].name, calls[i].ranks, calls[i].bytes, calls[i].commutes, calls[i].number);
    }
    if (me == 0) {
        printf("OK\n");
    }
    MPI_Finalize();
    return 0;
}
