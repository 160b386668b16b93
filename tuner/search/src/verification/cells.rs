//! Between the cells of the plan and the families that are judged together.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::plan::{self, Plan, PlannedCell, Subject};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Comparison;
use kilter_stats::verdict::dependence::LaunchesOf;
use kilter_stats::verdict::sequential::CellIndex;
use kilter_stats::verdict::{Family, Judged, Pair, split};

use super::JudgedCell;
use super::launches::Timed;

/// The cells that every look judges, in a fixed order: all pairs, then each function whose sizes belong together.
#[derive(Debug, Clone, Default)]
pub(super) struct Cells {
    pairs: Vec<PlannedCell>,
    functions: Vec<Function>,
}

/// A function at several sizes.
#[derive(Debug, Clone)]
struct Function {
    guideline: String,
    collective: Collective,
    volumes: Vec<u64>,
}

impl Cells {
    /// The cells of the plan whose sides are all in `timed`, with a split for every size of the functions that are judged for
    /// it, chosen by the times in `pilot`, which are not judged.
    pub(super) fn new(plan: &Plan, pilot: &Timed, effect_floor: f64) -> Cells {
        let is_timed = |subject: &Subject| pilot.of(subject).is_some();
        let mut pairs: Vec<PlannedCell> = plan
            .cells
            .iter()
            .filter(|cell| is_timed(&cell.left) && is_timed(&cell.right))
            .cloned()
            .collect();
        let volumes = |collective: Collective| {
            let volumes = plan.volumes.get(&collective).into_iter().flatten().copied();
            volumes.filter(move |bytes| is_timed(&Subject::library(collective, *bytes)))
        };
        for (guideline, collective) in &plan.split_functions {
            let sizes: BTreeMap<u64, Sample> = volumes(*collective)
                .filter_map(|bytes| {
                    let medians = pilot.of(&Subject::library(*collective, bytes))?;
                    Some((bytes, Sample::new(medians).ok()?))
                })
                .collect();
            for found in split::split(&sizes, effect_floor) {
                pairs.push(plan::split_cell(guideline, *collective, found.bytes, found.part_bytes));
            }
        }
        let functions = plan
            .monotony_functions
            .iter()
            .map(|(guideline, collective)| Function {
                guideline: guideline.clone(),
                collective: *collective,
                volumes: volumes(*collective).collect(),
            })
            .filter(|function| function.volumes.len() > 1)
            .collect();
        Cells { pairs, functions }
    }

    /// The planned cells, before anything is timed: without splits, which follow from times.
    pub(super) fn planned(plan: &Plan, touched: &dyn Fn(&Subject) -> bool) -> Cells {
        let functions = plan.monotony_functions.iter().chain(&plan.split_functions);
        let mut cells = Cells {
            pairs: plan.cells.clone(),
            functions: functions
                .map(|(guideline, collective)| Function {
                    guideline: guideline.clone(),
                    collective: *collective,
                    volumes: plan.volumes_of(*collective),
                })
                .collect(),
        };
        cells.retain_touched(touched);
        cells
    }

    /// Launches that a cell has.
    pub(super) fn launches_of(&self, index: CellIndex, timed: &Timed) -> usize {
        let subjects = self.subjects_of(&[index]);
        let launches = subjects
            .iter()
            .map(|subject| timed.of(subject).map_or(0, |medians| medians.len()));
        launches.min().unwrap_or(0)
    }

    /// Everything that has to be timed.
    pub(super) fn subjects(&self) -> BTreeSet<Subject> {
        let mut subjects: BTreeSet<Subject> = self
            .pairs
            .iter()
            .flat_map(|cell| [cell.left.clone(), cell.right.clone()])
            .collect();
        subjects.extend(self.functions.iter().flat_map(Function::subjects));
        subjects
    }

