//! Seconds that a final takes, foreseen from the blocks of its target so far.
//!
//! A screening's block has ten candidates, of which some take many times as long as the default; finalists are the fastest. So each item counts
//! by itself: its repetitions, with its median and the mean time of these blocks beside their repetitions, up to its limit.

use std::collections::BTreeMap;

use kilter_bench::store::BlockOutcome;
use kilter_model::plan::DEFAULT;
use kilter_protocol::plan::Repetitions;

/// Blocks of a target so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Pace {
    /// Median of each item, in seconds.
    medians: BTreeMap<String, f64>,
    /// Seconds that these blocks took beside their repetitions: preparing, exchanges, leads, checks.
    beside_seconds: f64,
    /// Number of their repetitions.
    made: usize,
}

impl Pace {
    /// A default that takes these seconds.
    pub(super) fn of(default_seconds: f64) -> Pace {
        Pace {
            medians: BTreeMap::from([(DEFAULT.to_owned(), default_seconds)]),
            ..Pace::default()
        }
    }

    pub(super) fn learn(&mut self, outcome: &BlockOutcome) {
        let own: f64 = outcome.samples.values().flat_map(|samples| &samples.seconds).sum();
        self.beside_seconds += (outcome.seconds - own).max(0.0);
        self.made += outcome
            .samples
            .values()
            .map(|samples| samples.seconds.len())
            .sum::<usize>();
        for id in outcome.samples.keys() {
            self.medians
                .extend(outcome.median(id).map(|median| (id.clone(), median)));
        }
    }

    /// Seconds of a block with these items, each of whose repetitions begins after a wait of `wait` medians of the default. An item without a median counts
    /// as the default; nothing is foreseen before that is known.
    pub(super) fn block_seconds<'i>(
        &self,
        items: impl Iterator<Item = &'i str>,
        repetitions: &Repetitions,
        wait: f64,
    ) -> f64 {
        let Some(default) = self.medians.get(DEFAULT) else {
            return 0.0;
        };
        let beside = self.beside_seconds / self.made.max(1) as f64;
        let seconds = |id: &str| {
            let once = self.medians.get(id).unwrap_or(default) + wait * default + beside;
            (f64::from(repetitions.max) * once).min(repetitions.seconds.max(once))
        };
        items.map(seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use kilter_bench::store::ItemSamples;

    use super::*;

    fn outcome(seconds: f64, items: &[(&str, f64, usize)]) -> BlockOutcome {
        let samples = items.iter().map(|&(id, median, number)| {
            let samples = ItemSamples {
                seconds: vec![median; number],
                void: 0,
            };
            (id.to_owned(), samples)
        });
        BlockOutcome {
            samples: samples.collect(),
            seconds,
            ..BlockOutcome::default()
        }
    }

    #[test]
    fn a_final_takes_what_its_own_items_take_and_not_what_slow_candidates_took() {
        let mut pace = Pace::default();
        let usual = Repetitions::fixed(4, 0.25);
        assert_eq!(pace.block_seconds([DEFAULT].into_iter(), &usual, 0.0), 0.0);
        // 4 x 10 + 4 x 5 + 4 x 500 ms, and 12 x 2 ms beside them.
        pace.learn(&outcome(
            2.084,
            &[(DEFAULT, 0.010, 4), ("fast", 0.005, 4), ("slow", 0.5, 4)],
        ));
        let seconds = |items: &[&str], wait| pace.block_seconds(items.iter().copied(), &usual, wait);
        approx::assert_relative_eq!(
            seconds(&[DEFAULT, "fast"], 0.0),
            4.0 * (0.012 + 0.007),
            max_relative = 1e-9
        );
        // Ranks that arrive over the time of the default.
        approx::assert_relative_eq!(seconds(&["fast"], 1.0), 4.0 * 0.017, max_relative = 1e-9);
        // A bound is unknown here.
        approx::assert_relative_eq!(seconds(&["bound"], 0.0), 4.0 * 0.012, max_relative = 1e-9);
        // The limit ends an item's repetitions, and not one of them.
        approx::assert_relative_eq!(seconds(&["slow"], 0.0), 0.502, max_relative = 1e-9);
        let many = Repetitions::until(8, 60, 0.02, 0.25);
        approx::assert_relative_eq!(
            pace.block_seconds(["fast"].into_iter(), &many, 0.0),
            0.25,
            max_relative = 1e-9
        );
    }

    #[test]
    fn later_blocks_are_learnt_from() {
        let mut pace = Pace::default();
        pace.learn(&outcome(0.2, &[(DEFAULT, 0.010, 10)]));
        pace.learn(&outcome(0.3, &[(DEFAULT, 0.020, 10)]));
        let usual = Repetitions::fixed(1, 1.0);
        approx::assert_relative_eq!(
            pace.block_seconds([DEFAULT].into_iter(), &usual, 0.0),
            0.030,
            max_relative = 1e-9
        );
    }
}
