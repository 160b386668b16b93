//! Judges by a reference cell if the machine stayed the same during the run, and which verdicts that puts in doubt.
//!
//! The reference cell is one fixed operation, measured at several positions of every launch (at the start, between
//! blocks, at the end). Three things are looked for in the medians, on logarithms:
//!
//! * **Drift**: over the launches (Mann-Kendall test on the launches' medians) and within a launch (the same test over the
//!   positions, summed over the launches). It counts at p <= 1 % if the Theil-Sen slope, over all launches or positions,
//!   also changes the time by more than the effect floor.
//! * **Two modes**: launches fall into a fast and a slow group ([`two_modes`]), at p <= 1 % and further apart than the
//!   effect floor.
//! * **Outliers**: launches further from the median than 3.5 scaled median absolute deviations (Iglewicz and Hoaglin, How
//!   to Detect and Handle Outliers, 1993) and than the effect floor. They are set aside before modes are looked for.
//!
//! Both sides of a pair are measured interleaved in the same launch. A disturbance of the whole launch slows both and
//! leaves their **ratio within the launch** alone. A verdict is in doubt only if that ratio itself depends on the mode
//! or on the half of the run ([`Stability::affects`]). It is then [`Unstable`](crate::verdict::Outcome::Unstable), with
//! the reason, and gets more launches.
//!
//! The test of pairs, the default, judges by the same ratio and needs no help here. A test that takes the sides as
//! independent sees modes and drift as noise, through which it may decide nothing.
//!
//! Drift within a launch shifts blocks against each other, not the sides of one block. Each launch draws their order
//! anew, so that the drift adds noise but no bias to comparisons between blocks (monotony). It is reported and makes no
//! verdict unstable.

use super::Rule;
use crate::hodges_lehmann::SHORTEST_SECONDS;
use crate::sample::{Sample, SampleError};
use crate::verdict::{Comparison, Outcome};
use crate::{kendall, two_modes, unpaired};

/// Level of the tests on the reference cell.
const LEVEL: f64 = 0.01;

/// Level of "the ratio differs between the groups", two-sided.
const GROUPS_LEVEL: f64 = 0.05;

/// Scaled median absolute deviations beyond which a launch is an outlier.
const OUTLIER: f64 = 3.5;

/// A group with fewer launches says nothing about a verdict.
const LEAST_LAUNCHES: usize = 2;

/// A trend of the reference cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Two-sided p-value.
    pub p: f64,
    /// Last over first by the slope: 1.5 is half as slow again at the end.
    pub factor: f64,
    /// True if the drift is significant and large enough to matter.
    pub found: bool,
}

/// Group of a launch by the time of its reference cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Like most, or in the fast group.
    Fast,
    /// The slow group.
    Slow,
    /// Far from all others.
    Outlier,
}

/// Findings of the reference cell about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Stability {
    /// Over the launches.
    pub across: Drift,
    /// Drift from the first position of a launch to its last.
    pub within: Drift,
    /// Slow over fast, where the launches fall into two modes.
    pub modes_factor: Option<f64>,
    /// Each launch, in order.
    pub modes: Vec<Mode>,
}

impl Stability {
    /// Judges the reference cell. `reference` holds its medians in seconds for each launch, at the positions of the
    /// launch, in order. The error tells of a missing launch, a launch without a median, or a median that is no finite
    /// number.
    pub fn of(reference: &[Vec<f64>], rule: &Rule) -> Result<Stability, SampleError> {
        let mut logarithms = Vec::new();
        for launch in reference {
            let sample = Sample::new(launch.clone())?;
            logarithms.push(
                sample
                    .values()
                    .iter()
                    .map(|seconds| log(*seconds))
                    .collect::<Vec<f64>>(),
            );
        }
        let mut levels = Vec::new();
        for launch in &logarithms {
            levels.push(Sample::new(launch.clone())?.median());
        }
        let floor = rule.effect_floor.ln_1p();
        let drift = |p: f64, change: f64| Drift {
            p,
            factor: change.exp(),
            found: p <= LEVEL && change.abs() > floor,
        };
        let across = kendall::slope(&levels).unwrap_or(0.0) * (levels.len() as f64 - 1.0);
        let mut changes: Vec<f64> = logarithms
            .iter()
            .filter_map(|launch| kendall::slope(launch).map(|slope| slope * (launch.len() as f64 - 1.0)))
            .collect();
        changes.sort_unstable_by(f64::total_cmp);
        let within = Sample::new(changes).map_or(0.0, |changes| changes.median());
        let (modes, modes_factor) = modes(&levels, floor)?;
        Ok(Stability {
            across: drift(kendall::p_of_trend([&levels[..]]), across),
            within: drift(kendall::p_of_trend(logarithms.iter().map(Vec::as_slice)), within),
            modes_factor,
            modes,
        })
    }

