//! Dependence between launches, and verdicts on units of launches where there is one.
//!
//! Every test here takes the launches as independent of each other. On one's own machine they are; on a cluster, launches that
//! follow each other on the same nodes may share what placement, neighbours or the network did to *one* side. Then twenty launches
//! are worth five, p-values are too small, and with hundreds of cells some are violated in every run. So before each look
//! the launches are tested for dependence, pooled over all cells ([`pooled`]): one cell tells little, a hundred together see
//! a correlation of 0.3 in ten launches.
//!
//! *What is looked at*: the logarithm of left over right, launch by launch, for what shifts both sides alike shifts no verdict.
//!
//! *What follows*: launches are put together into **units**, and verdicts made on the units' mean logarithms. The length of the
//! units is the smallest at which neighbouring units no longer resemble each other ([`length`]), or a unit is an allocation of the
//! batch system. Twenty launches may then be five units, whose ranks cannot prove a violation among a hundred cells: there the size of
//! a difference decides ([`scale`]). What is not clear by that either is
//! [`Unstable`](crate::verdict::Outcome::Unstable), with the reason and what would help.
//!
//! *A run*: [`Looks`] does all of this at every look of the sequential design. Verdicts of earlier looks that took the launches as
//! independent are taken back as soon as they are found not to be.
//!
//! Sources: batch means: Law and Carson, Operations Research 27(5):1011-1025, 1979, doi:10.1287/opre.27.5.1011; why pooled units are
//! needed at all: Kalibera and Jones, ISMM 2013, doi:10.1145/2464157.2464160.

mod length;
mod looks;
mod pooled;
mod scale;
mod scores;

use std::collections::BTreeMap;

use super::Rule;
use crate::hodges_lehmann::SHORTEST_SECONDS;
pub use looks::{LaunchesOf, Looks};
use pooled::Pooled;
use scale::Mean;

/// Level of the test at each look. A hundred cells show a correlation of 0.3 far more clearly, and a false alarm costs a run its verdicts.
const LEVEL: f64 = 0.005;

/// Dependence that was found stays so until a later look at more launches is as far from it as this.
const RELEASED: f64 = 0.1;

/// The log ratios of one cell in its launches.
#[derive(Debug, Clone, PartialEq)]
pub struct CellRatios {
    launches: Vec<usize>,
    logarithms: Vec<f64>,
}

impl CellRatios {
    /// `launches[i]` is the launch, from 0 and ascending, of the i-th median of both sides; what lies beyond the shortest of the
    /// three is left out.
    #[must_use]
    pub fn new(launches: &[usize], left: &[f64], right: &[f64]) -> CellRatios {
        let log = |seconds: f64| seconds.max(SHORTEST_SECONDS).ln();
        let sides = left.iter().zip(right);
        let (launches, logarithms) = launches
            .iter()
            .zip(sides)
            .map(|(launch, (left, right))| (*launch, log(*left) - log(*right)))
            .unzip();
        CellRatios { launches, logarithms }
    }
}

/// The batch system's allocation in which each launch of the run was made: `[launch]`; any number that launches of one
/// allocation share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocations<'a> {
    /// Nobody knows, or there was only one.
    #[default]
    Unknown,
    /// The test looks at them.
    Known(&'a [usize]),
    /// They are the units, whatever the test says: the user asked for it.
    Units(&'a [usize]),
}

/// Kind of unit.
#[derive(Debug, Clone, PartialEq)]
enum Unit {
    /// A launch.
    Launch,
    /// So many launches that follow each other; `None` if more than were made.
    InTime(Option<usize>),
    /// An allocation, by launch.
    Allocation {
        of: Vec<usize>,
        /// It was asked for, not found.
        given: bool,
    },
}

/// Dependence between the launches of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependence {
    /// P-value of the test; 1 where there is nothing to be tested.
    pub p: f64,
    /// Estimated correlation of launches that follow each other.
    pub lag_one: f64,
    /// Launches that were looked at.
    pub launches: usize,
    /// The unit of each launch, in order; launches beyond belong to the last.
    units: Vec<usize>,
    unit: Unit,
}

