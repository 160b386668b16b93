/* The C ABI between Kilter's drop-in and its algorithm plugins, version 2.
 *
 * A plugin is a shared object with one exported symbol, the object `kilter_plugin`. A profile names the file. The
 * drop-in opens it (RTLD_NOW | RTLD_LOCAL) and reads the first 24 bytes of `kilter_plugin`. It calls the plugin only if magic,
 * ABI version, size and MPI identity are those of this header. It then asks for the rows once. The folder `plugins/example`
 * has a complete plugin in C and in Rust, and says how to write another.
 *
 * Rules for plugins:
 *  - Call PMPI_* only. The names MPI_* may be the drop-in's own.
 *  - Never let an exception or panic leave a function of yours. Never return an error on one rank alone: the other ranks
 *    would wait for ever. If one rank cannot go on, call PMPI_Abort on the context's communicator.
 *  - Whatever you return a pointer to lives until the process ends. Free only what you allocated.
 *  - Calls on one communicator follow each other; calls on different communicators may come from different threads at once.
 *  - A row that is made of collectives of its own asks the context to carry them out (`call`), so that it runs what is deployed for them.
 *  - Fields may be added at the end of a structure in later versions of the ABI that keep its version number; `struct_size`
 *    tells how much the other side knows.
 */
#ifndef KILTER_PLUGIN_H
#define KILTER_PLUGIN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILTER_PLUGIN_MAGIC UINT64_C(0x314e4752544c4b7f)
#define KILTER_ABI_VERSION UINT32_C(2)

/* The ABI of the MPI handles in the structures below: 1 for Open MPI (handles are pointers), 2 for MPICH and its descendants
 * (handles are integers), combined with the size of a handle. */
#define KILTER_MPI_IDENTITY \
    ((uint32_t)((sizeof(MPI_Comm) == sizeof(void *) ? 1u : 2u) << 16 | (uint32_t)sizeof(MPI_Comm)))

/* The collective that a row implements. */
enum kilter_collective {
    KILTER_ALLGATHER = 0,
    KILTER_ALLREDUCE = 1,
    KILTER_BCAST = 2,
    KILTER_GATHER = 3,
    KILTER_REDUCE = 4,
    KILTER_REDUCE_SCATTER = 5,
    KILTER_REDUCE_SCATTER_BLOCK = 6,
    KILTER_SCAN = 7,
    KILTER_SCATTER = 8,
    KILTER_ALLGATHERV = 9,
    KILTER_ALLTOALL = 10,
    KILTER_ALLTOALLV = 11,
    KILTER_BARRIER = 12,
    KILTER_EXSCAN = 13,
    KILTER_GATHERV = 14,
    KILTER_SCATTERV = 15
};

/* Requirements of a row on a call, as bits of kilter_algorithm.needs. The drop-in calls the row only if they are met. */
#define KILTER_NEEDS_COMMUTATIVE UINT32_C(1)
#define KILTER_NEEDS_POWER_OF_TWO_RANKS UINT32_C(2)
#define KILTER_NEEDS_EVEN_RANKS UINT32_C(4)
/* `bytes` is at most INT_MAX: for a row that makes library calls with int counts. */
#define KILTER_NEEDS_INT_VOLUME UINT32_C(8)
/* All ranks of the communicator are on one node: for a row that uses memory they share. */
#define KILTER_NEEDS_ONE_NODE UINT32_C(16)
/* The operator is predefined by MPI, or the number of elements is a multiple of the number of ranks: for a row that pads with elements of
 * its own. The program's own operators must not see such elements. */
#define KILTER_NEEDS_PREDEFINED_OPERATOR UINT32_C(32)

/* Return value of a row that cannot run on this communicator, for example because its ranks share no memory. The row must return
 * it on all ranks and must leave the data of the call as it was. The drop-in then uses the library's own function, and does not
 * call the row on the communicator again. */
#define KILTER_UNAVAILABLE (-1)

/* An ordered tunable of a row. */
typedef struct kilter_parameter {
    const char *name; /* as in profiles, with its unit, such as "segment_bytes" */
    uint64_t min;
    uint64_t max;
    uint64_t default_value;
} kilter_parameter;

struct kilter_algorithm;
struct kilter_arguments;

/* One communicator, as the plugin sees it. */
typedef struct kilter_context {
    uint32_t struct_size;
    int32_t rank;
    int32_t size;
    uint32_t reserved;
    MPI_Comm comm; /* private: the ranks of the program's communicator, only the plugin's messages; errors are returned */
    /* A plugin that makes communicators of its own out of it names them `kilter_private` (MPI_Comm_set_name) before their
     * first collective call: the drop-in leaves the calls on them to the library. */
    void *state;   /* the plugin's state for this communicator; NULL at first; see kilter_plugin.release */
    void *host;    /* the drop-in's state; leave it alone */
    /* Scratch of at least `bytes` bytes, aligned for any type, kept until the communicator is freed; the next call for the
     * same context replaces it. NULL without memory. Optional: a plugin may keep its own scratch in `state`. */
    void *(*grow)(struct kilter_context *context, size_t bytes);
    /* Carries the call `inner` out on `comm` as it is deployed there: with the row that the profile has for its collective and its
     * volume. `under_way` is the call that the plugin is in. `inner` is filled as a program's call is; its `algorithm` and `parameters` are not
     * looked at, and its buffers may be any memory of the plugin's or the program's. Every rank of `comm` makes the same call. Returns
     * MPI_SUCCESS, an error code, or KILTER_UNAVAILABLE on all ranks alike: no row is deployed for such a call, or its requirements are
     * not met, or too many calls are under way inside each other; nothing was done, and the plugin makes the library's own call (PMPI_*).
     * Optional: NULL where nothing is deployed. A host that was built before this field was added has a smaller struct_size. */
    int (*call)(struct kilter_context *context, const struct kilter_arguments *under_way, const struct kilter_arguments *inner);
} kilter_context;

