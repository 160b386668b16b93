//! Lead of a repetition: the time from the agreed "now" to its start.
//!
//! Too short, and a rank misses the start and the repetition is void; too long, and the budget is spent waiting. How much of the lead
//! the slowest rank needed (from the latest entry into the exchange until it came to wait) travels with the next exchange, so that all ranks
//! know it and hold the same lead: a quarter more than all of the last sixteen repetitions needed but one. A single spike changes nothing, a
//! new state of the machine counts from the second repetition on, and is forgotten after sixteen.

use kilter_protocol::plan::Wait;

use crate::clock::Arrival;

/// The longest lead, in nanoseconds.
const MAX_NS: u64 = 200_000_000;

/// Repetitions that are remembered.
const REMEMBERED: usize = 16;

/// Number of needs below which the largest counts, and the lead does not fall below its first value.
const FEW: usize = 8;

/// The lead, and the parts of it that the last repetitions needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lead {
    wait: Wait,
    ns: u64,
    /// First value.
    first_ns: u64,
    /// Margin in addition to a quarter more than the need.
    margin_ns: u64,
    needed_ns: [u64; REMEMBERED],
    /// Repetitions so far.
    count: usize,
}

impl Lead {
    /// The lead to begin with.
    pub(crate) fn new(wait: Wait) -> Lead {
        let (first_ns, margin_ns) = match wait {
            Wait::Spin => (20_000, 1_000),
            Wait::Sleep => (1_000_000, 50_000),
        };
        Lead {
            wait,
            ns: first_ns,
            first_ns,
            margin_ns,
            needed_ns: [0; REMEMBERED],
            count: 0,
        }
    }

    /// Nanoseconds from the agreed "now" to the start.
    pub(crate) fn ns(&self) -> u64 {
        self.ns
    }

    /// Adapts to the part of the lead that the slowest rank needed before a repetition that took `repetition_ns`. Returns if the start of the
    /// last rank was in time. A rank that was waiting in time and then pre-empted says nothing about the lead: waiting longer would only make
    /// that likelier.
    pub(crate) fn learn(&mut self, arrival: Arrival, repetition_ns: u64, needed_ns: u64) -> bool {
        self.needed_ns[self.count % REMEMBERED] = needed_ns;
        self.count += 1;
        let known = self.count.min(REMEMBERED);
        let mut needed_ns = self.needed_ns;
        let needed_ns = &mut needed_ns[..known];
        needed_ns.sort_unstable();
        let (enough_ns, least_ns) = if known < FEW {
            (needed_ns[known - 1], self.first_ns)
        } else {
            (needed_ns[known - 2], 0)
        };
        let wide_ns = enough_ns.saturating_add(enough_ns / 4).saturating_add(self.margin_ns);
        self.ns = wide_ns.clamp(least_ns, MAX_NS);
        arrival.is_in_time(self.wait, repetition_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::Arrival::Missed;
    use super::*;

    const IN_TIME: Arrival = Arrival::IN_TIME;

    /// The lead after repetitions that needed so much, in nanoseconds.
    fn after(wait: Wait, needed_ns: impl IntoIterator<Item = u64>) -> u64 {
        let mut lead = Lead::new(wait);
        for needed_ns in needed_ns {
            lead.learn(IN_TIME, 0, needed_ns);
        }
        lead.ns()
    }

    #[test]
    fn it_begins_wide_and_is_soon_a_quarter_more_than_what_is_needed() {
        assert_eq!(after(Wait::Spin, []), 20_000);
        assert_eq!(after(Wait::Spin, [2_000; 7]), 20_000);
        assert_eq!(after(Wait::Spin, [2_000; 8]), 3_500);
        assert_eq!(after(Wait::Sleep, [600_000; 8]), 800_000);
    }

    #[test]
    fn a_spike_changes_nothing_and_two_are_a_new_state_until_they_are_forgotten() {
        let with = |spikes: &[u64], then: usize| {
            let steady = [2_000; 20].into_iter();
            after(
                Wait::Spin,
                steady.chain(spikes.iter().copied()).chain(vec![2_000; then]),
            )
        };
        assert_eq!(with(&[50_000_000], 0), 3_500);
        assert_eq!(with(&[50_000_000, 40_000_000], 0), 50_001_000);
        assert_eq!(with(&[50_000_000, 40_000_000], 14), 50_001_000);
        assert_eq!(with(&[50_000_000, 40_000_000], 15), 3_500);
    }

    #[test]
    fn a_first_repetition_that_needs_more_widens_it_at_once_and_it_is_bounded() {
        assert_eq!(after(Wait::Spin, [80_000]), 101_000);
        assert_eq!(after(Wait::Spin, [u64::MAX; 40]), MAX_NS);
    }

    #[test]
    fn only_the_arrival_tells_whether_a_repetition_counts() {
        let mut lead = Lead::new(Wait::Spin);
        assert!(lead.learn(IN_TIME, 0, 30_000));
        assert!(!lead.learn(Missed, 0, 2_000));
        assert!(!lead.learn(Arrival::Waited { late_ns: 90_000_000 }, 0, 2_000));
        assert_eq!(lead.ns(), 38_500, "what was needed counts, whatever came of it");
    }
}
