//! The sequential design with a test for dependence before every look.

use super::scale::Mean;
use super::{Allocations, CellRatios, Dependence};
use crate::sample::Sample;
use crate::verdict::Outcome;
use crate::verdict::family::CellView;
use crate::verdict::monotony::{self, SizeTests};
use crate::verdict::sequential::{CellIndex, NextLook};
use crate::verdict::{Family, Judged, Pair, Rule, Sequential};

/// The launches of a family's samples, from 0 and ascending: of each pair, or of each size.
pub type LaunchesOf = Vec<Vec<usize>>;

/// [`Sequential`], on units of launches where these depend on each other.
#[derive(Debug, Clone)]
pub struct Looks {
    design: Sequential,
    rule: Rule,
    dependence: Option<Dependence>,
}

impl Looks {
    /// A design of at most `max_launches` launches per cell.
    #[must_use]
    pub fn new(rule: Rule, max_launches: usize) -> Looks {
        Looks {
            design: Sequential::new(rule, max_launches),
            rule,
            dependence: None,
        }
    }

    /// Same as [`Sequential::of_hypotheses`].
    #[must_use]
    pub fn of_hypotheses(self, hypotheses: usize) -> Looks {
        Looks {
            design: self.design.of_hypotheses(hypotheses),
            ..self
        }
    }

    /// Same as [`Sequential::of_weight`].
    #[must_use]
    pub fn of_weight(self, total_weight: f64) -> Looks {
        Looks {
            design: self.design.of_weight(total_weight),
            ..self
        }
    }

    /// Same as [`Sequential::weigh`].
    pub fn weigh(&mut self, weights: Vec<Vec<f64>>) {
        self.design.weigh(weights);
    }

    /// Same as [`Sequential::set_rule`].
    pub fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
        self.design.set_rule(rule);
    }

    /// Same as [`Sequential::reopen`].
    pub fn reopen(&mut self, at: CellIndex) {
        self.design.reopen(at);
    }

    /// Same as [`Sequential::wanted`]. Cells that the dependence leaves unstable are wanted, too.
    #[must_use]
    pub fn wanted(&self) -> Vec<CellIndex> {
        self.design.wanted()
    }

    /// Same as [`Sequential::next_launches`].
    #[must_use]
    pub fn next_launches(&self, seconds_per_launch: f64, seconds_left: f64) -> Option<NextLook> {
        self.design.next_launches(seconds_per_launch, seconds_left)
    }

    /// Same as [`Sequential::plan_launches`].
    pub fn plan_launches(&mut self, max_launches: usize) {
        self.design.plan_launches(max_launches);
    }

    /// Launches that can decide a cell which these launches leave unstable ([`Dependence::needed_launches`]).
    #[must_use]
    pub fn needed_launches(&self, launches: &[usize], hypotheses: usize) -> Option<usize> {
        let dependence = self.dependence.as_ref()?;
        dependence.needed_launches(launches, hypotheses, &self.rule)
    }

    /// Finding of the last look about the launches.
    #[must_use]
    pub fn dependence(&self) -> Option<&Dependence> {
        self.dependence.as_ref()
    }

    /// Same as [`Sequential::look`]. `launches[family]` are the launches behind the samples of each family; both sides
    /// of a pair share them. Verdicts carry the medians of the launches, even if they rest on units. Cells that the
    /// dependence keeps undecided come back unstable, and [`Dependence::too_few`] says why.
    pub fn look(
        &mut self,
        families: &[Family],
        launches: &[LaunchesOf],
        allocations: Allocations<'_>,
        last: bool,
    ) -> Vec<Vec<Judged>> {
        let dependence = Dependence::beside(&ratios(families, launches), allocations, self.dependence.as_ref());
        let earlier = self.dependence.as_ref();
        let changed = earlier.map_or(dependence.is_found(), |earlier| {
            earlier.is_found() != dependence.is_found()
                || (dependence.is_found() && earlier.unit != dependence.unit && !is_extended(earlier, &dependence))
        });
        if changed {
            // Earlier decisions took launches for independent.
            self.design.restart();
        }
        let made = launches.iter().flatten().flatten().max().map_or(0, |last| last + 1);
        let judged = if dependence.is_found() {
            let grouped: Vec<Family> = families
                .iter()
                .zip(launches)
                .map(|(family, launches)| grouped(family, launches, &dependence))
                .collect();
            self.design.set_launches_per_unit(dependence.launches_per_unit());
            let hypotheses = families.iter().map(Family::hypotheses).sum();
            let of_few = |own: &Vec<usize>| dependence.needed_units(own, hypotheses, &self.rule).is_some();
            let by_scale: Vec<Vec<Option<SizeTests>>> = families
                .iter()
                .zip(launches)
                .map(|(family, launches)| by_scale(family, launches, &dependence, &self.rule, of_few))
                .collect();
            let mut judged = self.design.look_with(&grouped, &by_scale, last);
            self.design.set_launches(made);
            for ((family, own), (row, units)) in families.iter().zip(launches).zip(judged.iter_mut().zip(&grouped)) {
                for (cell, judged) in row.iter_mut().enumerate() {
                    let Some(own) = own.get(cell) else { continue };
                    let few = of_few(own);
                    if judged.comparison.verdict == Outcome::Undecided && few {
                        judged.comparison.verdict = Outcome::Unstable;
                    }
                    if restore(judged, cell, family, units) && few {
                        let comparison = &judged.comparison;
                        let mean = dependence.mean(own, &comparison.left_medians, &comparison.right_medians);
                        let interval = mean.map(|mean| mean.interval(self.rule.confidence));
                        judged.comparison.ratio_ci = interval.unwrap_or(comparison.ratio_ci);
                    }
                }
            }
            judged
        } else {
            self.design.set_launches_per_unit(1.0);
            self.design.look(families, last)
        };
        self.dependence = Some(dependence);
        judged
    }

    /// Says why a cell with these launches is unstable.
    #[must_use]
    pub fn reason(&self, launches: &[usize], hypotheses: usize) -> Option<String> {
        self.dependence.as_ref()?.too_few(launches, hypotheses, &self.rule)
    }
}

