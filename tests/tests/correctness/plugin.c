/* A plugin with a row for each collective, which calls the library's own function. It is right, which proves the reference and the
 * arguments of all sixteen collectives. Compiled with one of these it is wrong in one way:
 *
 *   WRONG_BYTE   the allreduce has one wrong byte on the last rank, for counts above 4
 *   CRASHES      the broadcast of 3 ranks or more ends its process
 *   HANGS        the barrier's rank 0 never arrives
 *   HOLE         the scan writes into the hole of an element
 *   SENDS        the gather changes its send buffer
 *   ORDER        the reduction takes the contributions the wrong way round, which only shows where the operator does not commute
 */
#include "kilter_plugin.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int own(kilter_context *context, const kilter_arguments *a) {
    int narrow[4][64] = {{0}};
    const int64_t *wide[4] = {a->send_counts, a->send_displacements, a->recv_counts, a->recv_displacements};
    for (int list = 0; list < 4; list++) {
        for (int rank = 0; wide[list] != NULL && rank < context->size; rank++) {
            narrow[list][rank] = (int)wide[list][rank];
        }
    }
    const int *sc = narrow[0], *sd = narrow[1], *rc = narrow[2], *rd = narrow[3];
    const int send_count = (int)a->send_count, recv_count = (int)a->recv_count;
    const MPI_Comm comm = context->comm;
    switch (a->collective) {
    case KILTER_ALLGATHER:
        return PMPI_Allgather(a->send, send_count, a->send_type, a->recv, recv_count, a->recv_type, comm);
    case KILTER_ALLGATHERV:
        return PMPI_Allgatherv(a->send, send_count, a->send_type, a->recv, rc, rd, a->recv_type, comm);
    case KILTER_ALLREDUCE:
        return PMPI_Allreduce(a->send, a->recv, recv_count, a->recv_type, a->op, comm);
    case KILTER_ALLTOALL:
        return PMPI_Alltoall(a->send, send_count, a->send_type, a->recv, recv_count, a->recv_type, comm);
    case KILTER_ALLTOALLV:
        return PMPI_Alltoallv(a->send, sc, sd, a->send_type, a->recv, rc, rd, a->recv_type, comm);
    case KILTER_BARRIER:
#ifdef HANGS
        if (context->rank == 0) {
            for (;;) {
                pause();
            }
        }
#endif
        return PMPI_Barrier(comm);
    case KILTER_BCAST:
#ifdef CRASHES
        if (context->size >= 3) {
            raise(SIGKILL); /* Open MPI's handler of SIGSEGV returns once to where `raise` was called */
        }
#endif
        return PMPI_Bcast(a->recv, recv_count, a->recv_type, a->root, comm);
    case KILTER_EXSCAN:
        return PMPI_Exscan(a->send, a->recv, recv_count, a->recv_type, a->op, comm);
    case KILTER_GATHER:
        return PMPI_Gather(a->send, send_count, a->send_type, a->recv, recv_count, a->recv_type, a->root, comm);
    case KILTER_GATHERV:
        return PMPI_Gatherv(a->send, send_count, a->send_type, a->recv, rc, rd, a->recv_type, a->root, comm);
    case KILTER_REDUCE:
        return PMPI_Reduce(a->send, a->recv, recv_count, a->recv_type, a->op, a->root, comm);
    case KILTER_REDUCE_SCATTER:
        return PMPI_Reduce_scatter(a->send, a->recv, rc, a->recv_type, a->op, comm);
    case KILTER_REDUCE_SCATTER_BLOCK:
        return PMPI_Reduce_scatter_block(a->send, a->recv, recv_count, a->recv_type, a->op, comm);
    case KILTER_SCAN:
        return PMPI_Scan(a->send, a->recv, recv_count, a->recv_type, a->op, comm);
    case KILTER_SCATTER:
        return PMPI_Scatter(a->send, send_count, a->send_type, a->recv, recv_count, a->recv_type, a->root, comm);
    case KILTER_SCATTERV:
        return PMPI_Scatterv(a->send, sc, sd, a->send_type, a->recv, recv_count, a->recv_type, a->root, comm);
    default:
        return MPI_ERR_INTERN;
    }
}

/* Libraries write into holes of results; a row must not. So a reduction of a type with holes goes through memory of its own, and
 * only data is copied back. */
