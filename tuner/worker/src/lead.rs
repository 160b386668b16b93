//! How far ahead of the agreed "now" a repetition starts.
//!
//! Too short, and a rank misses the start and the repetition is void; too long, and the budget is spent waiting. The rule is fed with
//! facts all ranks share, so that all hold the same lead.

use kilter_protocol::plan::Wait;

use crate::clock::Arrival;

/// The longest lead, in nanoseconds.
const MAX_NS: u64 = 200_000_000;

/// Good repetitions in a row after which the lead shrinks by a tenth.
const GOOD_BEFORE_SHRINKING: u32 = 50;

/// The lead and what has happened since it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lead {
    wait: Wait,
    ns: u64,
    min_ns: u64,
    good: u32,
}

impl Lead {
    /// The lead to begin with.
    pub(crate) fn new(wait: Wait) -> Lead {
        match wait {
            Wait::Spin => Lead {
                wait,
                ns: 20_000,
                min_ns: 2_000,
                good: 0,
            },
            Wait::Sleep => Lead {
                wait,
                ns: 1_000_000,
                min_ns: 100_000,
                good: 0,
            },
        }
    }

    /// Nanoseconds from the agreed "now" to the start.
    pub(crate) fn ns(&self) -> u64 {
        self.ns
    }

    /// Adapts to how the last of the ranks began a repetition that took `repetition_ns`, and tells whether it began in time. A
    /// rank that was waiting in time and then pre-empted says nothing about the lead: waiting longer would only make that likelier.
    pub(crate) fn learn(&mut self, arrival: Arrival, repetition_ns: u64) -> bool {
        let in_time = arrival.is_in_time(self.wait, repetition_ns);
        match arrival {
            Arrival::Missed => {
                self.ns = (self.ns * 2).min(MAX_NS);
                self.good = 0;
            }
            Arrival::Waited { .. } if !in_time => {}
            Arrival::Waited { .. } => {
                self.good += 1;
                if self.good == GOOD_BEFORE_SHRINKING {
                    self.ns = (self.ns - self.ns / 10).max(self.min_ns);
                    self.good = 0;
                }
            }
        }
        in_time
    }
}

#[cfg(test)]
mod tests {
    use super::Arrival::Missed;
    use super::*;

    const IN_TIME: Arrival = Arrival::IN_TIME;
    const DISTURBED: Arrival = Arrival::Waited { late_ns: 90_000_000 };

    fn after(wait: Wait, arrivals: impl IntoIterator<Item = Arrival>) -> u64 {
        let mut lead = Lead::new(wait);
        for arrival in arrivals {
            assert_eq!(lead.learn(arrival, 0), arrival == IN_TIME);
        }
        lead.ns()
    }

    #[test]
    fn it_doubles_when_a_rank_missed_the_start_and_is_bounded() {
        assert_eq!(after(Wait::Spin, []), 20_000);
        assert_eq!(after(Wait::Spin, [Missed]), 40_000);
        assert_eq!(after(Wait::Sleep, [Missed, IN_TIME, Missed]), 4_000_000);
        assert_eq!(after(Wait::Spin, [Missed; 40]), MAX_NS);
    }

    #[test]
    fn a_disturbance_does_not_change_it() {
        assert_eq!(after(Wait::Spin, [DISTURBED; 1000]), 20_000);
    }

    #[test]
    fn it_shrinks_by_a_tenth_after_fifty_good_ones_down_to_the_floor() {
        assert_eq!(after(Wait::Spin, [IN_TIME; 49]), 20_000);
        assert_eq!(after(Wait::Spin, [IN_TIME; 50]), 18_000);
        assert_eq!(
            after(
                Wait::Spin,
                [IN_TIME; 49].into_iter().chain([Missed]).chain([IN_TIME; 49])
            ),
            40_000
        );
        assert_eq!(after(Wait::Spin, [IN_TIME; 5000]), 2_000);
        assert_eq!(after(Wait::Sleep, [IN_TIME; 5000]), 100_000);
    }
}