    /// Subjects to time for these cells. A function's sizes stay together, so that each has the same launches.
    pub(super) fn subjects_of(&self, wanted: &[CellIndex]) -> BTreeSet<Subject> {
        let mut subjects = BTreeSet::new();
        for index in wanted {
            match index.family.checked_sub(1) {
                None => {
                    let cell = &self.pairs[index.cell];
                    subjects.extend([cell.left.clone(), cell.right.clone()]);
                }
                Some(function) => subjects.extend(self.functions[function].subjects()),
            }
        }
        subjects
    }

    /// Number of hypotheses that the correction counts.
    pub(super) fn hypotheses(&self) -> usize {
        let sizes = |function: &Function| Family::hypotheses_of_monotony(function.volumes.len());
        self.pairs.len() + self.functions.iter().map(sizes).sum::<usize>()
    }

    /// Leaves out pairs with no side among `touched`, and functions none of whose sizes is.
    pub(super) fn retain_touched(&mut self, touched: &dyn Fn(&Subject) -> bool) {
        self.pairs.retain(|cell| touched(&cell.left) || touched(&cell.right));
        self.functions
            .retain(|function| function.subjects().any(|subject| touched(&subject)));
    }

    /// Names of the cells: guideline and left side, whatever it is compared with.
    pub(super) fn names(&self) -> BTreeSet<(String, Subject)> {
        let of_comparisons = self.comparisons().into_iter();
        let mut names: BTreeSet<(String, Subject)> = of_comparisons
            .map(|(_, planned)| (planned.guideline, planned.left))
            .collect();
        for function in &self.functions {
            names.extend(function.subjects().map(|one| (function.guideline.clone(), one)));
        }
        names
    }

    /// Leaves out pairs of these names, and functions with any of them.
    pub(super) fn leave_out(&mut self, names: &BTreeSet<(String, Subject)>) {
        let is_kept = |guideline: &String, left: Subject| !names.contains(&(guideline.clone(), left));
        self.pairs.retain(|cell| is_kept(&cell.guideline, cell.left.clone()));
        self.functions
            .retain(|function| function.subjects().all(|one| is_kept(&function.guideline, one)));
    }

    /// Adds cells behind those that are there: the places of these stay as they are.
    pub(super) fn append(&mut self, other: Cells) {
        self.pairs.extend(other.pairs);
        self.functions.extend(other.functions);
    }

    /// Each pair and each function by itself.
    pub(super) fn each(self) -> impl Iterator<Item = Cells> {
        let pairs = self.pairs.into_iter().map(|pair| Cells {
            pairs: vec![pair],
            functions: Vec::new(),
        });
        let functions = self.functions.into_iter().map(|function| Cells {
            pairs: Vec::new(),
            functions: vec![function],
        });
        pairs.chain(functions)
    }

    /// The comparisons of every cell in the order of the cells, a size's with each larger one: its place, and both sides.
    pub(super) fn comparisons(&self) -> Vec<(CellIndex, PlannedCell)> {
        let pairs = self.pairs.iter().cloned().enumerate();
        let mut all: Vec<(CellIndex, PlannedCell)> = pairs
            .map(|(cell, pair)| (CellIndex { family: 0, cell }, pair))
            .collect();
        for (position, function) in self.functions.iter().enumerate() {
            for (cell, small) in function.volumes.iter().enumerate() {
                for large in &function.volumes[cell + 1..] {
                    let planned = plan::monotony_cell(&function.guideline, function.collective, *small, *large);
                    all.push((
                        CellIndex {
                            family: position + 1,
                            cell,
                        },
                        planned,
                    ));
                }
            }
        }
        all
    }

    /// The cells without the comparisons for which `clear` says that they need no more launches; of a function remain the sizes that another
    /// comparison needs.
    pub(super) fn without(&self, clear: &dyn Fn(&PlannedCell) -> bool) -> Cells {
        let mut volumes: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        let mut open = Cells::default();
        for (index, planned) in self.comparisons() {
            if clear(&planned) {
                continue;
            }
            match index.family.checked_sub(1) {
                None => open.pairs.push(planned),
                Some(function) => volumes
                    .entry(function)
                    .or_default()
                    .extend([planned.left.bytes, planned.right.bytes]),
            }
        }
        open.functions = volumes
            .into_iter()
            .map(|(function, volumes)| Function {
                volumes: volumes.into_iter().collect(),
                ..self.functions[function].clone()
            })
            .collect();
        open
    }

