//! An item ready to run on this rank, and one round of it.

use kilter_mpi::{MPI_Comm, MpiError};
use kilter_protocol::fault::Fault;
use kilter_protocol::overlap::{Benchmark, Overlap, Part};
use kilter_protocol::plan::{Item, Wait};
use mpi::Threading;

use super::benchmark::{How, Row, row};
use super::calls::{self, Started};
use super::computation::{Computation, Speed};
use super::flow::Extent;
use super::load::Load;
use super::messages::Messages;
use super::operands::Operands;
use super::round::Round;
use super::switches;
use super::team::Team;
use crate::clock;
use crate::place::Place;
use crate::reason::{NoOverlap, Reason};
use crate::schedule::Outcome;

/// An item with all it needs.
#[derive(Debug)]
pub(super) struct Prepared {
    row: &'static Row,
    part: Part,
    computation: Computation,
    data: Data,
    load: Option<Load>,
    comm: MPI_Comm,
    place: Place,
}

/// Data that an item moves.
#[derive(Debug)]
enum Data {
    /// Nothing but zero bytes.
    Nothing,
    Messages(Messages),
    Operands(Operands),
}

impl Prepared {
    /// Allocates the item's memory on this rank and starts its threads.
    ///
    /// # Errors
    /// Why it cannot be measured.
    pub(super) fn new(
        item: &Item,
        overlap: &Overlap,
        comm: MPI_Comm,
        place: Place,
        speed: Speed,
    ) -> Result<Prepared, Reason> {
        let row = row(overlap.benchmark)?;
        let data = match (overlap.part, &row.how) {
            (Part::Latency | Part::Computation, _) => Data::Nothing,
            (Part::Communication | Part::Overlapped, How::Messages { form, flows, .. }) => {
                form.fits(item.bytes)?;
                let flows = flows(Extent {
                    bytes: item.bytes as usize,
                    p_ranks: place.p_ranks,
                    requests: overlap.requests as usize,
                });
                Data::Messages(Messages::new(comm, place.rank, *form, &flows)?)
            }
            (Part::Communication | Part::Overlapped, How::Collective { collective, .. }) => {
                Data::Operands(Operands::new(comm, *collective, item.bytes, place)?)
            }
        };
        let has_data = !matches!(&data, Data::Messages(messages) if messages.peers().is_empty());
        let is_loaded = overlap.benchmark == Benchmark::ThreadLoad && overlap.part == Part::Overlapped && has_data;
        let load = is_loaded.then(|| background(overlap.threads, speed)).transpose()?;
        Ok(Prepared {
            row,
            part: overlap.part,
            computation: Computation::new(overlap, speed),
            data,
            load,
            comm,
            place,
        })
    }

    /// True if all ranks take part.
    pub(super) fn is_of_all_ranks(&self) -> bool {
        self.row.benchmark.is_of_all_ranks()
    }

    /// One round as rank 0: its time, where nothing disturbed it.
    pub(super) fn lead(&self, team: &Team, wait: Wait) -> Result<Outcome, MpiError> {
        if let Some(load) = &self.load {
            load.begin();
        }
        team.await_ready()?;
        let switches = switches::involuntary();
        let begin_ns = clock::now_ns();
        self.sequence(team, true)?;
        let end_ns = clock::now_ns();
        let switches = switches::involuntary() - switches;
        if let Some(load) = &self.load {
            load.end();
        }
        if is_void(switches, self.load.is_some(), wait) {
            return Ok(Outcome::Void);
        }
        Ok(Outcome::Valid {
            seconds: (end_ns - begin_ns) as f64 / 1e9 / f64::from(self.sequences()),
        })
    }

    /// One round as any other rank of the team.
    pub(super) fn follow(&self, team: &Team) -> Result<(), MpiError> {
        if let Some(load) = &self.load {
            load.begin();
        }
        self.sequence(team, false)?;
        if let Some(load) = &self.load {
            load.end();
        }
        Ok(())
    }

