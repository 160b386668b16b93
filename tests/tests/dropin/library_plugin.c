/* A plugin with a row for every collective, which passes the call on to the library unchanged. The library's results show if the
 * drop-in passed the arguments on correctly. */
#include "kilter_plugin.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The library's functions take ints. */
static int narrow(kilter_context *context, int64_t number) {
    if (number > INT_MAX || number < INT_MIN) {
        fprintf(stderr, "library_plugin: a count beyond an int\n");
        PMPI_Abort(context->comm, 5);
    }
    return (int)number;
}

/* The k-th list of four, as ints. */
static int *list(kilter_context *context, int k, const int64_t *from) {
    if (from == NULL) {
        return NULL;
    }
    int *lists = context->grow(context, 4 * sizeof(int) * (size_t)context->size);
    int *to = lists + k * context->size;
    for (int i = 0; i < context->size; i++) {
        to[i] = narrow(context, from[i]);
    }
    return to;
}

static int run(kilter_context *c, const kilter_arguments *a) {
    const int of_all = a->collective == KILTER_GATHERV || a->collective == KILTER_SCATTERV;
    int *counts_out = list(c, 0, a->send_counts), *places_out = list(c, 1, a->send_displacements);
    int *counts_in = list(c, 2, a->recv_counts), *places_in = list(c, 3, a->recv_displacements);
    /* Arguments that MPI ignores on a rank may be anything. */
    const int out = (int)a->send_count, in = (int)a->recv_count;
    if (of_all && (c->rank != a->root) != (counts_out == NULL && counts_in == NULL)) {
        fprintf(stderr, "library_plugin: the root alone has lists\n");
        PMPI_Abort(c->comm, 5);
    }
    switch ((enum kilter_collective)a->collective) {
    case KILTER_ALLGATHER:
        return PMPI_Allgather(a->send, out, a->send_type, a->recv, in, a->recv_type, c->comm);
    case KILTER_ALLREDUCE:
        return PMPI_Allreduce(a->send, a->recv, in, a->recv_type, a->op, c->comm);
    case KILTER_BCAST:
        return PMPI_Bcast(a->recv, in, a->recv_type, a->root, c->comm);
    case KILTER_GATHER:
        return PMPI_Gather(a->send, out, a->send_type, a->recv, in, a->recv_type, a->root, c->comm);
    case KILTER_REDUCE:
        return PMPI_Reduce(a->send, a->recv, in, a->recv_type, a->op, a->root, c->comm);
    case KILTER_REDUCE_SCATTER:
        return PMPI_Reduce_scatter(a->send, a->recv, counts_in, a->recv_type, a->op, c->comm);
    case KILTER_REDUCE_SCATTER_BLOCK:
        return PMPI_Reduce_scatter_block(a->send, a->recv, in, a->recv_type, a->op, c->comm);
    case KILTER_SCAN:
        return PMPI_Scan(a->send, a->recv, in, a->recv_type, a->op, c->comm);
    case KILTER_SCATTER:
        return PMPI_Scatter(a->send, out, a->send_type, a->recv, in, a->recv_type, a->root, c->comm);
    case KILTER_ALLGATHERV:
        return PMPI_Allgatherv(a->send, out, a->send_type, a->recv, counts_in, places_in, a->recv_type, c->comm);
    case KILTER_ALLTOALL:
        return PMPI_Alltoall(a->send, out, a->send_type, a->recv, in, a->recv_type, c->comm);
    case KILTER_ALLTOALLV:
        return PMPI_Alltoallv(a->send, counts_out, places_out, a->send_type, a->recv, counts_in, places_in, a->recv_type,
                              c->comm);
    case KILTER_BARRIER:
        return PMPI_Barrier(c->comm);
    case KILTER_EXSCAN:
        return PMPI_Exscan(a->send, a->recv, in, a->recv_type, a->op, c->comm);
    case KILTER_GATHERV:
        return PMPI_Gatherv(a->send, out, a->send_type, a->recv, counts_in, places_in, a->recv_type, a->root, c->comm);
    case KILTER_SCATTERV:
        return PMPI_Scatterv(a->send, counts_out, places_out, a->send_type, a->recv, in, a->recv_type, a->root, c->comm);
    }
    return MPI_ERR_OTHER;
}

#define ROW(name, number) {.id = name ".library", .collective = number, .needs = KILTER_NEEDS_INT_VOLUME, .run = run}

static const kilter_algorithm rows[] = {
    ROW("allgather", KILTER_ALLGATHER),
    ROW("allgatherv", KILTER_ALLGATHERV),
    ROW("allreduce", KILTER_ALLREDUCE),
    ROW("alltoall", KILTER_ALLTOALL),
    ROW("alltoallv", KILTER_ALLTOALLV),
    ROW("barrier", KILTER_BARRIER),
    ROW("bcast", KILTER_BCAST),
    ROW("exscan", KILTER_EXSCAN),
    ROW("gather", KILTER_GATHER),
    ROW("gatherv", KILTER_GATHERV),
    ROW("reduce", KILTER_REDUCE),
    ROW("reduce_scatter", KILTER_REDUCE_SCATTER),
    ROW("reduce_scatter_block", KILTER_REDUCE_SCATTER_BLOCK),
    ROW("scan", KILTER_SCAN),
    ROW("scatter", KILTER_SCATTER),
    ROW("scatterv", KILTER_SCATTERV),
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
    .name = "library",
    .algorithms = algorithms,
};
