//! Mock-ups: compositions of library calls with the semantics of another collective (PGMPI; Traeff et al. 2010).
//!
//! A mock-up is the right side of a guideline, and a remedy: where a guideline is violated, its mock-up is faster than the
//! function itself, and the drop-in can run it. The table is made of the guidelines that say `remedy = true` (`build.rs`). Ids follow
//! PGMPITuneLib: `<collective>.as_<call>_<call>`; that of a decomposition over lanes is `<collective>.over_lanes`.

use crate::{Collective, Shape, scratch};

/// A row of the table of mock-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mockup {
    /// Stable id.
    pub id: &'static str,
    /// The collective that it stands for.
    pub collective: Collective,
    /// The calls, in order; each on the full volume `n` and on all ranks, unless it is a decomposition over lanes.
    pub calls: &'static [Collective],
    /// The right side of its guideline, from which it is made: `reduce(n) + bcast(n)`.
    pub side: &'static str,
}

impl Mockup {
    /// Bytes that a communicator keeps for its calls with `n_bytes` of contiguous data, at most, on the rank that needs most; what the
    /// library takes inside them is not counted.
    #[must_use]
    pub fn scratch(&self, p_ranks: usize, n_bytes: usize) -> usize {
        if self.is_over_lanes() {
            // One rank on each node keeps the most: two shares, and with padding a copy of the input and one of the output.
            let row_bytes = p_ranks.saturating_mul(scratch::ELEMENT_BYTES);
            let most = scratch::kept(n_bytes.saturating_add(row_bytes)).saturating_mul(4);
            return if n_bytes == 0 { 0 } else { most };
        }
        let between = match self.calls {
            // The broadcast works in the buffer that the call before it has filled.
            [_, Collective::Bcast] => 0,
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
            // Beside the data between the calls, padding takes a copy of the input and one of the output.
            scratch::kept(n_bytes.saturating_add(row_bytes)).saturating_mul(3)
        } else {
            scratch::kept(between)
        }
    }

    /// True if its calls are made on the nodes and on the lanes, the ranks with the same number on their nodes (Traeff and Hunold 2020).
    #[must_use]
    pub fn is_over_lanes(&self) -> bool {
        self.side.contains("{lane}")
    }

    /// True if it combines contributions in an order other than that of ranks, since the ranks of a node need not follow each other.
    #[must_use]
    pub fn needs_commutative(&self) -> bool {
        self.is_over_lanes() && self.collective.has_operator()
    }

    /// True if it hands the operator elements of its own where the number of elements is no multiple of the ranks. The first call of what
    /// combines gets the caller's contributions, and so the caller's operator.
    #[must_use]
    pub fn pads_for_operator(&self) -> bool {
        let has_blocks = |call: &Collective| call.has_blocks();
        self.collective.has_operator() && !self.collective.has_blocks() && self.calls.iter().any(has_blocks)
    }
}

include!(concat!(env!("OUT_DIR"), "/mockups.rs"));

/// The row with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Mockup> {
    MOCKUPS.iter().find(|mockup| mockup.id == id)
}

/// The mock-up of `collective` made of exactly these calls on all ranks.
#[must_use]
pub fn of_calls(collective: Collective, calls: &[Collective]) -> Option<&'static Mockup> {
    let is_it = |mockup: &&Mockup| mockup.collective == collective && mockup.calls == calls && !mockup.is_over_lanes();
    MOCKUPS.iter().find(is_it)
}

/// The mock-up of `collective` made of exactly this side of a guideline.
#[must_use]
pub fn of_side(collective: Collective, side: &str) -> Option<&'static Mockup> {
    MOCKUPS
        .iter()
        .find(|mockup| mockup.collective == collective && mockup.side == side)
}
