//! An epoch in the books: what it cost beside the default, and what it says against what was chosen.

use crate::acts::Told;
use crate::epoch::Epoch;
use crate::exploration::permille;
use crate::record::Beside;
use crate::site::{Aim, Site};

/// Calls that a ratio or a level of an epoch needs.
pub(super) const ENOUGH: u64 = 4;

/// An arm that takes next to nothing beside the default has not changed for this much of the default's time.
const LEAST_CHANGE_PERMILLE: u64 = 50;

/// Doubts that an epoch raises against the choice.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Doubt {
    /// The chosen arm is slower than it was, compared with the default.
    pub(super) of_incumbent: bool,
    /// The default is faster or slower than it was.
    pub(super) of_level: bool,
}

impl Site {
    /// Puts an epoch, the calls before it that were not timed, and the acts that it tells of into the account. Says which arms it timed for the first time.
    pub(super) fn account_for(&mut self, epoch: &Epoch, acts: Told, is_doubted: bool) -> Vec<bool> {
        let (told, own) = std::mem::take(&mut self.laid_aside);
        self.account.told(acts.ns(), told);
        self.laid_aside.0 = own;
        // Nothing is kept for another making of the site.
        let beyond = match acts {
            Told::Exchange(ns) => i128::from(ns) - told,
            Told::Making(_) => 0,
        };
        let measured = epoch.batch(0).map(|batch| batch.mean().max(1));
        let before = self.default_ns;
        let mut new = vec![false; self.records.len()];
        for (arm, record) in self.records.iter_mut().enumerate() {
            if let Some(batch) = epoch.batch(u16::try_from(arm).unwrap_or(u16::MAX)) {
                new[arm] = !record.is_warm;
                record.add(&batch);
            }
        }
        let Some(default_ns) = measured.or(before) else {
            self.account.took(beyond);
            return new;
        };
        self.default_ns = Some(default_ns);
        self.account.calls(epoch.timed(), default_ns);
        let mut challengers = 0;
        for arm in 1..u16::try_from(self.records.len()).unwrap_or(u16::MAX) {
            let Some(batch) = epoch.batch(arm) else { continue };
            let beyond = i128::from(batch.counted) - i128::from(batch.calls) * i128::from(default_ns);
            if arm == self.chosen.arm {
                self.account.charge(beyond);
            } else {
                // Luck of an arm of which nothing is shown pays for nothing.
                self.account.charge(beyond.max(0));
                challengers += beyond.max(0);
            }
        }
        self.account.took(challengers - self.reserve + beyond);
        self.account
            .calls(self.untimed, default_ns.min(before.unwrap_or(default_ns)));
        let excess_before = self.chosen.beside.excess(before.unwrap_or(default_ns));
        if self.chosen.arm != 0
            && let (Some(own), Some(default)) = (epoch.batch(self.chosen.arm), epoch.batch(0))
        {
            // An arm that has got slow is charged for that at once; luck of few calls is smoothed.
            let earlier = if is_doubted {
                Beside::default()
            } else {
                self.chosen.beside
            };
            self.chosen.beside = earlier.with(&own, &default);
        }
        if self.running != 0 {
            let each = excess_before.max(self.chosen.beside.excess(default_ns));
            self.account.charge(i128::from(self.untimed) * each);
        }
        self.untimed = 0;
        new
    }

    pub(super) fn doubt(&self, epoch: &Epoch) -> Doubt {
        let mut doubt = Doubt::default();
        // A look for which the slack paid few calls says what it can.
        let enough = match self.aim {
            Aim::Watch(_) => epoch.asked(0).min(ENOUGH),
            Aim::Explore(_) => ENOUGH,
        };
        let Some(default) = epoch.batch(0).filter(|batch| batch.calls >= enough) else {
            return doubt;
        };
        doubt.of_level = self.levels.is_some_and(|levels| levels.is_left_by(default.median));
        if self.chosen.arm != 0
            && let Some(batch) = epoch.batch(self.chosen.arm).filter(|batch| batch.calls >= enough)
        {
            let high = self.chosen.ratios.map_or(1000, |ratios| ratios.high());
            // An arm that was a third faster has changed long before it is slower than the default.
            let most = high.max(1000).min(high + (high / 4).max(LEAST_CHANGE_PERMILLE));
            doubt.of_incumbent = permille(batch.median, default.median) > most;
        }
        doubt
    }
}
