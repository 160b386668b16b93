//! The screening: one cheap pass that says which cells can be violated at all, and which of them to look at first.
//!
//! Every cell is measured in two launches of a few repetitions, or in one that shows it far below its bound. What is learnt decides where fresh launches go,
//! and **these launches take no part in the confirmation**: the choice of what is tested is independent of the data it is tested on.
//! So the correction for multiple tests runs over the cells that are confirmed, and the probability of a false violation
//! stays at alpha, whatever the screening chose.
//!
//! Two launches say little about how much one cell varies from launch to launch, but hundreds of cells together say it well.
//! So the spread of the log ratio is pooled over all cells: nine tenths of the deviations lie within 1.645 of it, which leans
//! to the cells that vary more. A cell that varied more than that itself counts with its own.
//!
//! * **clear**: the ratio is below the bound beyond doubt; the upper end of the one-sided 99 % interval lies within the floor.
//!   Such a cell *holds*, and costs nothing more.
//! * **open**: everything else. It can be violated.
//!
//! A cell of which each repetition takes half of each of its bound's or less in the first launch ([`FAR_BELOW`]) gets no second one, as long as enough
//! other cells get it to say how much launches vary ([`second_launch`]). It is clear by the same interval, for one launch. A violated cell is lost
//! only if one launch halves its ratio: where log ratios vary by 0.2, once in ten thousand, and where they vary by 0.3, the interval is wider than that half.
//!
//! Open cells are confirmed in the order of what launches can show of them: violations first, in the order of the seconds that a fix may save,
//! as the optimist reads the screening (one standard error up), for each second of measuring.

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

use super::Rule;
use super::launches::Reach;
use crate::hodges_lehmann::SHORTEST_SECONDS;
use crate::sample::Sample;

/// Launches of a screening.
pub const SCREENING_LAUNCHES: usize = 2;

/// Left over right at which one launch is enough. Usual noise between launches does not halve a ratio, and noise within one does not halve that of
/// the slowest repetition to the fastest one.
pub const FAR_BELOW: f64 = 0.5;

/// Cells in a second launch without which everything gets one: the spread between launches is estimated from these.
pub const FEWEST_TWICE: usize = 20;

/// Confidence, one-sided, at which a cell is clear. Stricter than the 95 % of a confirmation, since the spread is not the cell's own.
const CONFIDENCE: f64 = 0.99;

/// Share of the deviations that determines the pooled spread, and where that share lies in a normal distribution.
const POOLED_SHARE: f64 = 0.9;
const POOLED_DEVIATIONS: f64 = 1.645;

/// The sides of a cell: their medians in the same launches of a screening, in one order, or their repetitions in one launch; in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    /// The side that should not be slower.
    pub left: Vec<f64>,
    /// Its bound.
    pub right: Vec<f64>,
}

/// Result of the screening for a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Screened {
    /// True if the screening excludes a relevant slowdown.
    pub clear: bool,
    /// Left over right: geometric mean over the launches.
    pub ratio: f64,
    /// One-sided 99 % interval's upper end of the ratio.
    pub upper: f64,
    /// One-sided p-value of "the left side is slower", with the pooled spread; 1 where no spread is known. It is reported and decides nothing.
    pub p: f64,
    /// Seconds that a call may take too long, read by an optimist; 0 where the ratio promises nothing.
    pub excess_seconds: f64,
    /// Standard error of the ratio's logarithm.
    pub error: f64,
}

/// Verdict that further launches are expected to give a cell. Cells are confirmed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expected {
    /// A violation.
    Violation,
    /// The guideline holds, at the first look.
    Holds,
    /// Neither.
    Nothing,
}

/// Chance of a violation from which on one is expected.
const LIKELY: f64 = 0.25;

impl Expected {
    /// Weight of the cell's hypotheses in the correction for multiple tests. The screening's data are not judged, so any weights keep alpha; these
    /// leave most of it to what can be shown to be violated, and enough to the others that a clear violation of theirs is found with a launch or two more.
    #[must_use]
    pub fn weight(self) -> f64 {
        match self {
            Expected::Violation => 1.0,
            Expected::Nothing => 0.5,
            Expected::Holds => 0.25,
        }
    }
}

