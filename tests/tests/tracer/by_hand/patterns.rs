//! The patterns of `fixtures/by_hand`, with the collectives that they are.

use kilter_detect::model::finding::Collective::{self, *};
use kilter_detect::model::finding::{Confidence, Root};

/// Collective that a pattern is. Bytes and times depend on the number of ranks.
pub(super) struct Has {
    pub(super) collective: Collective,
    pub(super) root: Root,
    pub(super) bytes: u64,
    /// True if bytes are told by chunks, and so only about right.
    pub(super) about: bool,
    pub(super) times: usize,
    pub(super) least: Confidence,
    /// Ranks of the communicator that take part.
    pub(super) ranks: u64,
}

/// Occurrences of each pattern.
const TIMES: usize = 4;

/// Bytes of a block of the patterns in C, and of their parts of reductions.
const BLOCK: u64 = 1200 * 8;
const FEW: u64 = 60 * 8;

/// Bytes of a block of the patterns in Fortran, and of their parts of reductions.
const FORTRAN_BLOCK: u64 = 1000 * 8;
const FORTRAN_FEW: u64 = 40 * 8;

fn has(collective: Collective, root: Root, bytes: u64, ranks: u64) -> Has {
    Has {
        collective,
        root,
        bytes,
        about: false,
        times: TIMES,
        least: Confidence::Likely,
        ranks,
    }
}

impl Has {
    fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    fn least(self, least: Confidence) -> Self {
        Self { least, ..self }
    }

    fn about(self) -> Self {
        Self { about: true, ..self }
    }
}