static int run(kilter_context *context, const kilter_arguments *a) {
    kilter_arguments call = *a;
    int packed = a->op != MPI_OP_NULL && a->recv != NULL;
    MPI_Aint lower = 0, extent = 0;
    size_t count = (size_t)a->recv_count;
    if (packed) {
        PMPI_Type_get_extent(a->recv_type, &lower, &extent);
        for (int rank = 0; a->recv_counts != NULL && rank < context->size; rank++) {
            count += (size_t)a->recv_counts[rank];
        }
        if (a->collective == KILTER_REDUCE_SCATTER_BLOCK) {
            count *= (size_t)context->size;
        }
        /* If the call is not in place, its receive buffer may be shorter: only the defined result is copied. */
        call.recv = calloc(count + 1, (size_t)extent);
        if (a->send == MPI_IN_PLACE) {
            memcpy(call.recv, a->recv, count * (size_t)extent);
        }
    }
    int code = own(context, &call);
    if (packed) {
        int results = (int)a->recv_count;
        if (a->recv_counts != NULL) {
            results = (int)a->recv_counts[context->rank];
        }
        if (a->collective != KILTER_EXSCAN || context->rank > 0) {
            PMPI_Sendrecv(call.recv, results, a->recv_type, 0, 9, a->recv, results, a->recv_type, 0, 9, MPI_COMM_SELF,
                          MPI_STATUS_IGNORE);
        }
        free(call.recv);
    }
#ifdef WRONG_BYTE
    if (a->collective == KILTER_ALLREDUCE && context->rank == context->size - 1 && a->recv_count > 4) {
        ((unsigned char *)a->recv)[(size_t)extent * 3 + 5 % (size_t)extent] ^= 1;
    }
#endif
#ifdef HOLE
    if (a->collective == KILTER_SCAN && extent == 32) {
        ((unsigned char *)a->recv)[9] ^= 1;
    }
#endif
#ifdef SENDS
    if (a->collective == KILTER_GATHER && a->send != MPI_IN_PLACE && a->send_count > 0) {
        ((unsigned char *)a->send)[a->send_type == MPI_INT ? 0 : 4] ^= 1;
    }
#endif
    return code;
}

#ifdef ORDER
static int reversed(kilter_context *context, const kilter_arguments *a) {
    MPI_Comm other;
    PMPI_Comm_split(context->comm, 0, -context->rank, &other);
    kilter_context turned = *context;
    kilter_arguments call = *a;
    turned.comm = other;
    call.root = context->size - 1 - a->root;
    int code = run(&turned, &call);
    PMPI_Comm_free(&other);
    return code;
}
#define REDUCE reversed
#else
#define REDUCE run
#endif

#define ROW(name, number, entry) {.id = name ".own", .collective = number, .run = entry}
static const kilter_algorithm rows[] = {
    ROW("allgather", KILTER_ALLGATHER, run),
    ROW("allgatherv", KILTER_ALLGATHERV, run),
    ROW("allreduce", KILTER_ALLREDUCE, run),
    ROW("alltoall", KILTER_ALLTOALL, run),
    ROW("alltoallv", KILTER_ALLTOALLV, run),
    ROW("barrier", KILTER_BARRIER, run),
    ROW("bcast", KILTER_BCAST, run),
    ROW("exscan", KILTER_EXSCAN, run),
    ROW("gather", KILTER_GATHER, run),
    ROW("gatherv", KILTER_GATHERV, run),
    ROW("reduce", KILTER_REDUCE, REDUCE),
    ROW("reduce_scatter", KILTER_REDUCE_SCATTER, run),
    ROW("reduce_scatter_block", KILTER_REDUCE_SCATTER_BLOCK, run),
    ROW("scan", KILTER_SCAN, run),
    ROW("scatter", KILTER_SCATTER, run),
    ROW("scatterv", KILTER_SCATTERV, run),
};

static const kilter_algorithm *algorithms(uint32_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const kilter_plugin_v1 kilter_plugin = {
    .magic = KILTER_PLUGIN_MAGIC,
    .abi_version = KILTER_ABI_VERSION,
    .struct_size = sizeof(kilter_plugin_v1),
    .mpi_identity = KILTER_MPI_IDENTITY,
    .name = "own",
    .algorithms = algorithms,
};