impl Screened {
    /// Verdict that launches with this reach will give. A cell that was not above its bound will hold. One that was
    /// above it will be violated if that is likely, or lies too near the floor to be decided. Without a known reach
    /// every cell above its bound counts as a likely violation.
    #[must_use]
    pub fn expected(&self, reach: Option<&Reach>) -> Expected {
        let is_likely = reach.is_none_or(|reach| self.chance(reach) >= LIKELY);
        match self.ratio > 1.0 {
            true if is_likely => Expected::Violation,
            true => Expected::Nothing,
            false => Expected::Holds,
        }
    }

    /// Probability that further launches show a violation, as far as the screening knows the ratio.
    #[must_use]
    pub fn chance(&self, reach: &Reach) -> f64 {
        let errors = (self.ratio.ln() - reach.logarithm) / self.error.hypot(reach.error);
        // A ratio that never varies is the one that was seen.
        if errors.is_nan() {
            return 0.5;
        }
        Normal::standard().cdf(errors)
    }

    /// Distance of the log ratio from the floor, on either side, less two standard errors; never below 0.
    /// `right_seconds` is the time of the bound.
    #[must_use]
    pub fn distance(&self, rule: &Rule, right_seconds: f64) -> f64 {
        let limit = rule.floor_fraction(right_seconds).ln_1p();
        let distance = (self.ratio.ln() - limit).abs() - 2.0 * self.error;
        // NaN, where nothing was measured, is no distance.
        distance.max(0.0)
    }
}

/// The cells that need a second launch by their repetitions in the first one, in their order. A cell without a repetition needs it.
#[must_use]
pub fn second_launch(first: &[Sides]) -> Vec<bool> {
    let needed: Vec<bool> = first.iter().map(|sides| !sides.is_far_below()).collect();
    let measured = first.iter().zip(&needed);
    let twice = measured.filter(|(sides, needed)| **needed && !sides.left.is_empty());
    if twice.count() < FEWEST_TWICE {
        return vec![true; first.len()];
    }
    needed
}

/// Looks at the cells of a run together. A cell without a launch is open, and so is one with a single launch unless that shows it far below its
/// bound. Noise of the clock ([`Rule::noise_seconds`]) counts as everywhere.
#[must_use]
pub fn screen(cells: &[Sides], rule: &Rule) -> Vec<Screened> {
    let logs: Vec<Vec<f64>> = cells.iter().map(Sides::log_ratios).collect();
    let spread = Spread::pooled(&logs);
    cells
        .iter()
        .zip(&logs)
        .map(|(sides, logs)| one(sides, logs, &spread, rule))
        .collect()
}

/// Standard deviation of a cell's log ratio from launch to launch, pooled over these cells; 0 where no cell has two launches.
#[must_use]
pub fn deviation_of(cells: &[Sides]) -> f64 {
    let logs: Vec<Vec<f64>> = cells.iter().map(Sides::log_ratios).collect();
    Spread::pooled(&logs).deviation
}

fn one(sides: &Sides, logs: &[f64], spread: &Spread, rule: &Rule) -> Screened {
    let launches = logs.len() as f64;
    let mean = mean(logs);
    let deviation = spread.deviation.max(deviation(logs));
    let error = deviation / launches.max(1.0).sqrt();
    let right = Sample::new(sides.right.clone()).map_or(0.0, |right| right.median());
    let upper = (mean + spread.quantile * error).exp();
    // A spread that nothing is known of excludes nothing.
    let known = !logs.is_empty() && spread.freedom > 0;
    let is_enough = logs.len() > 1 || sides.is_far_below();
    Screened {
        clear: known && is_enough && upper <= 1.0 + rule.floor_fraction(right),
        ratio: mean.exp(),
        upper: if known { upper } else { f64::INFINITY },
        p: if known { spread.p(mean / error) } else { 1.0 },
        excess_seconds: right * ((mean + error).exp() - 1.0).max(0.0),
        error,
    }
}

/// Variation of a cell's log ratio from launch to launch.
struct Spread {
    deviation: f64,
    /// Degrees of freedom behind it.
    freedom: usize,
    /// Distribution of the mean over its standard error.
    distribution: Option<StudentsT>,
    /// Standard errors between the mean and the end of the interval.
    quantile: f64,
}