/// The collectives of a pattern in C on so many ranks; none of one that only looks like a collective. `None` if there is no such pattern.
pub(super) fn in_c(name: &str, ranks: u64) -> Option<Vec<Has>> {
    let bcast = |root: u64, bytes: u64| has(Broadcast, Root::One(root as u32), bytes, ranks);
    let rooted = |collective: Collective, root: u64| has(collective, Root::One(root as u32), BLOCK, ranks);
    let of_all = |collective: Collective| has(collective, Root::None, BLOCK, ranks);
    let reduced = |collective: Collective| has(collective, Root::None, FEW, ranks);
    let one = |has: Has| Some(vec![has]);
    match name {
        "bcast_linear" | "bcast_pipeline" | "bcast_noise" | "bcast_persistent" | "bcast_probed" | "bcast_polled"
        | "bcast_derived" | "bcast_two_levels" => one(bcast(0, BLOCK).least(Confidence::Certain)),
        "bcast_nonblocking" => one(bcast(1, BLOCK).least(Confidence::Certain)),
        "bcast_binomial" => one(bcast(2, BLOCK).least(Confidence::Certain)),
        "bcast_ring" => one(bcast(ranks - 1, BLOCK).least(Confidence::Certain)),
        "bcast_redundant" => one(Has {
            root: Root::Either(vec![0, 1]),
            ..bcast(0, BLOCK)
        }),
        "bcast_repeated" => one(bcast(0, BLOCK).times(2 * TIMES)),
        "bcast_nested" => Some(vec![
            bcast(0, 40 * 8),
            Has {
                root: Root::Varies,
                ..bcast(0, BLOCK).times(TIMES * (ranks as usize - 1))
            },
        ]),
        "bcast_scatter_allgather" => one(bcast(0, BLOCK / 8 / ranks * ranks * 8)),
        "bcast_turns" => one(Has {
            root: Root::Varies,
            ..bcast(0, BLOCK)
        }),
        "bcast_number" => one(bcast(0, 8)),
        // Among two ranks any message is a broadcast.
        "bcast_most" => Some(
            (ranks > 3)
                .then(|| Has {
                    ranks: ranks - 1,
                    ..bcast(0, BLOCK)
                })
                .into_iter()
                .collect(),
        ),
        "gather_linear" | "gather_probed" | "gather_columns" | "gather_ring" => one(rooted(Gather, 0)),
        // Blocks of which a tree's ranks pass on several.
        "gather_binomial" => one(rooted(Gather, 0).least(Confidence::Possible)),
        "gather_nonblocking" => one(rooted(Gather, 1)),
        "gatherv_linear" => one(Has {
            bytes: 800 * ranks,
            ..rooted(Gather, 0)
        }),
        "gather_rows" | "gather_shuffled" => one(rooted(Gather, 0)),
        "scatter_records" => one(Has {
            bytes: 100 * 13,
            ..rooted(Scatter, 0)
        }),
        "scatter_linear" | "scatter_columns" | "scatter_ring" => one(rooted(Scatter, 0)),
        "scatter_binomial" => one(rooted(Scatter, 0).least(Confidence::Possible)),
        "scatter_nonblocking" => one(rooted(Scatter, ranks - 1)),
        "scatterv_linear" => one(Has {
            bytes: 800 * ranks,
            ..rooted(Scatter, 0)
        }),
        "allgather_linear" | "allgather_columns" | "allgather_ring" | "allgather_bruck" => one(of_all(Allgather)),
        "allgather_doubling" => one(of_all(Allgather).about()),
        "allgatherv_ring" => one(Has {
            bytes: 800 * ranks,
            ..of_all(Allgather)
        }),
        "alltoall_linear" | "alltoall_pairwise" | "alltoall_persistent" => one(of_all(Alltoall)),
        "alltoall_bruck" => one(of_all(Alltoall).about()),
        "alltoallv_linear" => one(Has {
            bytes: 400 * (3 * ranks - 3),
            ..of_all(Alltoall)
        }),
        "alltoall_transpose" => one(Has {
            bytes: 128,
            ..of_all(Alltoall)
        }),
        "barrier_linear"
        | "barrier_tree"
        | "barrier_dissemination"
        | "barrier_doubling"
        | "barrier_chain"
        | "barrier_ring"
        | "barrier_all" => one(has(Barrier, Root::None, 0, ranks)),
        "reduce_linear" | "reduce_binomial" | "reduce_ring" => {
            one(has(Reduce, Root::One(0), FEW, ranks).least(Confidence::Possible))
        }
        "reduce_shown" | "reduce_ring_shown" => one(has(Reduce, Root::One(0), FEW, ranks)),
        "allreduce_shown" => one(reduced(Allreduce)),
        "scan_shown" => one(reduced(Scan)),
        "gather_shown" => one(rooted(Gather, 0)),
        "scatter_shown" => one(rooted(Scatter, 0)),
        "reduce_max" => one(has(Reduce, Root::One(0), FEW / 2, ranks)),
        "allreduce_linear" | "allreduce_tree" => one(reduced(Allreduce).least(Confidence::Possible)),
        "allreduce_doubling" => one(reduced(Allreduce)),
        "allreduce_ring" => one(has(Allreduce, Root::None, FEW * ranks, ranks)),
        "scan_ring" => one(reduced(Scan).least(Confidence::Possible)),
        "scan_doubling" => one(reduced(Scan)),
        "halo_line" | "halo_grid" | "halo_columns" | "halo_level" | "ring_shift" | "ring_step" | "pipeline"
        | "filter" | "wavefront" | "token_ring" | "odd_even_sort" | "butterfly" | "master_worker" | "server"
        | "gossip" | "random_pairs" | "transpose_part" | "buddies" | "ping_pong" | "relay" | "reports" | "balance"
        | "chunks" | "shared_nodes" => Some(Vec::new()),
        _ => None,
    }
}

/// The same for the patterns in Fortran.
pub(super) fn in_fortran(name: &str, ranks: u64) -> Option<Vec<Has>> {
    let zero = Root::One(0);
    let (collective, root) = match name {
        "bcast_binomial" | "bcast_ring" => (Broadcast, zero),
        "gather_linear" => (Gather, zero),
        "scatter_linear" => (Scatter, zero),
        "allgather_ring" => (Allgather, Root::None),
        "alltoall_pairwise" => (Alltoall, Root::None),
        "barrier_dissemination" => (Barrier, Root::None),
        "allreduce_doubling" => (Allreduce, Root::None),
        "reduce_shown" => (Reduce, zero),
        "halo_line" | "wavefront" => return Some(Vec::new()),
        _ => return None,
    };
    let bytes = match collective {
        Barrier => 0,
        Allreduce | Reduce => FORTRAN_FEW,
        _ => FORTRAN_BLOCK,
    };
    Some(vec![has(collective, root, bytes, ranks)])
}
