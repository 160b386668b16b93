//! The sequential design: cells that are not decided get more launches, and looking again costs no error.
//!
//! *Violated*: alpha is spent over the looks in proportion to the launches (alpha spending; the linear spending function
//! of Kim and DeMets, close to Pocock's boundary, for it is early stopping that saves time). A look at n of at most
//! N launches that follows one at n' may spend the share (n - n') / N. Each look is an exact test on all launches so far,
//! and p / share is recorded; the smallest of them over the looks is a p-value of the whole procedure, because
//! P(some p_k <= share_k alpha) <= sum of share_k alpha <= alpha, however the looks depend on each other. No joint
//! distribution has to be assumed, the number of looks need not be known, and what is lost against an exact boundary
//! is small where alpha is shared by hundreds of hypotheses. Holm's correction then runs, at each look, over the smallest
//! p-values of **all** hypotheses of the run; decided cells stay in the family. The adjusted p-values compare with alpha
//! directly. Cells may have weights in it ([`Sequential::weigh`]), from data that are not judged: what a screening saw above its bound gets more
//! of alpha than what it saw below.
//!
//! *Holds*: the error of the upper bound of the ratio, 1 - [`Rule::confidence`], is spent over the looks in the same
//! shares, so that the probability that a cell beyond the floor is ever said to hold stays below it. That is per cell, as
//! in the fixed design. Ranks have few levels where launches are few: of 1.25 % those of five launches on each side reach 0.79 %. A look spends what it
//! reaches, and the next ones have the rest.
//!
//! A look that could not decide whatever was measured, because so few launches reach no such level, spends nothing: its
//! share goes to the next one. A look that is announced as the last spends all that is left: a fixed design is one last
//! look. When seconds run out, the look is the last because of the clock, not because of what the cell showed.
//!
//! **A decided verdict never flips**: it stays, with the evidence it rests on, whatever later launches show. (They may
//! still show that the machine changed: see [`super::stability`] and [`Sequential::reopen`].)
//!
//! Sources: Lan and DeMets, Biometrika 70(3):659-663, 1983, doi:10.1093/biomet/70.3.659; Kim and DeMets, Biometrika
//! 74(1):149-154, 1987, doi:10.1093/biomet/74.1.149; unequal looks and futility: Jennison and Turnbull, Group Sequential
//! Methods, 2000, doi:10.1201/9780367805326; several hypotheses: Maurer and Bretz, Statistics in Biopharmaceutical
//! Research 5(4):311-320, 2013, doi:10.1080/19466315.2013.807748.

mod of_cells;

use self::of_cells::is_given;
use super::Rule;
use super::family::{CellView, Family, Judged};
use super::judge::Bound;
use super::monotony::SizeTests;
use crate::verdict::Outcome;

/// Launches per cell up to which [`Sequential::next_launches`] goes unless told otherwise.
pub const DEFAULT_MAX_LAUNCHES: usize = 20;

/// Launches between two looks.
const BETWEEN_LOOKS: usize = 5;

/// Launches at the planned look that follows `launches` of at most `max`: up to the usual number about every five, in equal steps and
/// never in one alone, since fewer decide next to nothing; and then whenever there are half as many again, so that late looks have shares that
/// are worth spending.
#[must_use]
pub fn next_look(launches: usize, max: usize) -> usize {
    let usual = max.min(DEFAULT_MAX_LAUNCHES);
    let looks = usual.div_ceil(BETWEEN_LOOKS).max(2);
    let later = launches.saturating_add(launches / 2).min(max);
    (1..=looks)
        .map(|look| (usual * look).div_ceil(looks))
        .find(|&planned| planned > launches)
        .unwrap_or(later)
}

/// A cell: the family and the cell in it, both from 0 in the order given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellIndex {
    /// Index of the family.
    pub family: usize,
    /// Index of the cell within its family.
    pub cell: usize,
}

/// The next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextLook {
    /// Launches in all that each wanted cell should have by then.
    pub launches: usize,
    /// True if it is the last look.
    pub last: bool,
}