/// True if the units of `now` are those of `earlier` and further ones.
fn is_extended(earlier: &Dependence, now: &Dependence) -> bool {
    match (&earlier.unit, &now.unit) {
        (super::Unit::Allocation { of: before, .. }, super::Unit::Allocation { of, .. }) => of.starts_with(before),
        _ => false,
    }
}

/// The log ratios of everything that was measured in the same launches: pairs, and each size with its neighbour.
fn ratios(families: &[Family], launches: &[LaunchesOf]) -> Vec<CellRatios> {
    let mut all = Vec::new();
    for (family, launches) in families.iter().zip(launches) {
        match family {
            Family::Independent(pairs) => all.extend(
                pairs
                    .iter()
                    .zip(launches)
                    .map(|(pair, launches)| CellRatios::new(launches, pair.left.values(), pair.right.values())),
            ),
            Family::Monotony(sizes) => {
                let samples: Vec<&Sample> = sizes.values().collect();
                for (pair, launches) in samples.windows(2).zip(launches.windows(2)) {
                    // Sizes of a function share their launches; where one failed in some, it is left out.
                    if launches[0] == launches[1] {
                        all.push(CellRatios::new(&launches[0], pair[0].values(), pair[1].values()));
                    }
                }
            }
        }
    }
    all
}

/// The family with the means of units in place of launches.
fn grouped(family: &Family, launches: &LaunchesOf, dependence: &Dependence) -> Family {
    let means = |sample: &Sample, launches: &[usize]| {
        // Means of logarithms of finite times are finite.
        Sample::new(dependence.group(launches, sample.values())).unwrap_or_else(|_| sample.clone())
    };
    match family {
        Family::Independent(pairs) => Family::Independent(
            pairs
                .iter()
                .zip(launches)
                .map(|(pair, launches)| Pair {
                    left: means(&pair.left, launches),
                    right: means(&pair.right, launches),
                })
                .collect(),
        ),
        Family::Monotony(sizes) => Family::Monotony(
            sizes
                .iter()
                .zip(launches)
                .map(|((bytes, sample), launches)| (*bytes, means(sample, launches)))
                .collect(),
        ),
    }
}

/// The tests by the size of the difference, of the cells whose units are too few for a test of ranks.
fn by_scale(
    family: &Family,
    launches: &LaunchesOf,
    dependence: &Dependence,
    rule: &Rule,
    of_few: impl Fn(&Vec<usize>) -> bool,
) -> Vec<Option<SizeTests>> {
    let of_cell = |(cell, view): (usize, &CellView<'_>)| {
        let own = launches.get(cell).filter(|own| rule.test.is_paired() && of_few(own))?;
        let p_of = |(right, theirs): (&Sample, Option<&Vec<usize>>)| {
            let shared = theirs.is_none_or(|theirs| theirs == own) && right.len() == view.left.len();
            let mean = shared.then(|| dependence.mean(own, view.left.values(), right.values()));
            mean.flatten().map_or(1.0, Mean::p_left_greater)
        };
        // The right sides of a size are the sizes that follow it.
        let theirs = |index: usize| view.bytes.and_then(|_| launches.get(cell + 1 + index));
        let rights = view.rights.iter().enumerate();
        let pairs = rights.map(|(index, (_, right))| p_of((right, theirs(index))));
        Some(monotony::tests_of_pairs(view.left, &view.rights, pairs.collect(), rule))
    };
    family.views().iter().enumerate().map(of_cell).collect()
}

/// Puts the medians of launches back where those of units stand; false if none stood there.
fn restore(judged: &mut Judged, cell: usize, family: &Family, grouped: &Family) -> bool {
    let sides = |family: &Family| -> Option<(Vec<f64>, Vec<f64>)> {
        let (left, right) = match family {
            Family::Independent(pairs) => pairs.get(cell).map(|pair| (&pair.left, &pair.right))?,
            Family::Monotony(sizes) => {
                let named = judged.sizes.as_ref()?;
                (sizes.get(&named.bytes)?, sizes.get(&named.right_bytes)?)
            }
        };
        Some((left.values().to_vec(), right.values().to_vec()))
    };
    let (Some(units), Some(launches)) = (sides(grouped), sides(family)) else {
        return false;
    };
    let comparison = &mut judged.comparison;
    // A verdict of an earlier look keeps the evidence of then.
    let stood = (&comparison.left_medians, &comparison.right_medians) == (&units.0, &units.1);
    if stood {
        (comparison.left_medians, comparison.right_medians) = launches;
    }
    stood
}
