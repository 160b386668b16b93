//! Begin and end of sampled collective calls, in memory of a fixed size.
//!
//! [`kilter_protocol::sampling`] says which calls. A rank whose memory is full drops every other sample and goes on with half of the choice, so that what is
//! left is spread over the whole run, and other ranks have the same calls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use kilter_protocol::sampling::Choice;

use crate::communicator::State;
use crate::key::Key;
use kilter_protocol::functions::Function;

/// A call that was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) key: Key,
    pub(crate) site: usize,
    /// Number of the call on its communicator.
    pub(crate) number: u64,
    pub(crate) begin_ticks: u64,
    pub(crate) took_ticks: u64,
    pub(crate) is_root: bool,
}

/// The samples of a rank.
pub(crate) struct Samples {
    interval: u32,
    halvings: AtomicU32,
    /// Number of samples for which there is memory.
    room: usize,
    /// Only a sampled call takes the lock.
    samples: Mutex<Vec<Sample>>,
}

impl Samples {
    /// Samples of one call in `interval`, in so many bytes at most; none if the interval is 0.
    pub(crate) fn new(interval: u32, bytes: usize) -> Samples {
        let room = if interval == 0 { 0 } else { bytes / size_of::<Sample>() };
        Samples {
            interval: if room == 0 { 0 } else { interval },
            halvings: AtomicU32::new(0),
            room,
            samples: Mutex::new(Vec::with_capacity(room)),
        }
    }

    /// One call in so many is sampled.
    pub(crate) fn interval(&self) -> u32 {
        self.interval
    }

    /// Times that half of the samples was dropped.
    pub(crate) fn halvings(&self) -> u32 {
        self.halvings.load(Ordering::Relaxed)
    }

    /// The number of this call if it is sampled. Each call of a sampled function on a communicator counts. Calls of both sides of an
    /// intercommunicator have no common order of ranks, and a rank alone never waits.
    #[inline]
    pub(crate) fn number(&self, function: Function, state: Option<&State>) -> Option<u64> {
        if self.interval == 0 || !function.is_blocking_collective_of_all() {
            return None;
        }
        let state = state.filter(|state| state.remote.is_none() && state.members.count() > 1)?;
        let number = state.next_collective();
        Choice::new(self.interval, self.halvings())
            .has(number)
            .then_some(number)
    }

    /// Keeps a sample.
    #[cold]
    pub(crate) fn add(&self, sample: Sample) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        while samples.len() >= self.room {
            let halvings = self.halvings() + 1;
            self.halvings.store(halvings, Ordering::Relaxed);
            let half = Choice::new(self.interval, halvings);
            samples.retain(|kept| half.has(kept.number));
            if halvings > u64::BITS {
                return;
            }
        }
        if Choice::new(self.interval, self.halvings()).has(sample.number) {
            samples.push(sample);
        }
    }

    /// All that are kept.
    pub(crate) fn all(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64) -> Sample {
        Sample {
            key: Key::new(Function::Barrier, Some(0), 0, 0, 0),
            site: 1,
            number,
            begin_ticks: number,
            took_ticks: 1,
            is_root: false,
        }
    }

    #[test]
    fn a_full_memory_keeps_every_other_sample_of_the_whole_run() {
        const ROOM: usize = 64;
        let samples = Samples::new(1, ROOM * size_of::<Sample>());
        for number in 0..10_000 {
            samples.add(sample(number));
        }
        let kept: Vec<u64> = samples.all().iter().map(|sample| sample.number).collect();
        let choice = Choice::new(1, samples.halvings());
        let chosen: Vec<u64> = (0..10_000).filter(|number| choice.has(*number)).collect();
        assert_eq!(kept, chosen, "what is kept is what another rank would choose");
        assert!(kept.len() <= ROOM && kept.len() > ROOM / 8, "{}", kept.len());
        assert!(samples.halvings() >= 7);
    }

    #[test]
    fn nothing_is_sampled_without_an_interval_or_without_memory() {
        assert_eq!(Samples::new(0, 1 << 20).interval(), 0);
        assert_eq!(Samples::new(8, 0).interval(), 0);
        assert_eq!(Samples::new(0, 1 << 20).number(Function::Barrier, None), None);
    }
}
