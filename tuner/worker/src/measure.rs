//! The measuring loop.
//!
//! Each repetition begins with one exchange ([`crate::dissemination`]) that carries the maximum over the ranks of
//!
//! 1. the time of entering it,
//! 2. the end of the rank's previous repetition,
//! 3. the delay with which the rank began its previous repetition,
//! 4. the part of the lead that it needed until it was ready to begin it,
//! 5. the time at which it began it.
//!
//! So one exchange synchronises, agrees on the next start (the latest entry plus a lead) and tells every rank how the previous repetition went.
//! All ranks hold the same numbers and decide alike what to repeat and when to stop. A repetition's time is the latest end over the ranks minus
//! the agreed start: no skew of a barrier's exit is in it, other than with a barrier alone (Hunold and Carpen-Amarie 2016,
//! doi:10.1109/TPDS.2016.2539167). [`crate::common_time`] defines "time" where clocks differ.
//!
//! The ranks of an item with an arrival pattern begin at offsets from the start. Its time is the latest end minus the latest arrival, and the
//! latest arrival is the actual one: a rank that sleeps wakes late, and that is no time of the item's.

use crate::clock::Arrival;
use crate::lead::Lead;
use crate::schedule::{Outcome, Schedule};

/// Numbers that the ranks agree on between two repetitions, the same on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Latest entry into the exchange, in nanoseconds.
    pub(crate) now_ns: u64,
    /// Latest end of the previous repetition, in nanoseconds.
    pub(crate) end_ns: u64,
    /// Its start on the last of the ranks.
    pub(crate) arrival: Arrival,
    /// The part of the lead that the slowest rank needed, in nanoseconds.
    pub(crate) needed_ns: u64,
    /// The time at which the last rank began, in nanoseconds.
    pub(crate) arrived_ns: u64,
}

/// One rank's view of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// End of this rank's repetition, in nanoseconds.
    pub(crate) end_ns: u64,
    /// Its start.
    pub(crate) arrival: Arrival,
    /// The part of the lead that it needed, in nanoseconds.
    pub(crate) needed_ns: u64,
    /// The time at which it began, in nanoseconds.
    pub(crate) arrived_ns: u64,
}

/// The ranks, or a script of them.
pub(crate) trait Machine {
    /// Prepares the state that each repetition is to find, such as cold caches. It comes before the exchange, so that no time includes it.
    fn prepare(&mut self);

    /// Exchanges own facts for the maxima over the ranks.
    fn agree(&mut self, previous: Repetition) -> anyhow::Result<Agreed>;

    /// True if the ranks begin this item apart.
    fn has_pattern(&self, item: usize) -> bool;

    /// Waits for `start_ns`, which is `lead_ns` after the agreed present, and carries out the item for the time of this number.
    fn repeat(&mut self, item: usize, number: u64, start_ns: u64, lead_ns: u64) -> anyhow::Result<Repetition>;
}

/// Repeats items until the schedule has enough.
///
/// # Errors
/// The machine's; the other ranks may then be waiting.
pub(crate) fn measure(machine: &mut impl Machine, schedule: &mut Schedule, lead: &mut Lead) -> anyhow::Result<()> {
    let mut previous = Repetition {
        end_ns: 0,
        arrival: Arrival::IN_TIME,
        needed_ns: 0,
        arrived_ns: 0,
    };
    let mut under_way: Option<(usize, u64)> = None;
    loop {
        machine.prepare();
        let agreed = machine.agree(previous)?;
        if let Some((item, start_ns)) = under_way {
            let has_pattern = machine.has_pattern(item);
            let begin_ns = if has_pattern { agreed.arrived_ns } else { start_ns };
            let took_ns = agreed.end_ns.saturating_sub(begin_ns);
            let counts = schedule.record(
                item,
                if lead.learn(agreed.arrival, took_ns, agreed.needed_ns) {
                    Outcome::Valid {
                        seconds: took_ns as f64 / 1e9,
                    }
                } else {
                    Outcome::Void
                },
            );
            if counts && has_pattern {
                schedule.delay(item, previous.end_ns.saturating_sub(previous.arrived_ns));
            }
        }
        let Some(item) = schedule.next(agreed.now_ns) else {
            return Ok(());
        };
        let lead_ns = lead.ns();
        let start_ns = agreed.now_ns + lead_ns;
        previous = machine.repeat(item, schedule.runs_of(item), start_ns, lead_ns)?;
        under_way = Some((item, start_ns));
    }
}

#[cfg(test)]
mod tests {
    use kilter_protocol::plan::{Repetitions, Wait};

    use super::Arrival::Missed;
    use super::*;
    use crate::schedule::Series;

    const IN_TIME: Arrival = Arrival::IN_TIME;
    const DISTURBED: Arrival = Arrival::Waited { late_ns: 5_001 };

    /// Two ranks on a simulated clock: rank 0 takes 10 us, rank 1 the script's time; an exchange takes 1 us.
    struct Script {
        now_ns: u64,
        others_end_ns: u64,
        other: Arrival,
        /// Offset of rank 1, where the ranks come apart.
        offset_ns: Option<u64>,
        starts: Vec<(u64, u64)>,
        /// Calls in order: `p`repare, `a`gree, `r`epeat.
        calls: String,
        /// Time to make ready, in nanoseconds.
        prepare_ns: u64,
        script: fn(usize) -> (u64, Arrival),
    }

    impl Machine for Script {
        fn prepare(&mut self) {
            self.calls.push('p');
            self.now_ns += self.prepare_ns;
        }

