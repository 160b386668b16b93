/* A plugin in C: one broadcast, along a chain of ranks, in segments.
 *
 *   mpicc -O2 -shared -fPIC -I ../../abi/include kilter_plugin.c -o libkilter_example.so
 *
 * Rank root + i receives each segment from rank root + i - 1 and sends it on to rank root + i + 1, so that segments follow
 * each other: p - 2 + s rounds for s segments, where a segment has n / s bytes.
 */
#include "kilter_plugin.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1 };

/* Ranks cannot go on alone: an error on one of them ends the job. */
static void must(int code, kilter_context *context, const char *what) {
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "bcast.example_chain: rank %d: %s failed with code %d\n", (int)context->rank, what, code);
        PMPI_Abort(context->comm, code);
    }
}

static int chain(kilter_context *context, const kilter_arguments *arguments) {
    const int p = context->size;
    const int place = (context->rank - arguments->root + p) % p;
    const int before = (context->rank - 1 + p) % p;
    const int after = (context->rank + 1) % p;
    const int n = (int)arguments->bytes;
    const uint64_t wanted = arguments->parameters[0];
    const int segment = wanted < arguments->bytes ? (int)wanted : n;
    int position = 0;

    if (arguments->bytes > INT_MAX || arguments->recv_count > INT_MAX) {
        must(MPI_ERR_COUNT, context, "a broadcast of more than INT_MAX bytes; give its rule a smaller max_bytes:");
    }
    /* The type may be derived, and may differ between ranks. So the data travels as packed bytes. */
    char *packed = context->grow(context, (size_t)n);
    if (packed == NULL) {
        must(MPI_ERR_NO_MEM, context, "allocating scratch");
        return MPI_ERR_NO_MEM;
    }
    if (place == 0) {
        must(PMPI_Pack(arguments->recv, (int)arguments->recv_count, arguments->recv_type, packed, n, &position, context->comm),
             context, "PMPI_Pack");
    }
    for (int begin = 0; begin < n; begin += segment) {
        const int length = n - begin < segment ? n - begin : segment;
        if (place > 0) {
            must(PMPI_Recv(packed + begin, length, MPI_PACKED, before, TAG, context->comm, MPI_STATUS_IGNORE), context,
                 "PMPI_Recv");
        }
        if (place < p - 1) {
            must(PMPI_Send(packed + begin, length, MPI_PACKED, after, TAG, context->comm), context, "PMPI_Send");
        }
    }
    if (place > 0) {
        must(PMPI_Unpack(packed, n, &position, arguments->recv, (int)arguments->recv_count, arguments->recv_type,
                         context->comm),
             context, "PMPI_Unpack");
    }
    return MPI_SUCCESS;
}

static const kilter_parameter chain_parameters[] = {
    {.name = "segment_bytes", .min = 1, .max = UINT64_C(1) << 30, .default_value = 8192},
};

static const kilter_algorithm rows[] = {
    {
        .id = "bcast.example_chain",
        .collective = KILTER_BCAST,
        .needs = KILTER_NEEDS_INT_VOLUME, /* PMPI_Pack and PMPI_Send take ints */
        .parameter_count = 1,
        .parameters = chain_parameters,
        .run = chain,
    },
};

static const kilter_algorithm *algorithms(uint32_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

/* Scratch that each row takes from `grow`. The chain takes the whole volume, for a packed copy. */
static const kilter_scratch scratch_of_rows[sizeof rows / sizeof rows[0]] = {
    {.is_known = 1, .volumes = 1},
};

static const kilter_scratch *scratch(uint32_t *count) {
    *count = sizeof scratch_of_rows / sizeof scratch_of_rows[0];
    return scratch_of_rows;
}

const kilter_plugin_v1 kilter_plugin = {
    .magic = KILTER_PLUGIN_MAGIC,
    .abi_version = KILTER_ABI_VERSION,
    .struct_size = sizeof(kilter_plugin_v1),
    .mpi_identity = KILTER_MPI_IDENTITY,
    .name = "example",
    .algorithms = algorithms,
    .scratch = scratch,
};