/* One call. Buffers, counts, displacements and types are the program's, whether it called MPI_X or the large count form
 * MPI_X_c. MPI_IN_PLACE is passed on; counts, displacements and types that MPI then ignores may be anything. Each collective
 * sets the fields below; all others are NULL, 0 or a null handle:
 *
 *   allgather, alltoall   send, send_count, send_type; recv, recv_count, recv_type (counts of one block)
 *   allgatherv            send, send_count, send_type; recv, recv_counts, recv_displacements, recv_type
 *   allreduce, exscan, scan  send, recv, recv_count, recv_type, op
 *   alltoallv             send, send_counts, send_displacements, send_type; the same with recv
 *   barrier               nothing
 *   bcast                 recv, recv_count, recv_type, root
 *   gather, scatter       send, send_count, send_type, recv, recv_count, recv_type, root (counts of one block; arguments
 *                         that MPI ignores on a rank may be anything)
 *   gatherv               send, send_count, send_type, root; at the root recv, recv_counts, recv_displacements, recv_type
 *   reduce                send, recv, recv_count, recv_type, op, root (recv may be anything away from the root)
 *   reduce_scatter        send, recv, recv_counts (one for each rank), recv_type, op
 *   reduce_scatter_block  send, recv, recv_count (of one block), recv_type, op
 *   scatterv              recv, recv_count, recv_type, root; at the root send, send_counts, send_displacements, send_type
 *
 * `bytes` is the total volume n, the same on all ranks and at least 1. It is 0 for alltoallv, gatherv and scatterv, whose
 * volume not all ranks know, and for barrier. It may be larger than INT_MAX.
 *
 * Types may be derived. The type of a reduction has its data within its extent. */
typedef struct kilter_arguments {
    uint32_t struct_size;
    uint32_t collective; /* enum kilter_collective */
    const struct kilter_algorithm *algorithm; /* the row that is called */
    const void *send;
    void *recv;
    int64_t send_count;
    int64_t recv_count;
    MPI_Datatype send_type;
    MPI_Datatype recv_type;
    const int64_t *send_counts;        /* one for each rank */
    const int64_t *send_displacements; /* one for each rank, in extents of send_type */
    const int64_t *recv_counts;        /* one for each rank */
    const int64_t *recv_displacements; /* one for each rank, in extents of recv_type */
    MPI_Op op;
    int32_t root;
    uint64_t bytes;
    const uint64_t *parameters; /* one value for each row of algorithm->parameters, within its range */
} kilter_arguments;

/* A row: one way to carry out a collective. */
typedef struct kilter_algorithm {
    const char *id; /* "<collective>.<name>", unique among the plugins of a profile */
    uint32_t collective; /* enum kilter_collective */
    uint32_t needs;      /* KILTER_NEEDS_* */
    uint32_t parameter_count;
    uint32_t reserved;
    const kilter_parameter *parameters;
    const void *data; /* the plugin's own */
    /* Carries the call out on this rank; every rank of the communicator makes the call. Returns MPI_SUCCESS,
     * KILTER_UNAVAILABLE, or an error code, which the drop-in raises on the program's communicator. */
    int (*run)(kilter_context *context, const kilter_arguments *arguments);
} kilter_algorithm;

/* Upper bound of the scratch that a row keeps on any rank, by `grow` or by itself, for calls of a total volume of n bytes on p ranks: the
 * sum of these terms. */
typedef struct kilter_scratch {
    uint64_t is_known;       /* 1; 0 if the row gives no bound */
    uint64_t fixed_bytes;
    uint64_t bytes_per_rank; /* times p */
    uint64_t volumes;        /* times n */
    uint64_t blocks;         /* times n / p, which is rounded up to a multiple of 32, and is n at most */
    uint64_t segments;       /* times the row's parameter "segment_bytes", which is n at most; times n where it has none */
} kilter_scratch;

/* The exported object. */
typedef struct kilter_plugin_v1 {
    uint64_t magic;        /* KILTER_PLUGIN_MAGIC */
    uint32_t abi_version;  /* KILTER_ABI_VERSION */
    uint32_t struct_size;  /* sizeof(kilter_plugin_v1) */
    uint32_t mpi_identity; /* KILTER_MPI_IDENTITY */
    uint32_t reserved;
    const char *name;
    /* The rows and their number; called once, after all checks, at the program's first collective. NULL: none. */
    const kilter_algorithm *(*algorithms)(uint32_t *count);
    /* Frees context->state. Must not be NULL if the plugin keeps any. All ranks of context->comm call it together before the
       communicator is freed, at the latest at the beginning of MPI_Finalize; so it may make collective calls, such as
       MPI_Win_free. */
    void (*release)(kilter_context *context);
    /* The scratch of the rows, one entry for each row in their order, and the number of entries; called once, after `algorithms`. NULL: no
       row gives a bound, and none is a candidate under a limit on scratch (kilter tune --scratch-limit). Plugins that were built before
       this field was added have a smaller struct_size; their rows give no bound either. */
    const kilter_scratch *(*scratch)(uint32_t *count);
} kilter_plugin_v1;

/* The symbol a plugin defines. */
extern const kilter_plugin_v1 kilter_plugin;

#ifdef __cplusplus
}
#endif

#endif
