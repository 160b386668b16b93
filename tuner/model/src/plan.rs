//! Makes cells from guidelines and sizes, and blocks that the worker measures from cells. Pure.
//!
//! Both sides of a guideline always move the same volume `n`. If a side divides its buffer into `p` blocks, `n` is
//! rounded up to the next multiple of `p` on both sides (Traeff et al. 2010), and the cell keeps the requested size.

mod blocks;
mod cell;
mod stakes;
mod subject;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_protocol::expression::{Side, lcm};
use kilter_protocol::task::Task;

pub use blocks::{blocks, blocks_coarse_first, derived_seed, joined};
pub use cell::{PlannedCell, monotony_cell, split_cell, target_name};
pub use stakes::Stakes;
pub use subject::Subject;

use crate::config::guideline::{Guideline, Kind};
use crate::config::mix::Made;
use crate::place::{Place, measured_bytes};
use crate::scope::Scope;

/// Everything that is verified.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Pattern cells. The sizes and parts that the other cells compare follow from the measurements.
    pub cells: Vec<PlannedCell>,
    /// Collectives whose monotony is judged over all their volumes, with the guideline's id.
    pub monotony_functions: Vec<(String, Collective)>,
    /// Collectives and volumes whose split-robustness is judged, with the guideline's id.
    pub split_functions: Vec<(String, Collective)>,
    /// The volumes at which each collective is measured, ascending.
    pub volumes: BTreeMap<Collective, BTreeSet<u64>>,
    /// Calls of each left side by an application; empty without a call mix.
    pub calls: BTreeMap<Subject, Called>,
    /// Guidelines that cannot be verified here, with the reason.
    pub left_out: BTreeMap<String, String>,
}

/// Calls of a function by an application.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Called {
    /// Such as `reduce`.
    pub function: String,
    /// Calls by requested volume in bytes; several may round to one measured volume.
    pub calls: BTreeMap<u64, Made>,
}

impl Plan {
    /// Lays out the cells of these guidelines at these sizes.
    ///
    /// `functions`, unless empty, keeps only cells with one of these names on the left.
    #[must_use]
    pub fn new(guidelines: &[Guideline], functions: &[String], sizes: &[u64], place: Place) -> Plan {
        let scope = Scope {
            functions,
            sizes,
            mix: None,
            ranks: place.ranks,
            nodes: None,
        };
        Plan::within(guidelines, &scope, place)
    }

    /// Lays out the cells of these guidelines whose left sides are in the scope.
    #[must_use]
    pub fn within(guidelines: &[Guideline], scope: &Scope<'_>, place: Place) -> Plan {
        let mut plan = Plan::default();
        for guideline in guidelines {
            if let Some(reason) = guideline.unmet(place) {
                plan.left_out.insert(guideline.id.clone(), reason);
                continue;
            }
            match guideline.kind {
                Kind::Pattern => plan.add_pattern(guideline, scope, place),
                Kind::Monotony | Kind::Split => {
                    for collective in collectives(guideline) {
                        let calls = scope.calls(collective.name());
                        if calls.is_empty() {
                            continue;
                        }
                        for (size, calls) in calls {
                            let bytes = place.volume(collective, size);
                            plan.volumes.entry(collective).or_default().insert(bytes);
                            if scope.mix.is_some() {
                                let left = Subject::library(collective, bytes);
                                plan.add_calls(left, collective.name(), size, calls);
                            }
                        }
                        let functions = match guideline.kind {
                            Kind::Split => &mut plan.split_functions,
                            _ => &mut plan.monotony_functions,
                        };
                        functions.push((guideline.id.clone(), collective));
                    }
                }
            }
        }
        plan
    }

    fn add_calls(&mut self, left: Subject, function: &str, size: u64, calls: Made) {
        let called = self.calls.entry(left).or_default();
        called.function = function.to_owned();
        called.calls.insert(size, calls);
    }

    /// Number of an application's calls of a left side; 1 without a call mix, 0 if the mix does not call it.
    #[must_use]
    pub fn calls_of(&self, left: &Subject) -> f64 {
        if self.calls.is_empty() {
            return 1.0;
        }
        self.calls
            .get(left)
            .map_or(0.0, |called| called.calls.values().map(|made| made.count).sum())
    }

    fn add_pattern(&mut self, guideline: &Guideline, scope: &Scope<'_>, place: Place) {
        for filled in guideline.filled() {
            let Ok(task) = Task::of(&filled.left) else { continue };
            for (left, right) in filled.orderings() {
                self.add_ordering(guideline, (left, right), task, scope, place);
            }
        }
    }

    fn add_ordering(
        &mut self,
        guideline: &Guideline,
        (left, right): (&Side, &Side),
        task: Task,
        scope: &Scope<'_>,
        place: Place,
    ) {
        let function = left.head().operation.to_string();
        let calls = scope.calls(&function);
        if calls.is_empty() {
            return;
        }
        let ranks = place.ranks as u64;
        let unit = [left, right]
            .into_iter()
            .map(|side| place.unit_bytes(side, task.functionality))
            .fold(1, lcm);
        // A guideline without an `n` on either side has one cell.
        let has_volume = left.mentions_n() || right.mentions_n();
        let volume = |size: u64| if has_volume { measured_bytes(size, unit) } else { 0 };
        let mut seen = BTreeMap::new();
        for &size in calls.keys() {
            // If several sizes round to one volume, the cell is named after the exact one.
            seen.insert(volume(size), if has_volume { size } else { 0 });
        }
        for (measured, asked) in seen {
            // A block as large as the whole, or larger, divides nothing.
            if [left, right].into_iter().any(|side| !side.divides(measured, ranks)) {
                continue;
            }
            let side = |side: &Side| Subject {
                task,
                text: side.to_string(),
                bytes: measured,
            };
            if let Some(collective) = left.single() {
                self.volumes.entry(collective).or_default().insert(measured);
            }
            if scope.mix.is_some() {
                for (size, calls) in calls.iter().filter(|(size, _)| volume(**size) == measured) {
                    self.add_calls(side(left), &function, *size, *calls);
                }
            }
            self.cells.push(PlannedCell {
                guideline: guideline.id.clone(),
                kind: Kind::Pattern,
                function: function.clone(),
                expression: format!("{left} <= {right}"),
                bytes: asked,
                left: side(left),
                right: side(right),
            });
        }
    }

    /// Every subject to be timed: the sides of all cells and each collective at all its volumes.
    #[must_use]
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let mut subjects: BTreeSet<Subject> = self
            .cells
            .iter()
            .flat_map(|cell| [cell.left.clone(), cell.right.clone()])
            .collect();
        subjects.extend(self.library_subjects());
        subjects
    }

    /// The measured volumes of a collective, ascending.
    #[must_use]
    pub fn volumes_of(&self, collective: Collective) -> Vec<u64> {
        self.volumes.get(&collective).into_iter().flatten().copied().collect()
    }

    /// The left sides: each collective at all its volumes.
    #[must_use]
    pub fn library_subjects(&self) -> BTreeSet<Subject> {
        self.volumes
            .iter()
            .flat_map(|(collective, volumes)| volumes.iter().map(|bytes| Subject::library(*collective, *bytes)))
            .collect()
    }
}

/// Collectives for which a monotony or split guideline is stated.
fn collectives(guideline: &Guideline) -> impl Iterator<Item = Collective> {
    guideline.functions.iter().copied()
}

/// The default's item id.
pub const DEFAULT: &str = "default";

/// True if an item with this id is a candidate, rather than the default.
#[must_use]
pub fn is_candidate(id: &str) -> bool {
    id != DEFAULT
}
