/* Counts heap allocations in collective calls, in all calls but the first, by who makes them.
 *
 *     allocations COLLECTIVE:COUNT:KIND ...
 *
 * KIND: plain; in_place; derived (a type with a hole); own_operator (of the program's); turns (COUNT, 2 COUNT ... 5 COUNT, in turn).
 * The volume is COUNT elements of 4 bytes, or of 8 if derived, times the number of ranks where the collective has blocks. Rank 0
 * prints, summed over ranks,
 *     FIRST <allocations of Kilter's in the first calls of all>
 *     COUNTED <argument> <allocations of Kilter's> <allocations of others> in the further calls
 *
 * An allocation is attributed to the innermost shared object on the stack that is neither this program nor the C library. So allocations
 * that the MPI library makes in calls by Kilter count as the library's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 10, MOST_ITEMS = 1024, BUFFER_BYTES = 1 << 18, MOST_RANKS = 8 };

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static volatile int counting;
static __thread int inside;
static long of_kilter, of_others;
static void *this_program;

static int is_between(const char *name) {
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
           strncmp(name, "libgcc_s", 8) == 0;
}

__attribute__((noinline)) static void count(void) {
    if (!counting || inside) {
        return;
    }
    inside = 1;
    void *frames[32];
    const int depth = backtrace(frames, 32);
    long *whose = &of_others;
    for (int i = 0; i < depth; i++) {
        Dl_info info;
        if (!dladdr(frames[i], &info) || info.dli_fname == NULL || info.dli_fbase == this_program) {
            continue;
        }
        const char *slash = strrchr(info.dli_fname, '/');
        const char *name = slash ? slash + 1 : info.dli_fname;
        if (!is_between(name)) {
            whose = strncmp(name, "libkilter", 9) == 0 ? &of_kilter : &of_others;
            break;
        }
    }
    __atomic_fetch_add(whose, 1, __ATOMIC_RELAXED);
    inside = 0;
}

/* Interposes the C library's malloc for every object of the process. */
void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count();
    void *made = __libc_memalign(alignment, size);
    if (made == NULL) {
        return ENOMEM;
    }
    *memory = made;
    return 0;
}

static int rank, ranks;
static char out[BUFFER_BYTES], in[BUFFER_BYTES];
static int counts[MOST_RANKS], places[MOST_RANKS];
static MPI_Datatype derived;
static MPI_Op own_operator;

static void add(void *lower, void *upper, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((int *)upper)[i] += ((int *)lower)[i];
    }
}

static int call(const char *name, int n, MPI_Datatype type, MPI_Op op, int in_place) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    const void *send = in_place ? MPI_IN_PLACE : out;
    const void *send_of_root = in_place && rank == 0 ? MPI_IN_PLACE : out;
    for (int i = 0; i < ranks; i++) {
        counts[i] = n;
        places[i] = i * n;
    }
    if (!strcmp(name, "allgather")) return MPI_Allgather(send, n, type, in, n, type, comm);
    if (!strcmp(name, "allgatherv")) return MPI_Allgatherv(send, n, type, in, counts, places, type, comm);
    if (!strcmp(name, "allreduce")) return MPI_Allreduce(send, in, n, type, op, comm);
    if (!strcmp(name, "alltoall")) return MPI_Alltoall(send, n, type, in, n, type, comm);
    if (!strcmp(name, "alltoallv")) return MPI_Alltoallv(send, counts, places, type, in, counts, places, type, comm);
    if (!strcmp(name, "barrier")) return MPI_Barrier(comm);
    if (!strcmp(name, "bcast")) return MPI_Bcast(in, n, type, 0, comm);
    if (!strcmp(name, "exscan")) return MPI_Exscan(send, in, n, type, op, comm);
    if (!strcmp(name, "gather")) return MPI_Gather(send_of_root, n, type, in, n, type, 0, comm);
    if (!strcmp(name, "gatherv")) return MPI_Gatherv(send_of_root, n, type, in, counts, places, type, 0, comm);
    if (!strcmp(name, "reduce")) return MPI_Reduce(send_of_root, in, n, type, op, 0, comm);
    if (!strcmp(name, "reduce_scatter")) return MPI_Reduce_scatter(send, in, counts, type, op, comm);
    if (!strcmp(name, "reduce_scatter_block")) return MPI_Reduce_scatter_block(send, in, n, type, op, comm);
    if (!strcmp(name, "scan")) return MPI_Scan(send, in, n, type, op, comm);
    void *recv_of_root = in_place && rank == 0 ? MPI_IN_PLACE : in;
    if (!strcmp(name, "scatter")) return MPI_Scatter(out, n, type, recv_of_root, n, type, 0, comm);
    if (!strcmp(name, "scatterv")) return MPI_Scatterv(out, counts, places, type, recv_of_root, n, type, 0, comm);
    fprintf(stderr, "allocations: no collective `%s`\n", name);
    return MPI_Abort(comm, 2);
}

int main(int argc, char **argv) {
    static long found[2 * MOST_ITEMS + 1];
    Dl_info own;
    void *frame[1];
    this_program = dladdr((void *)main, &own) ? own.dli_fbase : NULL;
    backtrace(frame, 1); /* loads what it needs */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_vector(2, 1, 2, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    MPI_Op_create(add, 1, &own_operator);
    const int items = argc - 1;
    if (items > MOST_ITEMS || ranks > MOST_RANKS) {
        fprintf(stderr, "allocations: at most %d arguments and %d ranks\n", MOST_ITEMS, MOST_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int item = 0; item < items; item++) {
        char name[32], kind[32];
        int n;
        if (sscanf(argv[item + 1], "%31[^:]:%d:%31s", name, &n, kind) != 3 || 5L * n * ranks * 12 > BUFFER_BYTES) {
            fprintf(stderr, "allocations: `%s` is not COLLECTIVE:COUNT:KIND, or too large\n", argv[item + 1]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        MPI_Datatype type = strcmp(kind, "derived") ? MPI_INT : derived;
        MPI_Op op = strcmp(kind, "own_operator") ? MPI_SUM : own_operator;
        const int in_place = !strcmp(kind, "in_place"), turns = strcmp(kind, "turns") ? 1 : 5;
        for (int again = 0; again < 2; again++) {
            of_kilter = of_others = 0;
            counting = 1;
            /* All scratch is allocated after the second turn. */
            const int first = turns > 1 ? 2 : 1, rounds = again ? CALLS + 1 - first : first;
            for (int i = 0; i < rounds * turns; i++) {
                call(name, n * (i % turns + 1), type, op, in_place);
            }
            counting = 0;
            if (again) {
                found[2 * item] = of_kilter;
                found[2 * item + 1] = of_others;
            } else {
                found[2 * items] += of_kilter;
            }
        }
    }
    if (rank > 0) {
        MPI_Send(found, 2 * items + 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    }
    for (int from = 1; rank == 0 && from < ranks; from++) {
        static long theirs[2 * MOST_ITEMS + 1];
        MPI_Recv(theirs, 2 * items + 1, MPI_LONG, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i <= 2 * items; i++) {
            found[i] += theirs[i];
        }
    }
    if (rank == 0) {
        printf("FIRST %ld\n", found[2 * items]);
    }
    for (int item = 0; rank == 0 && item < items; item++) {
        printf("COUNTED %s %ld %ld\n", argv[item + 1], found[2 * item], found[2 * item + 1]);
    }
    MPI_Op_free(&own_operator);
    MPI_Type_free(&derived);
    MPI_Finalize();
    return 0;
}
