//! Mock-ups: compositions of library calls with the semantics of another collective (PGMPI; Traeff et al. 2010).
//!
//! A mock-up is the right side of a guideline, and a remedy: where a guideline is violated, its mock-up is faster than the
//! function itself, and the drop-in can run it. Ids follow PGMPITuneLib: `<collective>.as_<call>_<call>`.

use crate::{Collective, Shape, scratch};

/// A row of the table of mock-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mockup {
    /// Stable id.
    pub id: &'static str,
    /// The collective that it stands for.
    pub collective: Collective,
    /// The calls, in order; each on the full volume `n`.
    pub calls: &'static [Collective],
}

use Collective::{
    Allgather, Allreduce, Alltoall, Bcast, Exscan, Gather, Reduce, ReduceLocal, ReduceScatter, ReduceScatterBlock,
    Scan, Scatter, Scatterv,
};

impl Mockup {
    /// Bytes that a communicator keeps for its calls with `n_bytes` of contiguous data, at most, on the rank that needs most; what the
    /// library takes inside them is not counted.
    #[must_use]
    pub fn scratch(&self, p_ranks: usize, n_bytes: usize) -> usize {
        let between = match self.calls {
            // The broadcast works in the buffer that the call before it has filled.
            [_, Bcast] => 0,
            [first, _] if matches!(first.output(), Shape::Blocks) => n_bytes.div_ceil(p_ranks.max(1)),
            _ => n_bytes,
        };
        let has_blocks = |call: &Collective| call.has_blocks();
        let row_bytes = p_ranks.saturating_mul(scratch::ELEMENT_BYTES).max(1);
        let is_padded =
            !self.collective.has_blocks() && self.calls.iter().any(has_blocks) && !n_bytes.is_multiple_of(row_bytes);
        if n_bytes == 0 {
            0
        } else if is_padded {
            // What is padded has a copy at both ends.
            scratch::kept(n_bytes.saturating_add(row_bytes)).saturating_mul(3)
        } else {
            scratch::kept(between)
        }
    }

    /// True if it hands the operator elements of its own where the number of elements is no multiple of the ranks. The first call of what
    /// combines gets the caller's contributions, and so the caller's operator.
    #[must_use]
    pub fn pads_for_operator(&self) -> bool {
        let has_blocks = |call: &Collective| call.has_blocks();
        self.collective.has_operator() && !self.collective.has_blocks() && self.calls.iter().any(has_blocks)
    }
}

/// All mock-ups of GL3 to GL17.
pub static MOCKUPS: &[Mockup] = &[
    Mockup {
        id: "allgather.as_allreduce",
        collective: Allgather,
        calls: &[Allreduce],
    },
    Mockup {
        id: "allgather.as_alltoall",
        collective: Allgather,
        calls: &[Alltoall],
    },
    Mockup {
        id: "allgather.as_gather_bcast",
        collective: Allgather,
        calls: &[Gather, Bcast],
    },
    Mockup {
        id: "allreduce.as_reduce_bcast",
        collective: Allreduce,
        calls: &[Reduce, Bcast],
    },
    Mockup {
        id: "allreduce.as_reduce_scatter_block_allgather",
        collective: Allreduce,
        calls: &[ReduceScatterBlock, Allgather],
    },
    Mockup {
        id: "bcast.as_scatter_allgather",
        collective: Bcast,
        calls: &[Scatter, Allgather],
    },
    Mockup {
        id: "gather.as_allgather",
        collective: Gather,
        calls: &[Allgather],
    },
    Mockup {
        id: "gather.as_reduce",
        collective: Gather,
        calls: &[Reduce],
    },
    Mockup {
        id: "reduce.as_allreduce",
        collective: Reduce,
        calls: &[Allreduce],
    },
    Mockup {
        id: "reduce.as_reduce_scatter_block_gather",
        collective: Reduce,
        calls: &[ReduceScatterBlock, Gather],
    },
    Mockup {
        id: "reduce_scatter.as_allreduce",
        collective: ReduceScatter,
        calls: &[Allreduce],
    },
    Mockup {
        id: "reduce_scatter.as_reduce_scatterv",
        collective: ReduceScatter,
        calls: &[Reduce, Scatterv],
    },
    Mockup {
        id: "reduce_scatter_block.as_reduce_scatter",
        collective: ReduceScatterBlock,
        calls: &[Reduce, Scatter],
    },
    Mockup {
        id: "scan.as_exscan_reduce_local",
        collective: Scan,
        calls: &[Exscan, ReduceLocal],
    },
    Mockup {
        id: "scatter.as_bcast",
        collective: Scatter,
        calls: &[Bcast],
    },
];

/// The row with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Mockup> {
    MOCKUPS.iter().find(|mockup| mockup.id == id)
}

/// The mock-up of `collective` made of exactly these calls.
#[must_use]
pub fn of_calls(collective: Collective, calls: &[Collective]) -> Option<&'static Mockup> {
    MOCKUPS
        .iter()
        .find(|mockup| mockup.collective == collective && mockup.calls == calls)
}