    /// Sequences in one timed round.
    fn sequences(&self) -> u32 {
        match self.part {
            Part::Latency => 2,
            Part::Computation => 1,
            Part::Communication | Part::Overlapped => self.row.sequences,
        }
    }

    /// One round on this rank; rank 0 times it, the others first say that they are ready.
    #[inline]
    fn sequence(&self, team: &Team, leads: bool) -> Result<(), MpiError> {
        let computation = (self.part == Part::Overlapped).then_some(&self.computation);
        match (&self.data, &self.row.how) {
            (Data::Messages(messages), How::Messages { lead, follow, .. }) => {
                let round = Round {
                    messages,
                    team,
                    computation,
                };
                if leads {
                    lead(round)
                } else if messages.peers().is_empty() {
                    team.ready()
                } else {
                    follow(round)
                }
            }
            _ if leads => self.lead_without_data(),
            _ => self.follow_without_data(team),
        }
    }

    /// True for a collective, whose rounds are [`super::together`]'s: none leads and none follows.
    pub(super) fn is_collective(&self) -> bool {
        matches!(self.row.how, How::Collective { .. }) && self.part != Part::Latency
    }

    /// One round of a collective, the same on every rank.
    #[inline]
    pub(super) fn collective(&self) -> Result<(), MpiError> {
        let started = match (&self.data, &self.row.how) {
            (Data::Operands(operands), How::Collective { start, .. }) => Some(start(operands)?),
            _ => None,
        };
        if self.part != Part::Communication {
            self.computation.run();
        }
        started.map_or(Ok(()), Started::wait)
    }

    #[inline]
    fn lead_without_data(&self) -> Result<(), MpiError> {
        if self.part == Part::Computation {
            self.computation.run();
            return Ok(());
        }
        let last = self.place.p_ranks - 1;
        calls::signal(self.comm, last)?;
        calls::await_signal(self.comm, last)
    }

    fn follow_without_data(&self, team: &Team) -> Result<(), MpiError> {
        team.ready()?;
        if self.part == Part::Computation {
            if self.row.all_compute {
                self.computation.run();
            }
        } else if self.place.rank + 1 == self.place.p_ranks {
            calls::await_signal(self.comm, 0)?;
            calls::signal(self.comm, 0)?;
        }
        Ok(())
    }

    /// Writes the input, and wrong bytes into the output.
    pub(super) fn fill(&mut self) {
        match &mut self.data {
            Data::Nothing => {}
            Data::Messages(messages) => messages.fill(),
            Data::Operands(operands) => operands.fill(),
        }
    }

    /// Looks whether everything arrived.
    ///
    /// # Errors
    /// The first byte that is wrong on this rank.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match &self.data {
            Data::Nothing => Ok(()),
            Data::Messages(messages) => messages.check(),
            Data::Operands(operands) => operands.check(),
        }
    }
}

/// Threads that compute in the background.
fn background(threads: u32, speed: Speed) -> Result<Load, NoOverlap> {
    let provided = mpi::environment::threading_support();
    if provided < Threading::Funneled {
        return Err(NoOverlap::Threading(provided));
    }
    Load::new(threads, speed)
}

/// True if a round tells nothing because rank 0 lost its processor so often.
///
/// It is not void where ranks share cores or threads compute in the background: losing the processor is part of the measurement there.
fn is_void(involuntary_switches: u64, is_loaded: bool, wait: Wait) -> bool {
    involuntary_switches > 0 && !is_loaded && wait == Wait::Spin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_lost_its_processor_is_void_unless_that_is_what_is_measured() {
        assert!(is_void(1, false, Wait::Spin));
        assert!(!is_void(0, false, Wait::Spin));
        assert!(!is_void(1, true, Wait::Spin));
        assert!(!is_void(1, false, Wait::Sleep));
    }
}
