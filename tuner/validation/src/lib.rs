//! Do the verdicts keep their promises? Error rates, power and cost on scripted times whose truth is known.
//!
//! Everything is drawn from one seed, trial by trial, so that the answer does not depend on the number of threads.
//! [`machine`] makes the times, one file each counts false violations of single tests ([`single`]), of whole runs
//! ([`runs`]), the same under conditions that are hard on them ([`hard`], [`condition`]), detected slowdowns ([`power`]), monotony against a flat correction ([`monotony`]), benchmark seconds
//! ([`cost`]) and verdicts on targets for overlap ([`targets`]); [`table`] prints.

pub mod condition;
pub mod cost;
pub mod hard;
pub mod machine;
pub mod monotony;
pub mod power;
pub mod rate;
pub mod runs;
pub mod single;
pub mod table;
pub mod targets;

use serde::Serialize;

/// Amount and seed of the scripted times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Comparisons per condition; whole runs are a fraction of that.
    pub trials: usize,
    /// Seed of all times.
    pub seed: u64,
}

/// Results of all parts of the validation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// Comparisons per condition.
    pub trials: usize,
    /// Seed of all times.
    pub seed: u64,
    /// False violations of single tests.
    pub single: Vec<single::Row>,
    /// False decisions in whole runs.
    pub runs: Vec<runs::Row>,
    /// Whole runs under hard conditions.
    pub hard: Vec<hard::Row>,
    /// Detected slowdowns.
    pub power: Vec<power::Row>,
    /// Monotony: violated sizes found, by way of correction.
    pub monotony: Vec<monotony::Row>,
    /// Benchmark seconds.
    pub cost: cost::Cost,
    /// Targets for overlap.
    pub targets: Vec<targets::Row>,
}

impl Validation {
    /// True if every promise is kept, within the limits of chance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.single.iter().all(|row| row.false_violations.at_most(row.nominal))
            && self.runs.iter().all(|row| row.false_decisions.at_most(row.nominal))
            && self.hard.iter().all(hard::Row::is_kept)
            && self
                .power
                .iter()
                .all(|row| row.promised.is_none_or(|promised| row.found.at_least(promised)))
            && self.cost.passed()
            && self.targets.iter().all(targets::Row::is_kept)
    }
}

/// Draws and counts.
#[must_use]
pub fn validate(options: &Options) -> Validation {
    Validation {
        trials: options.trials,
        seed: options.seed,
        single: single::validate(options),
        runs: runs::validate(options),
        hard: hard::validate(options),
        power: power::validate(options),
        monotony: monotony::validate(options),
        cost: cost::validate(options),
        targets: targets::validate(options),
    }
}
