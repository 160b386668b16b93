//! The layouts of a whole machine: those that a budget has room for, the order in which they are measured, and what they cost. All but [`mod@measure`] and
//! [`state`] is pure.
//!
//! * [`grid`]: the layouts that say something about the machine, the ends first and a held-out one between them.
//! * [`effort`]: sizes and functions, as many as a budget has room for.
//! * [`costs`]: seconds and launches of a layout, estimated, and corrected by what was measured.
//! * [`schedule`]: what this allocation does, and what is left to further ones.
//! * [`mod@measure`]: goes through them.
//! * [`observations`]: what was measured, as predictions are made from it.
//! * [`state`]: the file by which further allocations go on.

pub mod costs;
pub mod effort;
pub mod grid;
pub mod measure;
pub mod observations;
pub mod schedule;
pub mod state;

/// Nodes, and ranks that each has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Nodes, at least 1.
    pub nodes: usize,
    /// Cores that each node has, at least 1.
    pub cores: usize,
}

impl Machine {
    /// True if a layout has room there.
    #[must_use]
    pub fn holds(self, layout: kilter_model::layout::Layout) -> bool {
        layout.nodes <= self.nodes && layout.per_node <= self.cores
    }
}
