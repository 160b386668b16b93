/* A plugin that is wrong in one way, chosen when it is compiled. */
#include "kilter_plugin.h"

#include <stdio.h>

#ifndef MAGIC
#define MAGIC KILTER_PLUGIN_MAGIC
#endif
#ifndef ABI_VERSION
#define ABI_VERSION KILTER_ABI_VERSION
#endif
#ifndef IDENTITY
#define IDENTITY KILTER_MPI_IDENTITY
#endif
#ifndef SIZE
#define SIZE sizeof(kilter_plugin_v1)
#endif

static int run(kilter_context *context, const kilter_arguments *arguments) {
    (void)arguments;
#ifdef FAILS
    return MPI_ERR_INTERN; /* on all ranks */
#endif
    return PMPI_Abort(context->comm, 4);
}

static const kilter_algorithm rows[] = {
    {
#ifdef BAD_ID
        .id = "reduce.something",
#else
        .id = "bcast.example_chain",
#endif
        .collective = KILTER_BCAST,
#ifdef BAD_NEEDS
        .needs = UINT32_C(1) << 20,
#endif
        .run = run,
    },
};

static const kilter_algorithm *algorithms(uint32_t *count) {
    fprintf(stderr, "the foreign plugin was called\n");
    *count = 1;
    return rows;
}

#ifdef NO_SYMBOL
#define kilter_plugin another_name
#endif
const kilter_plugin_v1 kilter_plugin = {
    .magic = MAGIC,
    .abi_version = ABI_VERSION,
    .struct_size = SIZE,
    .mpi_identity = IDENTITY,
    .name = "foreign",
    .algorithms = algorithms,
};