    /// True if nothing was found.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.warnings().is_empty()
    }

    /// The findings, one sentence each, ending in an action.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let slower = |factor: f64| {
            if factor >= 1.0 {
                format!("{:.0} % slower", (factor - 1.0) * 100.0)
            } else {
                format!("{:.0} % faster", (1.0 - factor) * 100.0)
            }
        };
        if self.across.found {
            warnings.push(format!(
                "the reference cell got {} over the {} launches (p = {:.1e}); measure on a quiet machine",
                slower(self.across.factor),
                self.modes.len(),
                self.across.p
            ));
        }
        if self.within.found {
            warnings.push(format!(
                "the reference cell gets {} from the start of a launch to its end (p = {:.1e}); warm up longer or measure less per launch",
                slower(self.within.factor),
                self.within.p
            ));
        }
        let count = |mode: Mode| self.modes.iter().filter(|&&each| each == mode).count();
        if let Some(factor) = self.modes_factor {
            warnings.push(format!(
                "{} of {} launches were in a slow mode, {factor:.2} times the others; bind the ranks to cores",
                count(Mode::Slow),
                self.modes.len()
            ));
        }
        if count(Mode::Outlier) > 0 {
            warnings.push(format!(
                "{} of {} launches are outliers in the reference cell; look for other load on the machine",
                count(Mode::Outlier),
                self.modes.len()
            ));
        }
        warnings
    }

    /// Says why a verdict does not stand; `None` if it does. `launches[i]` is the launch (from 0, as in
    /// [`Stability::of`]) of the i-th median of **both** sides. Values beyond the shortest of the three are left out.
    ///
    /// The launches are put into groups: the two modes, or the first and the second half where there is a drift; outliers
    /// are left out. The ratio of the sides within each launch is compared between the groups.
    ///
    /// * *violated* falls if a group shows no relevant slowdown (median ratio) and either differs from the other group
    ///   (two-sided test of the ratios as unpaired samples, 5 %) or shows no slowdown at all;
    /// * *holds* falls if a group shows a relevant slowdown and differs from the other group;
    ///
    /// A cell that was decided in launches of one mode stands, because both its sides were in that mode.
    /// [`Stability::one_mode`] tells the reader so.
    ///
    /// *Undecided* stays undecided: more launches come anyway.
    #[must_use]
    pub fn affects(&self, comparison: &Comparison, launches: &[usize], rule: &Rule) -> Option<String> {
        if !matches!(comparison.verdict, Outcome::Violated | Outcome::Holds) {
            return None;
        }
        let violated = comparison.verdict == Outcome::Violated;
        if self.modes_factor.is_some() {
            let [fast, slow] = self.split(comparison, launches, |launch| self.modes[launch] == Mode::Slow);
            if let Some(reason) = differ(&fast, &slow, violated, rule) {
                return Some(format!("{reason} between fast and slow launches"));
            }
        }
        if self.across.found {
            let middle = self.modes.len() / 2;
            let [early, late] = self.split(comparison, launches, |launch| launch >= middle);
            if let Some(reason) = differ(&early, &late, violated, rule) {
                return Some(format!("{reason} between the first and the second half of the run"));
            }
        }
        None
    }

    /// Names in words the only mode in which a cell was measured, if the run has two.
    #[must_use]
    pub fn one_mode(&self, launches: &[usize]) -> Option<String> {
        self.modes_factor?;
        let count = |mode: Mode| {
            let is = |launch: &&usize| self.modes.get(**launch) == Some(&mode);
            launches.iter().filter(is).count()
        };
        let (fast, slow) = (count(Mode::Fast), count(Mode::Slow));
        match (fast >= LEAST_LAUNCHES, slow >= LEAST_LAUNCHES) {
            (true, false) => Some("decided in the fast launches of a run that had slow ones, too".to_owned()),
            (false, true) => Some("decided in the slow launches of a run that had fast ones, too".to_owned()),
            _ => None,
        }
    }

    /// Makes a verdict unstable where it does not stand, and says why.
    pub fn apply(&self, comparison: &mut Comparison, launches: &[usize], rule: &Rule) -> Option<String> {
        let reason = self.affects(comparison, launches, rule)?;
        comparison.verdict = Outcome::Unstable;
        Some(reason)
    }

    /// The times of both sides by launch, outliers left out, by whether the launch is in the second group.
    fn split(
        &self,
        comparison: &Comparison,
        launches: &[usize],
        second: impl Fn(usize) -> bool,
    ) -> [Vec<(f64, f64)>; 2] {
        let mut groups = [Vec::new(), Vec::new()];
        let sides = comparison.left_medians.iter().zip(&comparison.right_medians);
        for ((left, right), &launch) in sides.zip(launches) {
            match self.modes.get(launch) {
                Some(Mode::Fast | Mode::Slow) => groups[usize::from(second(launch))].push((*left, *right)),
                Some(Mode::Outlier) | None => {}
            }
        }
        groups
    }
}