    /// Drops cells without measurements, so that every look sees the same cells.
    pub(super) fn retain_timed(&mut self, timed: &Timed) {
        self.pairs
            .retain(|cell| timed.common(&cell.left, &cell.right).is_some());
        for function in &mut self.functions {
            let collective = function.collective;
            function
                .volumes
                .retain(|bytes| timed.of(&Subject::library(collective, *bytes)).is_some());
        }
        self.functions.retain(|function| function.volumes.len() > 1);
    }

    /// The samples of every cell, in order.
    ///
    /// # Errors
    /// A time that is no number.
    pub(super) fn families(&self, timed: &Timed) -> anyhow::Result<Vec<Family>> {
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for cell in &self.pairs {
            let (_, left, right) = timed.common(&cell.left, &cell.right).unwrap_or_default();
            pairs.push(Pair {
                left: Sample::new(left)?,
                right: Sample::new(right)?,
            });
        }
        let mut families = vec![Family::Independent(pairs)];
        for function in &self.functions {
            // Sizes are compared launch by launch: what one of them lacks the others do without.
            let subjects: Vec<Subject> = function.subjects().collect();
            let medians = timed.in_common_launches(&subjects).map_or_else(
                || subjects.iter().map(|one| timed.of(one).unwrap_or_default()).collect(),
                |(_, medians)| medians,
            );
            let mut sizes = BTreeMap::new();
            for (bytes, medians) in function.volumes.iter().zip(medians) {
                sizes.insert(*bytes, Sample::new(medians)?);
            }
            families.push(Family::Monotony(sizes));
        }
        Ok(families)
    }

    /// The launches behind the samples of [`Cells::families`]: of each pair, and of each size.
    pub(super) fn launches(&self, timed: &Timed) -> Vec<LaunchesOf> {
        let of_pair = |cell: &PlannedCell| timed.common(&cell.left, &cell.right).unwrap_or_default().0;
        let mut launches = vec![self.pairs.iter().map(of_pair).collect()];
        for function in &self.functions {
            let subjects: Vec<Subject> = function.subjects().collect();
            launches.push(match timed.in_common_launches(&subjects) {
                Some((common, _)) => vec![common; subjects.len()],
                None => subjects.iter().map(|one| timed.launches_of(one)).collect(),
            });
        }
        launches
    }

    /// The cells with their verdicts, and the launches behind each.
    pub(super) fn judged(&self, timed: &Timed, judged: Vec<Vec<Judged>>) -> Vec<(CellIndex, JudgedCell, Vec<usize>)> {
        let mut cells = Vec::new();
        for (family, row) in judged.into_iter().enumerate() {
            for (index, verdict) in row.into_iter().enumerate() {
                let Some((cell, comparison)) = self.cell(family, index, verdict) else {
                    continue;
                };
                let launches = timed
                    .common(&cell.left, &cell.right)
                    .map(|(launches, _, _)| launches)
                    .unwrap_or_default();
                let judged = JudgedCell {
                    cell,
                    comparison,
                    note: None,
                };
                cells.push((CellIndex { family, cell: index }, judged, launches));
            }
        }
        cells
    }

    fn cell(&self, family: usize, index: usize, verdict: Judged) -> Option<(PlannedCell, Comparison)> {
        let Some(function) = family.checked_sub(1) else {
            return Some((self.pairs.get(index)?.clone(), verdict.comparison));
        };
        let function = self.functions.get(function)?;
        let sizes = verdict.sizes?;
        let cell = plan::monotony_cell(&function.guideline, function.collective, sizes.bytes, sizes.right_bytes);
        Some((cell, verdict.comparison))
    }
}

impl Function {
    fn subjects(&self) -> impl Iterator<Item = Subject> {
        self.volumes
            .iter()
            .map(|bytes| Subject::library(self.collective, *bytes))
    }
}