impl Dependence {
    /// Looks at all cells of a run together, with all their launches so far.
    #[must_use]
    pub fn of(cells: &[CellRatios], allocations: Allocations<'_>) -> Dependence {
        Dependence::beside(cells, allocations, None)
    }

    /// The same after an earlier look: what was found stays until the launches clearly speak against it.
    #[must_use]
    pub fn beside(cells: &[CellRatios], allocations: Allocations<'_>, earlier: Option<&Dependence>) -> Dependence {
        let count = cells
            .iter()
            .flat_map(|cell| cell.launches.last())
            .max()
            .map_or(0, |last| last + 1);
        let mut answer = Dependence {
            p: 1.0,
            lag_one: 0.0,
            launches: count,
            units: (0..count).collect(),
            unit: Unit::Launch,
        };
        let pooled = Pooled::of(cells);
        let found = pooled
            .as_ref()
            .map(|pooled| (pooled.test(allocations), length::correlation(&pooled.whole)));
        if let Some((found, lag_one)) = &found {
            (answer.p, answer.lag_one) = (found.p, *lag_one);
        }
        if let Allocations::Units(of) = allocations {
            return answer.in_allocations(of, true);
        }
        let (Some(pooled), Some((found, _))) = (pooled, found) else {
            return answer;
        };
        let was_found = earlier.is_some_and(Dependence::is_found);
        if found.p > LEVEL && !(was_found && found.p <= RELEASED) {
            return answer;
        }
        if let (true, Allocations::Known(of)) = (found.by_allocation, allocations) {
            return answer.in_allocations(of, false);
        }
        let length = length::of_units(&pooled.whole);
        let units = length.map_or(1, |length| (count / length).max(1));
        answer.units = (0..count)
            .map(|launch| length.map_or(0, |length| launch / length).min(units - 1))
            .collect();
        answer.unit = Unit::InTime(length);
        answer
    }

    fn in_allocations(mut self, of: &[usize], given: bool) -> Dependence {
        let of: Vec<usize> = (0..self.launches)
            .map(|launch| of.get(launch).copied().unwrap_or(0))
            .collect();
        let mut numbers = BTreeMap::new();
        self.units = of
            .iter()
            .map(|allocation| {
                let next = numbers.len();
                *numbers.entry(*allocation).or_insert(next)
            })
            .collect();
        self.unit = Unit::Allocation { of, given };
        self
    }