/// Marks outliers, then splits the rest; the factor is slow over fast.
fn modes(levels: &[f64], floor: f64) -> Result<(Vec<Mode>, Option<f64>), SampleError> {
    let all = Sample::new(levels.to_vec())?;
    let center = all.median();
    let deviations = Sample::new(levels.iter().map(|level| (level - center).abs()).collect())?;
    let far = (OUTLIER * 1.4826 * deviations.median()).max(floor);
    // Two modes first: the smaller one of a clear pair is no set of outliers.
    let cut = |sample: &Sample| {
        two_modes::best_cut(sample).filter(|cut| {
            let side = |upper: bool| {
                Sample::new(
                    sample
                        .values()
                        .iter()
                        .copied()
                        .filter(|v| (*v > cut.at) == upper)
                        .collect(),
                )
            };
            let apart = side(true)
                .ok()
                .zip(side(false).ok())
                .map(|(slow, fast)| slow.median() - fast.median());
            cut.significant && apart.is_some_and(|apart| apart > floor)
        })
    };
    let is_outlier = |level: f64| (level - center).abs() > far;
    let inner: Vec<f64> = levels.iter().copied().filter(|level| !is_outlier(*level)).collect();
    let (found, outliers_apart) = match cut(&all) {
        Some(found) => (Some(found), false),
        None => (Sample::new(inner).ok().as_ref().and_then(cut), true),
    };
    let modes: Vec<Mode> = levels
        .iter()
        .map(|&level| {
            if outliers_apart && is_outlier(level) {
                Mode::Outlier
            } else if found.is_some_and(|cut| level > cut.at) {
                Mode::Slow
            } else {
                Mode::Fast
            }
        })
        .collect();
    let median_of = |mode: Mode| {
        let values = levels
            .iter()
            .zip(&modes)
            .filter(|(_, each)| **each == mode)
            .map(|(level, _)| *level);
        Sample::new(values.collect()).map(|sample| sample.median())
    };
    let factor = match found {
        Some(_) => Some((median_of(Mode::Slow)? - median_of(Mode::Fast)?).exp()),
        None => None,
    };
    Ok((modes, factor))
}

/// Describes the difference between two groups of launches; `None` if it does not change the verdict.
fn differ(first: &[(f64, f64)], second: &[(f64, f64)], violated: bool, rule: &Rule) -> Option<String> {
    let ratios = |group: &[(f64, f64)]| {
        Sample::new(
            group
                .iter()
                .map(|(left, right)| (log(*left) - log(*right)).exp())
                .collect(),
        )
        .ok()
    };
    let (a, b) = (ratios(first)?, ratios(second)?);
    let p = 2.0 * unpaired::p_left_greater(&a, &b).min(unpaired::p_left_greater(&b, &a));
    let apart = p <= GROUPS_LEVEL;
    let contradicts = |sample: &Sample, group: &[(f64, f64)]| {
        let right = Sample::new(group.iter().map(|(_, right)| *right).collect()).map_or(0.0, |right| right.median());
        let relevant = sample.median() > 1.0 + rule.floor_fraction(right);
        sample.len() >= LEAST_LAUNCHES
            && if violated {
                !relevant && (apart || sample.median() <= 1.0)
            } else {
                relevant && apart
            }
    };
    (contradicts(&a, first) || contradicts(&b, second))
        .then(|| format!("the ratio is {:.2} against {:.2}", a.median(), b.median()))
}

fn log(seconds: f64) -> f64 {
    seconds.max(SHORTEST_SECONDS).ln()
}

#[cfg(test)]
#[path = "stability/tests.rs"]
mod tests;