impl Spread {
    fn pooled(cells: &[Vec<f64>]) -> Spread {
        let mut deviations = Vec::new();
        let mut freedom = 0;
        for logs in cells.iter().filter(|logs| logs.len() > 1) {
            let (n, mean) = (logs.len() as f64, mean(logs));
            freedom += logs.len() - 1;
            // Unbiased for one launch.
            deviations.extend(logs.iter().map(|log| (log - mean).abs() * (n / (n - 1.0)).sqrt()));
        }
        let deviation = Sample::new(deviations).map_or(0.0, |all| all.quantile(POOLED_SHARE) / POOLED_DEVIATIONS);
        let distribution = StudentsT::new(0.0, 1.0, freedom as f64).ok();
        Spread {
            deviation,
            freedom,
            quantile: distribution.map_or(f64::INFINITY, |t| t.inverse_cdf(CONFIDENCE)),
            distribution,
        }
    }

    fn p(&self, errors: f64) -> f64 {
        // Equal times that never vary are no evidence.
        let errors = if errors.is_nan() { 0.0 } else { errors };
        self.distribution.map_or(1.0, |t| t.sf(errors))
    }
}

impl Sides {
    /// True if each time of the left side is [`FAR_BELOW`] of each time of the right one or less. Nothing measured is not far below.
    #[must_use]
    pub fn is_far_below(&self) -> bool {
        let slowest = self.left.iter().copied().reduce(f64::max);
        let fastest = self.right.iter().copied().reduce(f64::min);
        slowest
            .zip(fastest)
            .is_some_and(|(slowest, fastest)| slowest <= FAR_BELOW * fastest)
    }

    fn log_ratios(&self) -> Vec<f64> {
        let log = |seconds: &f64| seconds.max(SHORTEST_SECONDS).ln();
        let both = self.left.iter().zip(&self.right);
        both.map(|(left, right)| log(left) - log(right)).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len() as f64).max(1.0)
}