    /// True if verdicts are made on units of several launches.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.unit != Unit::Launch
    }

    /// The unit of each of these launches.
    #[must_use]
    pub fn units(&self, launches: &[usize]) -> Vec<usize> {
        let of = |launch: &usize| self.units.get(*launch).or(self.units.last()).copied().unwrap_or(0);
        launches.iter().map(of).collect()
    }

    /// Number of units that these launches form.
    #[must_use]
    pub fn count(&self, launches: &[usize]) -> usize {
        let mut units = self.units(launches);
        units.sort_unstable();
        units.dedup();
        units.len()
    }

    /// Launches of a unit in the mean.
    #[must_use]
    pub fn launches_per_unit(&self) -> f64 {
        let units = self.units.iter().max().map_or(1, |last| last + 1);
        self.launches.max(1) as f64 / units as f64
    }

    /// The mean of each unit, in the order of the units, as a time: medians vary by factors, so it is that of their logarithms.
    /// `launches[i]` is the launch of `seconds[i]`.
    #[must_use]
    pub fn group(&self, launches: &[usize], seconds: &[f64]) -> Vec<f64> {
        if !self.is_found() {
            return seconds.to_vec();
        }
        let logarithms = seconds.iter().map(|seconds| seconds.max(SHORTEST_SECONDS).ln());
        self.means(launches, logarithms).into_iter().map(f64::exp).collect()
    }

    /// The mean of each unit, in the order of the units; `launches[i]` is the launch of the i-th value.
    fn means(&self, launches: &[usize], values: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut units: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (unit, value) in self.units(launches).into_iter().zip(values) {
            let (sum, count) = units.entry(unit).or_default();
            *sum += value;
            *count += 1.0;
        }
        units.values().map(|(sum, count)| sum / count).collect()
    }

    /// The mean log ratio of a cell with these launches, where its units are too few for a test of ranks.
    fn mean(&self, launches: &[usize], left: &[f64], right: &[f64]) -> Option<Mean> {
        let ratios = CellRatios::new(launches, left, right);
        if self.count(&ratios.launches) < scale::LEAST_UNITS {
            return match self.unit {
                // An allocation is what the user or the test says; no process goes through it.
                Unit::Launch | Unit::Allocation { .. } => None,
                Unit::InTime(_) => Mean::of_launches(&ratios.logarithms),
            };
        }
        let logarithms = self.means(&ratios.launches, ratios.logarithms.iter().copied());
        let correlation = match self.unit {
            Unit::Launch | Unit::Allocation { .. } => 0.0,
            Unit::InTime(_) => length::MOST,
        };
        Mean::of_units(&logarithms, correlation)
    }

    /// Number of units without which no cell of a run of so many hypotheses can be decided, however clear it is; `None` if these launches form
    /// as many.
    fn needed_units(&self, launches: &[usize], hypotheses: usize, rule: &Rule) -> Option<usize> {
        let units = self.count(launches);
        let enough = |units: usize| rule.test.smallest_p(units) * hypotheses.max(1) as f64 <= rule.alpha;
        if !self.is_found() || enough(units) {
            return None;
        }
        (units..1000).find(|units| enough(*units))
    }

    /// Number of launches that can decide a cell where these cannot, if launches that follow each other form the units; `None` if these can, or
    /// no number is known to.
    #[must_use]
    pub fn needed_launches(&self, launches: &[usize], hypotheses: usize, rule: &Rule) -> Option<usize> {
        match self.unit {
            Unit::InTime(Some(length)) => Some(self.needed_units(launches, hypotheses, rule)? * length),
            _ => None,
        }
    }

    /// Says why a cell with these launches cannot be decided in a run of so many hypotheses, however clear it is;
    /// `None` if it can.
    #[must_use]
    pub fn too_few(&self, launches: &[usize], hypotheses: usize, rule: &Rule) -> Option<String> {
        let needed = self.needed_units(launches, hypotheses, rule)?;
        let units = self.count(launches);
        let (made, counted) = (launches.len(), if units == 1 { "unit" } else { "units" });
        Some(match &self.unit {
            Unit::Launch => return None,
            Unit::InTime(Some(length)) => format!(
                "{made} launches are {units} {counted} of {length} that depend on each other; a verdict takes {needed} units, that is \
                 --launches {}, or launches in several jobs and --allocations",
                needed * length
            ),
            Unit::InTime(None) => format!(
                "{made} launches depend on each other so much that they count as one; make more of them, or make them in several jobs and \
                 give --allocations"
            ),
            Unit::Allocation { .. } => format!(
                "{made} launches were made in {units} {}; a verdict takes launches in {needed}",
                if units == 1 { "allocation" } else { "allocations" }
            ),
        })
    }

    /// The finding in one sentence that ends in an action; `None` where the launches are independent as far as one can see.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let units = self.units.iter().max().map_or(1, |last| last + 1);
        match &self.unit {
            Unit::Launch => None,
            Unit::InTime(length) => {
                let what = length.map_or("all launches together".to_owned(), |length| {
                    format!("means of {length} launches, {units} in all")
                });
                Some(format!(
                    "launches depend on each other: the ratios of neighbours correlate by {:.2} (p = {:.1e}); verdicts rest on {what}; wait \
                     between launches, or make them in several jobs and give --allocations",
                    self.lag_one, self.p
                ))
            }
            Unit::Allocation { given: true, .. } => Some(format!(
                "verdicts rest on the means of {units} allocations; make launches in more of them for surer verdicts"
            )),
            Unit::Allocation { given: false, .. } => Some(format!(
                "launches of one allocation resemble each other (p = {:.1e}); verdicts rest on the means of {units} allocations; make \
                 launches in more of them",
                self.p
            )),
        }
    }
}

#[cfg(test)]
#[path = "dependence/tests.rs"]
mod tests;
