//! Calls that an algorithm of MPICH can carry out, as tests of a selection file.
//!
//! MPICH checks an algorithm that a control variable asks for against the call and replaces it if it cannot carry the call out. An algorithm
//! that a selection file names is not checked: it runs, and fails an assertion or delivers wrong data. So the library's checks are written as
//! tests around the algorithm, and all other calls keep the library's own choice.
//!
//! Source: the list of restrictions in MPICH's `src/mpi/coll/coll_algorithms.txt`.

use kilter_algorithms::Collective;

use super::selection::Guard;

const COMMUTATIVE: Guard = Guard {
    holds: "is_commutative=yes",
    fails: "is_commutative=no",
};
const BUILT_IN: Guard = Guard {
    holds: "is_op_built_in=yes",
    fails: "is_op_built_in=no",
};
/// An element for each rank of the largest power of two.
const ENOUGH: Guard = Guard {
    holds: "count=any",
    fails: "count<pow2",
};
const PARENT: Guard = Guard {
    holds: "comm_hierarchy=parent",
    fails: "comm_hierarchy=any",
};
const REGULAR: Guard = Guard {
    holds: "is_block_regular=yes",
    fails: "is_block_regular=no",
};
const CONSECUTIVE: Guard = Guard {
    holds: "is_node_consecutive=yes",
    fails: "is_node_consecutive=no",
};
/// In place, the size of the send buffer is not significant either, so that sizes cannot be compared.
const SENT: Guard = Guard {
    holds: "is_sendbuf_inplace=no",
    fails: "is_sendbuf_inplace=yes",
};

/// Conditions on a call. `algorithm` is the value's name, such as `reduce_scatter_gather`. Which numbers of ranks it takes is
/// for the library's description: a rule is for one number.
#[must_use]
pub fn of(collective: Collective, algorithm: &str) -> Vec<Guard> {
    match (collective, algorithm) {
        (Collective::Alltoall | Collective::Alltoallv, _) => vec![SENT],
        (Collective::Barrier | Collective::Bcast, "smp") => vec![PARENT],
        (Collective::Scan, "smp") => vec![CONSECUTIVE],
        (Collective::Reduce | Collective::Allreduce, "smp") => vec![COMMUTATIVE, PARENT],
        (Collective::Reduce | Collective::Allreduce, "nb" | "binomial" | "recursive_doubling") => Vec::new(),
        (Collective::Reduce | Collective::Allreduce, name) if name.contains("reduce_scatter") => {
            vec![COMMUTATIVE, BUILT_IN, ENOUGH]
        }
        (Collective::Reduce | Collective::Allreduce, _) => vec![COMMUTATIVE],
        (Collective::ReduceScatter, "noncommutative") => vec![REGULAR],
        (
            Collective::ReduceScatter | Collective::ReduceScatterBlock,
            "nb" | "noncommutative" | "recursive_doubling",
        ) => Vec::new(),
        (Collective::ReduceScatter | Collective::ReduceScatterBlock, _) => vec![COMMUTATIVE],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_would_not_check_is_checked_by_the_file() {
        for (collective, algorithm, holds) in [
            (
                Collective::Reduce,
                "reduce_scatter_gather",
                &["is_commutative=yes", "is_op_built_in=yes", "count=any"][..],
            ),
            (Collective::Allreduce, "recursive_doubling", &[]),
            (Collective::Allreduce, "ring", &["is_commutative=yes"]),
            (Collective::ReduceScatter, "noncommutative", &["is_block_regular=yes"]),
            (Collective::ReduceScatterBlock, "pairwise", &["is_commutative=yes"]),
            (Collective::Alltoall, "nb", &["is_sendbuf_inplace=no"]),
            (Collective::Bcast, "smp", &["comm_hierarchy=parent"]),
            (Collective::Bcast, "binomial", &[]),
            (Collective::Gather, "nb", &[]),
        ] {
            let found: Vec<&str> = of(collective, algorithm).iter().map(|guard| guard.holds).collect();
            assert_eq!(found, holds, "{collective} {algorithm}");
        }
    }
}