/// Standard deviation, n - 1 in the denominator; 0 for fewer than two values.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(ratios: [f64; 2]) -> Sides {
        Sides {
            left: ratios.map(|ratio| ratio * 1e-5).to_vec(),
            right: vec![1e-5; 2],
        }
    }

    /// Cells of ratio 1 that vary by 3 % from launch to launch, and these.
    fn among_many(cell: Sides) -> Screened {
        let mut cells: Vec<Sides> = (0..200)
            .map(|i| sides([1.0 + 0.001 * f64::from(i % 60), 1.0 - 0.001 * f64::from(i % 60)]))
            .collect();
        cells.push(cell);
        *screen(&cells, &Rule::default()).last().unwrap()
    }

    #[test]
    fn what_is_far_below_its_bound_is_clear_and_what_is_near_or_above_is_open() {
        assert!(among_many(sides([0.7, 0.71])).clear);
        assert!(!among_many(sides([1.0, 1.0])).clear);
        assert!(!among_many(sides([1.5, 1.4])).clear);
        // The floor: 5 % slower would hold, but two launches do not exclude more.
        assert!(!among_many(sides([1.04, 1.04])).clear);
    }

    #[test]
    fn a_cell_that_varies_itself_is_not_clear() {
        let wild = among_many(sides([0.4, 1.1]));
        assert!(!wild.clear, "{wild:?}");
        let steady = among_many(sides([0.66, 0.67]));
        assert!(steady.clear, "{steady:?}");
    }

    /// One launch in which the left side takes this ratio.
    fn once(ratio: f64) -> Sides {
        Sides {
            left: vec![ratio * 1e-5],
            right: vec![1e-5],
        }
    }

    #[test]
    fn one_launch_is_enough_far_below_the_bound_and_nowhere_else() {
        assert!(among_many(once(0.5)).clear);
        assert!(!among_many(once(0.55)).clear, "two launches would do");
        assert!(among_many(sides([0.55, 0.55])).clear);
        // Launches that vary by 0.4 let half of the bound exclude nothing.
        let wild = (0..200).map(|i| sides([1.0 + 0.009 * f64::from(i % 60), 1.0 - 0.009 * f64::from(i % 60)]));
        let mut cells: Vec<Sides> = wild.collect();
        cells.push(once(0.45));
        assert!(!screen(&cells, &Rule::default()).last().unwrap().clear);
    }

    #[test]
    fn a_second_launch_goes_to_what_is_not_far_below_its_bound() {
        let near = vec![once(0.9); FEWEST_TWICE];
        let with = |more: &[Sides]| second_launch(&[&near[..], more].concat())[FEWEST_TWICE..].to_vec();
        let nothing = Sides {
            left: Vec::new(),
            right: Vec::new(),
        };
        assert_eq!(
            with(&[once(0.5), once(0.51), once(3.0), nothing.clone()]),
            [false, true, true, true]
        );
        assert_eq!(second_launch(&near), vec![true; FEWEST_TWICE]);
        // A disturbance of some repetitions moves the median, and not all of them.
        let disturbed = Sides {
            left: vec![1e-6, 1e-6, 7e-6],
            right: vec![9e-6, 9e-6, 3e-6],
        };
        let apart = Sides {
            left: vec![1e-6, 1e-6, 1.5e-6],
            ..disturbed.clone()
        };
        assert_eq!(with(&[disturbed, apart]), [true, false]);
        // Too few would be left to know the spread, and what was not timed says nothing of it.
        let few = [&near[1..], &[nothing, once(0.1)]].concat();
        assert_eq!(second_launch(&few), vec![true; FEWEST_TWICE + 1]);
    }

    #[test]
    fn one_launch_alone_excludes_nothing() {
        let alone = Sides {
            left: vec![1e-6],
            right: vec![1e-3],
        };
        let screened = screen(&[alone.clone(), alone], &Rule::default());
        assert!(screened.iter().all(|one| !one.clear && one.upper.is_infinite()));
        let nothing = Sides {
            left: Vec::new(),
            right: Vec::new(),
        };
        assert!(!screen(&[nothing], &Rule::default())[0].clear);
    }

    #[test]
    fn the_optimists_excess_is_in_seconds_and_never_below_zero() {
        let slow = among_many(sides([1.5, 1.5]));
        assert!((5e-6..7e-6).contains(&slow.excess_seconds), "{slow:?}");
        assert_eq!(among_many(sides([0.5, 0.5])).excess_seconds, 0.0);
        assert!(slow.p < 1e-6 && among_many(sides([0.5, 0.5])).p > 0.999, "{slow:?}");
        approx::assert_relative_eq!(among_many(sides([1.0, 1.0])).p, 0.5);
    }

    #[test]
    fn the_chance_of_a_violation_follows_from_the_ratio_and_from_what_launches_can_show() {
        let rule = Rule::default();
        let chance = |ratio: f64| {
            let screened = among_many(sides([ratio, ratio]));
            screened.chance(&Reach::of(0.03, 10, 200, &rule))
        };
        assert!(chance(1.5) > 0.999);
        assert!(chance(1.0) < 0.1, "{}", chance(1.0));
        assert!((0.2..0.8).contains(&chance(1.06)), "{}", chance(1.06));
    }

    #[test]
    fn the_distance_to_the_floor_is_two_errors_less_than_was_seen_and_never_below_zero() {
        let rule = Rule::default();
        let distance = |ratio: f64| {
            let screened = among_many(sides([ratio, ratio]));
            (screened.distance(&rule, 1e-5), screened.error)
        };
        let (far, error) = distance(2.0);
        approx::assert_relative_eq!(far, (2.0_f64 / 1.05).ln() - 2.0 * error, max_relative = 1e-9);
        let (below, _) = distance(0.5);
        approx::assert_relative_eq!(below, (1.05_f64 / 0.5).ln() - 2.0 * error, max_relative = 1e-9);
        assert_eq!(distance(1.05).0, 0.0);
    }

    #[test]
    fn within_the_noise_of_the_clock_is_clear() {
        let rule = Rule {
            noise_seconds: 1e-5,
            ..Rule::default()
        };
        let cells = vec![sides([1.5, 1.5]); 100];
        assert!(screen(&cells, &rule).iter().all(|one| one.clear));
    }

    #[test]
    fn few_cells_need_a_wider_margin() {
        // One cell of two launches has one degree of freedom: 31.8 standard errors.
        let cell = sides([0.70, 0.74]);
        assert!(!screen(&[cell], &Rule::default())[0].clear);
    }
}