/// The state of the design between looks.
#[derive(Debug, Clone)]
pub struct Sequential {
    rule: Rule,
    /// The correction counts at least so many hypotheses.
    hypotheses: usize,
    /// Weight of all hypotheses together, those that are not tested yet included; at least that of those that are.
    total_weight: f64,
    /// Weight of a cell's hypotheses, by family and cell; 1 where nothing is said.
    weights: Vec<Vec<f64>>,
    max_launches: usize,
    launches: usize,
    finished: bool,
    /// Launches behind each value of a sample: more than 1 where these are means of units.
    launches_per_unit: f64,
    cells: Vec<Vec<State>>,
}

#[derive(Debug, Clone)]
struct State {
    /// Launches at the last look that tested this cell.
    launches: usize,
    /// Share of alpha that is spent.
    spent: f64,
    /// Error of the bound that is spent.
    bound_error: f64,
    /// The smallest p over its share so far, for each hypothesis.
    smallest: Vec<f64>,
    decided: Option<Judged>,
    /// Verdict of the last look.
    latest: Option<Judged>,
}

impl State {
    fn new(hypotheses: usize) -> State {
        State {
            launches: 0,
            spent: 0.0,
            bound_error: 0.0,
            smallest: vec![1.0; hypotheses],
            decided: None,
            latest: None,
        }
    }
}

impl Sequential {
    /// A design of at most `max_launches` launches per cell (0 counts as 1).
    #[must_use]
    pub fn new(rule: Rule, max_launches: usize) -> Sequential {
        Sequential {
            rule,
            hypotheses: 0,
            total_weight: 0.0,
            weights: Vec::new(),
            max_launches: max_launches.max(1),
            launches: 0,
            finished: false,
            launches_per_unit: 1.0,
            cells: Vec::new(),
        }
    }

    /// The correction counts so many hypotheses from the first look on, even where fewer are tested yet: cells that are known
    /// before anything is tested, and get their launches later, as the time allows.
    #[must_use]
    pub fn of_hypotheses(self, hypotheses: usize) -> Sequential {
        Sequential {
            hypotheses,
            total_weight: hypotheses as f64,
            ..self
        }
    }

    /// The hypotheses that are known before anything is tested weigh so much together.
    #[must_use]
    pub fn of_weight(self, total_weight: f64) -> Sequential {
        Sequential { total_weight, ..self }
    }

    /// Weighs the hypotheses of cells from the next look on: `weights[family][cell]`, above 0; what is left out weighs 1. A weight must not
    /// follow from the launches that are judged.
    pub fn weigh(&mut self, weights: Vec<Vec<f64>>) {
        self.weights = weights;
    }

    fn weight(&self, at: CellIndex) -> f64 {
        let of_family = self.weights.get(at.family);
        of_family.and_then(|cells| cells.get(at.cell)).copied().unwrap_or(1.0)
    }

    /// Weights of the hypotheses so far, in their order.
    fn weights_of_hypotheses(&self) -> Vec<f64> {
        let mut weights = Vec::new();
        for (family, cells) in self.cells.iter().enumerate() {
            for (cell, state) in cells.iter().enumerate() {
                let weight = self.weight(CellIndex { family, cell });
                weights.extend(std::iter::repeat_n(weight, state.smallest.len()));
            }
        }
        weights
    }

