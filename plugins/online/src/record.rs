//! An arm as a site remembers it for the whole job, with the cost that it expects of its next calls.

use crate::epoch::Batch;
use crate::knowledge::Seen;

/// An arm that was never timed may cost this many times the default: what its first calls may spend is laid aside.
const UNSEEN: i128 = 10;

/// An arm, as far as it was timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Counted time of a call in the mean, and the dearest call, of the last epoch that timed the arm.
    latest: Option<(u64, u64)>,
    /// True once this job timed it: first calls make connections.
    pub(crate) is_warm: bool,
    /// The arm as this job saw it.
    pub(crate) seen: Seen,
}

impl Record {
    /// An arm of which an earlier job knew that.
    pub(crate) fn known(seen: &Seen) -> Record {
        let mean = seen.counted_ns / seen.calls.max(1);
        Record {
            latest: (seen.calls > 0).then_some((mean, mean)),
            ..Record::default()
        }
    }

    pub(crate) fn add(&mut self, batch: &Batch) {
        // A call that was dear once may be so again; that is forgotten little by little.
        let worst = self.latest.map_or(0, |(_, worst)| worst - worst / 8);
        self.latest = Some((batch.mean(), batch.worst.max(worst)));
        self.is_warm = true;
        self.seen.calls += batch.calls;
        self.seen.counted_ns = self.seen.counted_ns.saturating_add(batch.counted);
        self.seen.median_ns = batch.median;
    }

    /// Counted time of a call, as last seen.
    pub(crate) fn mean(&self) -> Option<u64> {
        self.latest.map(|(mean, _)| mean)
    }

    /// Time that is laid aside for so many calls: twice what they took beyond the default last time, and once their dearest call.
    pub(crate) fn reserve(&self, calls: u64, default_ns: u64) -> i128 {
        let default = i128::from(default_ns);
        match self.latest {
            None => i128::from(calls) * (UNSEEN - 1) * default,
            Some((mean, worst)) => {
                let beyond = |ns: u64| (i128::from(ns) - default).max(0);
                2 * i128::from(calls) * beyond(mean) + beyond(worst)
            }
        }
    }
}

/// Calls after which earlier ones count half beside the default.
const RECENT: u64 = 32;

/// Counted times of an arm and of the default in the same epochs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    pub(crate) own: u64,
    pub(crate) default: u64,
    pub(crate) calls: u64,
}

impl Beside {
    /// The same with a further epoch.
    pub(crate) fn with(self, own: &Batch, default: &Batch) -> Beside {
        let mut sum = self;
        while sum.calls > RECENT {
            sum = Beside {
                own: sum.own / 2,
                default: sum.default / 2,
                calls: sum.calls / 2,
            };
        }
        let calls = own.calls.min(default.calls);
        Beside {
            own: sum.own.saturating_add(own.mean().saturating_mul(calls)),
            default: sum.default.saturating_add(default.mean().saturating_mul(calls)),
            calls: sum.calls + calls,
        }
    }

    /// Time beyond the default's that a call takes where the default takes so long.
    pub(crate) fn excess(&self, default_ns: u64) -> i128 {
        let default = i128::from(default_ns);
        match self.default {
            0 => 0,
            sum => default * i128::from(self.own) / i128::from(sum) - default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_aside_follows_the_last_batch() {
        let mut record = Record::default();
        assert_eq!(record.reserve(1, 100), 900);
        let batch = Batch {
            calls: 4,
            counted: 600,
            median: 140,
            worst: 200,
        };
        record.add(&batch);
        assert_eq!(record.reserve(8, 100), 2 * 8 * 50 + 100);
        assert_eq!(record.reserve(8, 500), 0, "it is faster");
        assert_eq!(
            (record.mean(), record.seen.calls, record.seen.counted_ns),
            (Some(150), 4, 600)
        );
        let cheap = Batch { worst: 100, ..batch };
        record.add(&cheap);
        assert_eq!(
            record.reserve(1, 100),
            2 * 50 + 75,
            "the dearest call is forgotten little by little"
        );
        let known = Record::known(&record.seen);
        assert_eq!((known.mean(), known.is_warm, known.seen.calls), (Some(150), false, 0));
        assert_eq!(Record::known(&Seen::default()).mean(), None);
    }

    #[test]
    fn beside_the_default_the_last_epochs_count_most() {
        let batch = |each: u64| Batch {
            calls: 8,
            counted: 8 * each,
            median: each,
            worst: each,
        };
        let mut beside = Beside::default();
        assert_eq!(beside.excess(1_000), 0, "nothing is known");
        (0..100).for_each(|_| beside = beside.with(&batch(70), &batch(100)));
        assert!(
            (-305..=-295).contains(&beside.excess(1_000)) && beside.calls <= RECENT + 8,
            "{beside:?}"
        );
        // An arm that got twice as slow is seen as such after some epochs, also where the default's level has changed.
        (0..20).for_each(|_| beside = beside.with(&batch(400), &batch(200)));
        assert!((970..=1_000).contains(&beside.excess(1_000)), "{beside:?}");
    }
}
