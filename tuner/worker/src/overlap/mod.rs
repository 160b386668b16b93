//! Communication beside computation: blocks whose items are [`Implementation::Overlap`].
//!
//! The benchmark is Denis and Trahay's (MPI Overlap: Benchmark and Analysis, ICPP 2016, doi:10.1109/ICPP.2016.37), with more operations than
//! theirs and with computation that can be a fixed amount of work. A time is rank 0's alone, from when all others are known to be ready, not the
//! latest end minus the agreed start of [`crate::measure`]. Only collectives, in which all ranks do the same, are timed in that way.
//! Read [`benchmark`] first, which has the sequence of each; then `item`, which times one round of it, and `block`, which chooses the next
//! round.
//!
//! * [`benchmark`]: the table of benchmarks, a file each.
//! * [`round`]: the words that the sequences are made of; [`calls`] has the MPI functions behind them.
//! * [`messages`], [`flow`], [`operands`]: senders, receivers and memory of the data, and the check that it arrived.
//! * [`computation`], [`load`]: computing, and computing in the background.
//! * [`team`]: the ranks that take part, and their messages around a round.
//! * [`together`]: rounds of collectives, in which nobody leads.
//! * [`refusal`]: items that cannot be measured, and why.
//! * [`switches`]: if a round was disturbed.

mod benchmark;
mod block;
mod calls;
mod computation;
mod flow;
mod item;
mod load;
mod messages;
mod operands;
mod refusal;
mod round;
mod switches;
mod team;
mod together;

use kilter_protocol::plan::{Block, Implementation};

pub(crate) use block::carry_out;
pub(crate) use computation::Speed;

/// True if a block is carried out here. If one of its items is of this kind, all must be.
pub(crate) fn is_for(block: &Block) -> bool {
    let mut items = block.items.iter();
    items.any(|item| matches!(item.implementation, Implementation::Overlap(_)))
}