        fn agree(&mut self, previous: Repetition) -> anyhow::Result<Agreed> {
            self.calls.push('a');
            self.now_ns = self.now_ns.max(self.others_end_ns) + 1_000;
            let (end_ns, arrival) = (
                previous.end_ns.max(self.others_end_ns),
                previous.arrival.max(self.other),
            );
            Ok(Agreed {
                now_ns: self.now_ns,
                end_ns,
                arrival,
                needed_ns: previous.needed_ns,
                arrived_ns: previous.arrived_ns + self.offset_ns.unwrap_or(0),
            })
        }

        fn has_pattern(&self, _item: usize) -> bool {
            self.offset_ns.is_some()
        }

        fn repeat(&mut self, _item: usize, number: u64, start_ns: u64, lead_ns: u64) -> anyhow::Result<Repetition> {
            assert_eq!(number, self.starts.len() as u64);
            self.calls.push('r');
            self.starts.push((self.now_ns, start_ns));
            let (others_ns, other) = (self.script)(self.starts.len() - 1);
            self.now_ns = start_ns + 10_000;
            (self.others_end_ns, self.other) = (start_ns + others_ns, other);
            let missed = if other == Missed { 40_000 } else { 1_000 };
            Ok(Repetition {
                end_ns: self.now_ns,
                arrival: IN_TIME,
                needed_ns: missed.min(lead_ns + 15_000),
                arrived_ns: start_ns,
            })
        }
    }

    fn run(script: fn(usize) -> (u64, Arrival)) -> (Vec<f64>, u32, Script, Lead) {
        run_prepared(0, script)
    }

    fn run_prepared(prepare_ns: u64, script: fn(usize) -> (u64, Arrival)) -> (Vec<f64>, u32, Script, Lead) {
        let (series, machine, lead) = run_with((prepare_ns, None), script);
        (series.seconds, series.void, machine, lead)
    }

    fn run_with(
        (prepare_ns, offset_ns): (u64, Option<u64>),
        script: fn(usize) -> (u64, Arrival),
    ) -> (Series, Script, Lead) {
        let mut machine = Script {
            now_ns: 7_000_000,
            others_end_ns: 0,
            other: IN_TIME,
            offset_ns,
            starts: Vec::new(),
            calls: String::new(),
            prepare_ns,
            script,
        };
        let rule = Repetitions::fixed(4, 1e9);
        let (mut schedule, mut lead) = (Schedule::new(1, 0, rule, 0), Lead::new(Wait::Spin));
        measure(&mut machine, &mut schedule, &mut lead).unwrap();
        (schedule.into_series().remove(0), machine, lead)
    }

    fn nanoseconds(seconds: &[f64]) -> Vec<u64> {
        seconds.iter().map(|seconds| (seconds * 1e9).round() as u64).collect()
    }

    #[test]
    fn a_time_is_the_latest_end_minus_the_agreed_start() {
        let (seconds, void, machine, _) = run(|i| ([5_000, 30_000, 10_000, 11_000][i], IN_TIME));
        assert_eq!((nanoseconds(&seconds), void), (vec![10_000, 30_000, 10_000, 11_000], 0));
        assert!(
            machine.starts.iter().all(|(agreed, start)| start - agreed == 20_000),
            "{:?}",
            machine.starts
        );
    }

    #[test]
    fn ranks_that_come_apart_are_timed_from_the_last_arrival_and_each_from_its_own() {
        // Rank 1 comes 8 us late and ends 11, 15, 12 and 10 us after the start; rank 0 comes at the start and ends 10 us after it.
        let (series, ..) = run_with((0, Some(8_000)), |i| ([11_000, 15_000, 12_000, 10_000][i], IN_TIME));
        assert_eq!(nanoseconds(&series.seconds), [3_000, 7_000, 4_000, 2_000]);
        assert_eq!(series.delay_ns, 4 * 10_000);
        let (together, ..) = run_with((0, None), |_| (5_000, IN_TIME));
        assert_eq!(together.delay_ns, 0, "nobody asked for it");
    }

    #[test]
    fn a_void_repetition_is_in_no_delay() {
        const ARRIVALS: [Arrival; 5] = [IN_TIME, DISTURBED, IN_TIME, IN_TIME, IN_TIME];
        let (series, ..) = run_with((0, Some(1_000)), |i| (5_000, ARRIVALS[i]));
        assert_eq!((series.seconds.len(), series.void, series.delay_ns), (4, 1, 4 * 10_000));
    }

    #[test]
    fn what_is_made_ready_before_each_repetition_is_in_no_time() {
        let (seconds, void, machine, _) = run_prepared(50_000_000, |_| (5_000, IN_TIME));
        assert_eq!((nanoseconds(&seconds), void), (vec![10_000; 4], 0));
        // The last one was in vain: only the exchange tells that the block has enough.
        assert_eq!(machine.calls, "parparparparpa");
        assert!(machine.starts.iter().all(|(agreed, start)| start - agreed == 20_000));
    }

    #[test]
    fn a_rank_out_of_time_voids_the_repetition_and_a_missed_start_widens_the_lead() {
        const ARRIVALS: [Arrival; 6] = [IN_TIME, DISTURBED, Missed, IN_TIME, IN_TIME, IN_TIME];
        let (seconds, void, machine, lead) = run(|i| (5_000 + i as u64 * 10_000, ARRIVALS[i]));
        // Rank 1 takes 5, 15, 25, 35, ... us; the second and the third count no.
        assert_eq!((nanoseconds(&seconds), void), (vec![10_000, 35_000, 45_000, 55_000], 2));
        let leads: Vec<u64> = machine.starts.iter().map(|(agreed, start)| start - agreed).collect();
        // It had needed 35 us, and gets a quarter more.
        assert_eq!(leads, [20_000, 20_000, 20_000, 44_750, 44_750, 44_750]);
        assert_eq!(lead.ns(), 44_750);
    }
}