    /// Judges by another rule from the next look on: what noise is, is known better with every launch.
    pub fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
    }

    /// Plans more launches per cell from the next look on, never fewer. What is spent stays spent, so that alpha holds: a later look spends
    /// the rest.
    pub fn plan_launches(&mut self, max_launches: usize) {
        self.max_launches = self.max_launches.max(max_launches);
    }

    /// The values of the samples are means of so many launches from the next look on ([`super::dependence`]).
    pub(super) fn set_launches_per_unit(&mut self, launches: f64) {
        self.launches_per_unit = launches;
    }

    /// So many launches were made, whatever the samples count.
    pub(super) fn set_launches(&mut self, launches: usize) {
        self.launches = launches;
    }

    /// Forgets every decision and what was spent on it: the launches that it took for independent are not.
    pub(super) fn restart(&mut self) {
        for state in self.cells.iter_mut().flatten() {
            *state = State::new(state.smallest.len());
        }
    }

    /// Looks at everything measured so far and returns the verdict on each cell, in the shape of
    /// [`super::judge_families`]. Cells that were decided before come back as they were.
    ///
    /// The families are the same, with cells in the same order, in every look; samples only grow. Cells that have no new
    /// launches are not tested again. `last` announces that no look will follow (known before this look's data, such as
    /// from [`Sequential::next_launches`]); looks after the last spend nothing and so decide nothing new by themselves.
    ///
    /// A cell that appears only now (a split that earlier looks predicted) extends the family from here on: announce such
    /// cells from the first look with what is at hand where that is possible.
    pub fn look(&mut self, families: &[Family], last: bool) -> Vec<Vec<Judged>> {
        self.look_with(families, &[], last)
    }

    /// The same where another test has judged some cells, `given[family][cell]`: the rule's test says nothing about these.
    pub(super) fn look_with(
        &mut self,
        families: &[Family],
        given: &[Vec<Option<SizeTests>>],
        last: bool,
    ) -> Vec<Vec<Judged>> {
        let views: Vec<Vec<CellView<'_>>> = families.iter().map(Family::views).collect();
        let tested: usize = families.iter().map(Family::hypotheses).sum();
        let family_size = tested.max(self.hypotheses);
        for (index, cells) in views.iter().enumerate() {
            if self.cells.len() <= index {
                self.cells.push(Vec::new());
            }
            for (cell, view) in cells.iter().enumerate() {
                if self.cells[index].len() <= cell {
                    self.cells[index].push(State::new(view.rights.len().min(2)));
                }
                // A size that failed since then leaves its function with fewer hypotheses.
                self.cells[index][cell].smallest.resize(view.rights.len().min(2), 1.0);
            }
        }
        let mut weights = self.weights_of_hypotheses();
        let known_weight: f64 = weights.iter().sum();
        // Those that were not tested yet share what is left of the weight.
        let untested = family_size.saturating_sub(weights.len());
        let each = (self.total_weight - known_weight) / untested.max(1) as f64;
        weights.extend(std::iter::repeat_n(each.max(f64::MIN_POSITIVE), untested));
        let total_weight: f64 = weights.iter().sum();
        let tests = self.tests(&views, given);
        let mut looks: Vec<Vec<(SizeTests, Bound)>> = Vec::new();
        for ((family, cells), tests) in views.iter().enumerate().zip(tests) {
            let each = cells.iter().enumerate().zip(tests);
            looks.push(
                each.map(|((cell, view), tests)| {
                    let smallest_p = if is_given(given, family, cell) {
                        0.0
                    } else {
                        self.rule.test.smallest_p(view.launches())
                    };
                    let at = CellIndex { family, cell };
                    let bound = self.spend(at, (view, &tests, smallest_p), total_weight, last);
                    (tests, bound)
                })
                .collect(),
            );
        }
        self.launches = views.iter().flatten().map(CellView::launches).max().unwrap_or(0);
        self.finished |= last;
        let mut p: Vec<f64> = self
            .cells
            .iter()
            .flatten()
            .flat_map(|state| state.smallest.iter().copied())
            .collect();
        p.resize(weights.len(), 1.0);
        let adjusted = self.rule.correction.adjust_weighted(&p, &weights);
        let latest = self.conclude(&views, &looks, &adjusted, family_size);
        for (cells, latest) in self.cells.iter_mut().zip(latest) {
            for (state, latest) in cells.iter_mut().zip(latest) {
                let Some(judged) = latest else { continue };
                if judged.comparison.verdict != Outcome::Undecided {
                    state.decided = Some(judged.clone());
                }
                state.latest = Some(judged);
            }
        }
        let of_family = |(cells, views): (&Vec<State>, &Vec<CellView<'_>>)| {
            let states = cells.iter().take(views.len());
            states
                .filter_map(|state| state.decided.clone().or_else(|| state.latest.clone()))
                .collect()
        };
        self.cells.iter().zip(&views).map(of_family).collect()
    }

    /// Spends the shares of one cell and records its p-values.
    fn spend(
        &mut self,
        at: CellIndex,
        (view, tests, smallest_p): (&CellView<'_>, &SizeTests, f64),
        total_weight: f64,
        last: bool,
    ) -> Bound {
        let (max, finished, rule) = (self.max_launches, self.finished, self.rule);
        let as_many = total_weight / self.weight(at);
        let state = &mut self.cells[at.family][at.cell];
        let mut bound = Bound {
            confidence: None,
            needed: 1.0,
            faster_holds: last,
        };
        let launches = view.launches();
        if state.decided.is_some() || finished || launches <= state.launches {
            return bound;
        }
        let reached = if last {
            1.0
        } else {
            (launches as f64 * self.launches_per_unit / max as f64).min(1.0)
        };
        let floor = rule.test.smallest_p(launches);
        let share = reached - state.spent;
        if share > 0.0 && (last || smallest_p * as_many <= rule.alpha * share) {
            for (smallest, p) in state.smallest.iter_mut().zip(&tests.hypotheses) {
                *smallest = smallest.min(p / share);
            }
            state.spent = reached;
        }
        let error = (1.0 - rule.confidence) * reached - state.bound_error;
        if error > 0.0 && (last || floor <= error) {
            let confidence = 1.0 - 2.0 * error;
            bound.confidence = Some(confidence);
            bound.needed = 1.0 - error;
            let left_over = view.reached_confidence(confidence, rule.test) - confidence;
            state.bound_error += error - (left_over / 2.0).clamp(0.0, error);
        }
        state.launches = launches;
        bound
    }

    /// Takes a decision back that [`super::Stability::affects`] found to depend on the state of the machine, so that the
    /// cell is wanted again. What it has spent stays spent: its error stays within alpha. A cell that is not there is
    /// none.
    pub fn reopen(&mut self, at: CellIndex) {
        if let Some(state) = self.cells.get_mut(at.family).and_then(|cells| cells.get_mut(at.cell)) {
            state.decided = None;
        }
    }

    /// The cells that are not decided: those that more launches are for. Empty before the first look.
    #[must_use]
    pub fn wanted(&self) -> Vec<CellIndex> {
        let mut wanted = Vec::new();
        for (family, cells) in self.cells.iter().enumerate() {
            let open = cells.iter().enumerate().filter(|(_, state)| state.decided.is_none());
            wanted.extend(open.map(|(cell, _)| CellIndex { family, cell }));
        }
        wanted
    }

    /// Number of launches until the next look, if one more launch of the wanted cells takes `seconds_per_launch` and
    /// `seconds_left` are left. `None` if no cell is wanted, the launches are used up, or not one more launch fits.
    /// Looks are planned by [`next_look`]. If the time runs out before the next planned look, the last look comes after
    /// the launches that still fit.
    #[must_use]
    pub fn next_launches(&self, seconds_per_launch: f64, seconds_left: f64) -> Option<NextLook> {
        let started = !self.cells.is_empty();
        if self.finished || self.launches >= self.max_launches || (started && self.wanted().is_empty()) {
            return None;
        }
        let affordable = if seconds_per_launch > 0.0 {
            (seconds_left / seconds_per_launch).floor().max(0.0) as usize
        } else {
            self.max_launches
        };
        let end = self.launches.saturating_add(affordable).min(self.max_launches);
        if end == self.launches {
            return None;
        }
        let planned = next_look(self.launches, self.max_launches);
        Some(NextLook {
            launches: planned.min(end),
            last: planned >= end,
        })
    }
}

#[cfg(test)]
#[path = "sequential/tests.rs"]
mod tests;
