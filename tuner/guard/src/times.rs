//! The times of a night against the accepted ones.
//!
//! Every watched cell has a sample of launch medians from when the state was accepted. A night makes few launches of all cells. Cells whose
//! median lies above the accepted one by half of what counts are [`suspects`]: they get further launches, and these alone are judged, so that
//! what chance has chosen does not count twice. [`judge`] tests them as `kilter compare` tests times: the rank sum and Yuen's test both have to
//! reject, corrected by Holm over *all* watched cells, and the effect has to exceed the tolerance.
//!
//! Two things protect from a machine whose nights differ. The tolerance of a cell is at least three times the spread of the nights in which
//! nothing was found, once there are four. And the test runs at a tenth of alpha ([`Rule::of_ten_nights`]), so that alpha bounds the
//! probability of even one false alarm in ten nights, by the union of their tests, if the launches of a night are alike.

use schemars::JsonSchema;
use serde::Serialize;

use kilter_stats::median_interval::median_interval;
use kilter_stats::sample::Sample;
use kilter_stats::{holm, unpaired};

use crate::chance;

/// Confidence of the intervals, as in reports.
const CONFIDENCE: f64 = 0.95;

/// Nights whose errors alpha bounds together.
const NIGHTS: f64 = 10.0;

/// Fewest nights whose spread says something.
const FEWEST_NIGHTS: usize = 4;

/// Spreads of the nights that a change must exceed.
const SPREADS: f64 = 3.0;

/// Share of the tolerance beyond which a cell is looked at again.
const SUSPICIOUS: f64 = 0.5;

/// The rule of a night.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Probability of even one false alarm in a night.
    pub alpha: f64,
    /// Smallest change of a time that counts, as a fraction.
    pub tolerance: f64,
    /// Variation of an empty operation, in seconds; twice this counts for nothing either.
    pub noise_seconds: f64,
}

impl Rule {
    /// The rule of each night that bounds the probability of even one false alarm in ten of them by `alpha`.
    #[must_use]
    pub fn of_ten_nights(alpha: f64, tolerance: f64) -> Rule {
        Rule {
            alpha: alpha / NIGHTS,
            tolerance,
            noise_seconds: 0.0,
        }
    }
}

/// A watched cell: what is known of it, and what tonight gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Its name, such as `reduce(n) 4096`.
    pub cell: String,
    /// Launch medians of the accepted night, in seconds.
    pub accepted: Sample,
    /// Medians of the nights since in which nothing was found, in seconds.
    pub nights: Vec<f64>,
    /// Launch medians of tonight; `None` where there are none.
    pub tonight: Option<Sample>,
    /// Further ones, of launches made because the cell was suspected.
    pub again: Option<Sample>,
}

/// A cell's standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As it was accepted, as far as the launches tell.
    Same,
    /// Slower, beyond tolerance and chance.
    Slower,
    /// It gave no times tonight.
    NotMeasured,
}

/// A judged cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Timed {
    /// Its name.
    pub cell: String,
    /// Accepted median, in seconds.
    pub accepted_seconds: f64,
    /// 95 % interval of the accepted median, in seconds.
    pub accepted_interval: (f64, f64),
    /// Median of tonight, in seconds.
    pub seconds: Option<f64>,
    /// 95 % interval of the median of tonight, in seconds; the extremes of fewer than six launches.
    pub seconds_interval: Option<(f64, f64)>,
    /// Tonight over accepted.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// Probability of this by chance, corrected for all watched cells; 1 for cells that were not suspected.
    pub p_adjusted: f64,
    /// Smallest change that counts for this cell, as a fraction.
    pub tolerance: f64,
    /// Launches that judged it.
    pub launches: usize,
    /// Standing.
    pub pace: Pace,
}

impl Watched {
    /// Smallest change that counts, as a fraction: the rule's, that of the noise, or three times the spread of the nights.
    fn tolerance(&self, rule: &Rule) -> f64 {
        let tolerance = rule.tolerance.max(2.0 * rule.noise_seconds / self.accepted.median());
        let nights = std::iter::once(self.accepted.median()).chain(self.nights.iter().copied());
        let logs: Vec<f64> = nights.map(f64::ln).collect();
        if logs.len() < FEWEST_NIGHTS {
            return tolerance;
        }
        let centre = chance::median(logs.iter().copied()).unwrap_or_default();
        let spread = (SPREADS * chance::spread(&logs, centre)).exp() - 1.0;
        tolerance.max(spread)
    }
}

/// Names of the cells that deserve further launches.
#[must_use]
pub fn suspects(watched: &[Watched], rule: &Rule) -> Vec<String> {
    let is_suspect = |one: &&Watched| {
        let ratio = one.tonight.as_ref().map(|now| now.median() / one.accepted.median());
        ratio.is_some_and(|ratio| ratio > 1.0 + SUSPICIOUS * one.tolerance(rule))
    };
    let suspects = watched.iter().filter(is_suspect);
    suspects.map(|one| one.cell.clone()).collect()
}

/// Judges all watched cells together. A cell without further launches is not slower.
#[must_use]
pub fn judge(watched: &[Watched], rule: &Rule) -> Vec<Timed> {
    let p = |one: &Watched| {
        let again = one.again.as_ref();
        again.map_or(1.0, |again| unpaired::p_left_greater(again, &one.accepted))
    };
    let p: Vec<f64> = watched.iter().map(p).collect();
    let adjusted = holm::adjust(&p);
    watched
        .iter()
        .zip(adjusted)
        .map(|(one, p_adjusted)| timed(one, p_adjusted, rule))
        .collect()
}

fn timed(one: &Watched, p_adjusted: f64, rule: &Rule) -> Timed {
    let tolerance = one.tolerance(rule);
    let judged = one.again.as_ref().or(one.tonight.as_ref());
    let estimate = judged.map(|now| unpaired::ratio(now, &one.accepted, CONFIDENCE));
    let is_slower = one.again.is_some()
        && p_adjusted <= rule.alpha
        && estimate.is_some_and(|estimate| estimate.ratio > 1.0 + tolerance && estimate.low > 1.0);
    Timed {
        cell: one.cell.clone(),
        accepted_seconds: one.accepted.median(),
        accepted_interval: median_interval(&one.accepted, CONFIDENCE),
        seconds: judged.map(Sample::median),
        seconds_interval: judged.map(|now| median_interval(now, CONFIDENCE)),
        ratio: estimate.map(|estimate| estimate.ratio),
        interval: estimate.map(|estimate| (estimate.low, estimate.high)),
        p_adjusted,
        tolerance,
        launches: judged.map_or(0, Sample::len),
        pace: match judged {
            None => Pace::NotMeasured,
            Some(_) if is_slower => Pace::Slower,
            Some(_) => Pace::Same,
        },
    }
}

#[cfg(test)]
mod tests;
