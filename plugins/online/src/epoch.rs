//! An epoch once it was exchanged: the cost of each call, and what a batch of them counts.

use crate::order::Slot;

/// Gift of a rank for a call that it did not time: it survives MAX, so that the call is void for all.
pub(crate) const VOID: i64 = i64::MAX;

/// A call counts at most this many medians of its arm's calls in its epoch.
const CUT: u64 = 16;

/// Largest cost that is believed: eleven days. It keeps sums far from overflow.
const MOST_NS: i64 = 1_000_000_000_000_000;

/// Common time at which the last call of an epoch ended that all ranks have timed, by the result of its exchange.
#[must_use]
pub fn last_ended(maxima: &[i64]) -> Option<i64> {
    let timed = maxima.chunks_exact(2).filter(|times| !times.contains(&VOID));
    timed.map(|times| times[1]).max()
}

/// Time from the largest start to the largest end, by the integers of both; `None` where a rank did not take them.
pub(crate) fn cost(times: &[i64]) -> Option<u64> {
    let &[start, end] = times else { return None };
    // Clocks of hosts differ by little, but may by more than a call takes.
    (start != VOID && end != VOID).then(|| end.saturating_sub(start).clamp(1, MOST_NS).unsigned_abs())
}

/// An epoch that ended.
#[derive(Debug)]
pub(crate) struct Epoch<'a> {
    slots: &'a [Slot],
    costs: Vec<Option<u64>>,
}

/// The calls of one arm in one epoch, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Calls that were timed.
    pub(crate) calls: u64,
    /// Their counted time in all, in ns.
    pub(crate) counted: u64,
    /// Median of a call (the lower one of two).
    pub(crate) median: u64,
    /// The dearest call, as counted.
    pub(crate) worst: u64,
}

impl Batch {
    /// Counted time of a call in the mean.
    pub(crate) fn mean(&self) -> u64 {
        self.counted / self.calls.max(1)
    }
}

impl<'a> Epoch<'a> {
    /// The epoch of these slots, by the largest start and end of each. A result of another length says nothing.
    pub(crate) fn new(slots: &'a [Slot], maxima: &[i64]) -> Epoch<'a> {
        let of_slot = |slot: usize| cost(maxima.get(2 * slot..2 * slot + 2)?);
        Epoch {
            slots,
            costs: (0..slots.len()).map(of_slot).collect(),
        }
    }

    /// Calls of an arm that the epoch has.
    pub(crate) fn asked(&self, arm: u16) -> u64 {
        self.slots.iter().filter(|slot| slot.arm == arm).count() as u64
    }

    /// All calls that were timed.
    pub(crate) fn timed(&self) -> u64 {
        self.costs.iter().flatten().count() as u64
    }

    /// The calls of an arm, if any was timed.
    pub(crate) fn batch(&self, arm: u16) -> Option<Batch> {
        let mut costs: Vec<u64> = self.of(arm).map(|(_, cost)| cost).collect();
        costs.sort_unstable();
        let median = *costs.get(costs.len().checked_sub(1)? / 2)?;
        let cut = median.saturating_mul(CUT);
        Some(Batch {
            calls: costs.len() as u64,
            counted: costs.iter().map(|cost| *cost.min(&cut)).sum(),
            median,
            worst: costs.last().map_or(0, |worst| *worst.min(&cut)),
        })
    }

    /// Costs of two arms in the blocks that timed both, each cut as in its batch.
    pub(crate) fn pairs(&self, arms: (u16, u16)) -> Vec<(u64, u64)> {
        let cut = |arm| self.batch(arm).map_or(0, |batch| batch.median.saturating_mul(CUT));
        let cuts = (cut(arms.0), cut(arms.1));
        let second: Vec<(u32, u64)> = self.of(arms.1).collect();
        let other = |block| second.iter().find(|(of, _)| *of == block).map(|(_, cost)| *cost);
        self.of(arms.0)
            .filter_map(|(block, cost)| Some((cost.min(cuts.0), other(block)?.min(cuts.1))))
            .collect()
    }

    fn of(&self, arm: u16) -> impl Iterator<Item = (u32, u64)> + '_ {
        let costs = self.slots.iter().zip(&self.costs);
        costs.filter_map(move |(slot, cost)| Some((slot.block, (*cost)?)).filter(|_| slot.arm == arm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(arms: &[(u16, u32)]) -> Vec<Slot> {
        arms.iter()
            .map(|(arm, block)| Slot {
                arm: *arm,
                block: *block,
                is_late: false,
            })
            .collect()
    }

    #[test]
    fn a_call_costs_from_the_last_arrival_to_the_last_end() {
        let slots = slots(&[(0, 0), (1, 0), (0, 1), (1, 1)]);
        let epoch = Epoch::new(&slots, &[100, 130, 200, 190, VOID, VOID, 300, 350]);
        assert_eq!(
            epoch.costs,
            [Some(30), Some(1), None, Some(50)],
            "clocks may say less than nothing"
        );
        assert_eq!((epoch.asked(0), epoch.timed()), (2, 3));
        assert_eq!(epoch.pairs((1, 0)), [(1, 30)]);
        let batch = epoch.batch(1).unwrap();
        assert_eq!((batch.calls, batch.median, batch.counted, batch.worst), (2, 1, 17, 16));
        assert_eq!(epoch.batch(2), None);
    }

    #[test]
    fn what_is_no_result_is_void() {
        let slots = slots(&[(0, 0), (1, 0)]);
        for maxima in [&[][..], &[VOID; 4], &[5, VOID, VOID, 7]] {
            assert_eq!(Epoch::new(&slots, maxima).timed(), 0);
        }
        assert_eq!(last_ended(&[VOID, VOID, 5, VOID]), None);
        assert_eq!(last_ended(&[100, 130, VOID, VOID, 90, 120]), Some(130));
        let widest = Epoch::new(&slots, &[i64::MIN, i64::MAX - 1, 0, 10]);
        assert_eq!(widest.costs, [Some(MOST_NS.unsigned_abs()), Some(10)]);
    }

    #[test]
    fn a_spike_counts_sixteen_medians_and_a_slow_arm_in_full() {
        let slots = slots(&[(0, 0), (0, 1), (0, 2), (1, 2)]);
        let epoch = Epoch::new(&slots, &[0, 10, 0, 12, 0, 5_000, 0, 5_000]);
        let default = epoch.batch(0).unwrap();
        assert_eq!((default.counted, default.worst), (10 + 12 + 16 * 12, 16 * 12));
        assert_eq!(epoch.batch(1).unwrap().counted, 5_000);
        assert_eq!(epoch.pairs((0, 1)), [(16 * 12, 5_000)]);
    }
}
