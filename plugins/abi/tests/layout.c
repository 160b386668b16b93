/* Prints what the header says, for a comparison with the Rust side. */
#include "kilter_plugin.h"
#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(type, field))

int main(void) {
    printf("magic %llu\n", (unsigned long long)KILTER_PLUGIN_MAGIC);
    printf("abi_version %u\n", (unsigned)KILTER_ABI_VERSION);
    printf("mpi_identity %u\n", (unsigned)KILTER_MPI_IDENTITY);
    printf("needs_commutative %u\n", (unsigned)KILTER_NEEDS_COMMUTATIVE);
    printf("needs_power_of_two_ranks %u\n", (unsigned)KILTER_NEEDS_POWER_OF_TWO_RANKS);
    printf("needs_even_ranks %u\n", (unsigned)KILTER_NEEDS_EVEN_RANKS);
    printf("needs_int_volume %u\n", (unsigned)KILTER_NEEDS_INT_VOLUME);
    printf("needs_one_node %u\n", (unsigned)KILTER_NEEDS_ONE_NODE);
    printf("unavailable %d\n", KILTER_UNAVAILABLE);
    printf("allgather %d\n", KILTER_ALLGATHER);
    printf("allreduce %d\n", KILTER_ALLREDUCE);
    printf("bcast %d\n", KILTER_BCAST);
    printf("gather %d\n", KILTER_GATHER);
    printf("reduce %d\n", KILTER_REDUCE);
    printf("reduce_scatter %d\n", KILTER_REDUCE_SCATTER);
    printf("reduce_scatter_block %d\n", KILTER_REDUCE_SCATTER_BLOCK);
    printf("scan %d\n", KILTER_SCAN);
    printf("scatter %d\n", KILTER_SCATTER);
    printf("allgatherv %d\n", KILTER_ALLGATHERV);
    printf("alltoall %d\n", KILTER_ALLTOALL);
    printf("alltoallv %d\n", KILTER_ALLTOALLV);
    printf("barrier %d\n", KILTER_BARRIER);
    printf("exscan %d\n", KILTER_EXSCAN);
    printf("gatherv %d\n", KILTER_GATHERV);
    printf("scatterv %d\n", KILTER_SCATTERV);

    SIZE(kilter_parameter);
    FIELD(kilter_parameter, name);
    FIELD(kilter_parameter, min);
    FIELD(kilter_parameter, max);
    FIELD(kilter_parameter, default_value);

    SIZE(kilter_context);
    FIELD(kilter_context, struct_size);
    FIELD(kilter_context, rank);
    FIELD(kilter_context, size);
    FIELD(kilter_context, reserved);
    FIELD(kilter_context, comm);
    FIELD(kilter_context, state);
    FIELD(kilter_context, host);
    FIELD(kilter_context, grow);
    FIELD(kilter_context, call);

    SIZE(kilter_arguments);
    FIELD(kilter_arguments, struct_size);
    FIELD(kilter_arguments, collective);
    FIELD(kilter_arguments, algorithm);
    FIELD(kilter_arguments, send);
    FIELD(kilter_arguments, recv);
    FIELD(kilter_arguments, send_count);
    FIELD(kilter_arguments, recv_count);
    FIELD(kilter_arguments, send_type);
    FIELD(kilter_arguments, recv_type);
    FIELD(kilter_arguments, send_counts);
    FIELD(kilter_arguments, send_displacements);
    FIELD(kilter_arguments, recv_counts);
    FIELD(kilter_arguments, recv_displacements);
    FIELD(kilter_arguments, op);
    FIELD(kilter_arguments, root);
    FIELD(kilter_arguments, bytes);
    FIELD(kilter_arguments, parameters);

    SIZE(kilter_algorithm);
    FIELD(kilter_algorithm, id);
    FIELD(kilter_algorithm, collective);
    FIELD(kilter_algorithm, needs);
    FIELD(kilter_algorithm, parameter_count);
    FIELD(kilter_algorithm, reserved);
    FIELD(kilter_algorithm, parameters);
    FIELD(kilter_algorithm, data);
    FIELD(kilter_algorithm, run);

    SIZE(kilter_scratch);
    FIELD(kilter_scratch, is_known);
    FIELD(kilter_scratch, fixed_bytes);
    FIELD(kilter_scratch, bytes_per_rank);
    FIELD(kilter_scratch, volumes);
    FIELD(kilter_scratch, blocks);
    FIELD(kilter_scratch, segments);

    SIZE(kilter_plugin_v1);
    FIELD(kilter_plugin_v1, magic);
    FIELD(kilter_plugin_v1, abi_version);
    FIELD(kilter_plugin_v1, struct_size);
    FIELD(kilter_plugin_v1, mpi_identity);
    FIELD(kilter_plugin_v1, reserved);
    FIELD(kilter_plugin_v1, name);
    FIELD(kilter_plugin_v1, algorithms);
    FIELD(kilter_plugin_v1, release);
    FIELD(kilter_plugin_v1, scratch);
    return 0;
}
