//! Sizes and functions of a command that has a machine and a budget, and is told nothing else.

/// Sizes and functions, as `--sizes` and `--functions` have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Volumes.
    pub sizes: &'static str,
    /// Functions on left sides; empty for all.
    pub functions: &'static [&'static str],
}

/// Collectives in which applications spend most of their time in MPI.
const USUAL: &[&str] = &[
    "allgather",
    "allreduce",
    "alltoall",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter_block",
    "scatter",
];

/// From everything to the least that says anything; the first one for whose ends a budget has room is taken.
pub const EFFORTS: [Effort; 4] = [
    Effort {
        sizes: "1..1MiB:x4",
        functions: &[],
    },
    Effort {
        sizes: "1..1MiB:x4",
        functions: USUAL,
    },
    Effort {
        sizes: "8,512,8KiB,64KiB,1MiB",
        functions: USUAL,
    },
    Effort {
        sizes: "8,8KiB,256KiB",
        functions: &["allreduce", "bcast", "reduce"],
    },
];
