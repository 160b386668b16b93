//! The subjects that the screening measures a second time. Pure.
//!
//! A subject is left out where each repetition of each of its cells takes half of the bound or less in the first launch
//! ([`kilter_stats::verdict::screening::second_launch`]): some bounds of several calls are dear, and far from being reached. It is asked
//!
//! * of repetitions, since a median of few lies where a disturbance puts it: by medians a violated cell of a kept run was lost;
//! * of sides that are timed in turn, in one block. Sizes of a function that are compared with each other lie in blocks of their own, of which a
//!   disturbance may hit one;
//! * of what costs something: a cell that is cheap is measured twice for nearly nothing.
//!
//! In kept runs with eight and with two ranks 429 cells are far below by this, and none of them came near its bound in the second launch.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::plan::{PlannedCell, Subject};
use kilter_stats::verdict::Rule;
use kilter_stats::verdict::screening::{self, Sides};

use super::cells::Cells;
use super::launches::Timed;

/// Seconds in a launch of the screening below which a cell is measured twice in any case.
const CHEAP_SECONDS: f64 = 0.02;

/// A subject in the first launch.
#[derive(Debug, Clone, Default)]
pub(super) struct First {
    /// Its repetitions, in seconds.
    pub(super) repetitions: Vec<f64>,
    /// Seconds that it took of the launch.
    pub(super) cost_seconds: f64,
}

/// Subjects of the second launch, of `all` that were in the first one.
pub(super) fn subjects(cells: &Cells, first: &BTreeMap<Subject, First>, all: &BTreeSet<Subject>) -> BTreeSet<Subject> {
    let planned = compared(cells, all);
    let repetitions = |one: &Subject| {
        first
            .get(one)
            .map(|first| first.repetitions.clone())
            .unwrap_or_default()
    };
    let sides = planned.iter().map(|planned| Sides {
        left: repetitions(&planned.left),
        right: repetitions(&planned.right),
    });
    let sides: Vec<Sides> = sides.collect();
    let cost = |one: &Subject| first.get(one).map_or(0.0, |first| first.cost_seconds);
    let is_settled = |planned: &PlannedCell| {
        let is_in_turn = planned.left.block_id() == planned.right.block_id();
        is_in_turn && cost(&planned.left).max(cost(&planned.right)) >= CHEAP_SECONDS
    };
    let needed = screening::second_launch(&sides).into_iter().zip(&planned);
    let needed: Vec<bool> = needed.map(|(needed, planned)| needed || !is_settled(planned)).collect();
    let each = || planned.iter().zip(&needed);
    let settled: BTreeSet<&Subject> = each()
        .flat_map(|(planned, _)| [&planned.left, &planned.right])
        .collect();
    // A subject without a cell was not timed, and nothing is known of it.
    let mut second: BTreeSet<Subject> = all.iter().filter(|one| !settled.contains(one)).cloned().collect();
    let open = each().filter(|(_, needed)| **needed);
    second.extend(open.flat_map(|(planned, _)| [planned.left.clone(), planned.right.clone()]));
    second
}

/// Subjects of cells that one launch showed far below their bounds and that are not clear all the same, because other cells vary too much from launch
/// to launch.
pub(super) fn unsettled(cells: &Cells, timed: &Timed, all: &BTreeSet<Subject>, rule: &Rule) -> BTreeSet<Subject> {
    let planned = compared(cells, all);
    let sides = planned.iter().map(|planned| {
        let (_, left, right) = timed.common(&planned.left, &planned.right).unwrap_or_default();
        Sides { left, right }
    });
    let sides: Vec<Sides> = sides.collect();
    let screened = screening::screen(&sides, rule);
    let each = planned.into_iter().zip(sides).zip(screened);
    let open = each.filter(|((_, sides), screened)| sides.left.len() == 1 && sides.is_far_below() && !screened.clear);
    open.flat_map(|((planned, _), _)| [planned.left, planned.right])
        .collect()
}

/// The comparisons both of whose sides are among `all`. Splits are measured later.
fn compared(cells: &Cells, all: &BTreeSet<Subject>) -> Vec<PlannedCell> {
    let comparisons = cells.comparisons().into_iter().map(|(_, planned)| planned);
    comparisons
        .filter(|planned| all.contains(&planned.left) && all.contains(&planned.right))
        .collect()
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::guideline;
    use kilter_model::place::Place;
    use kilter_model::plan::Plan;

    use super::*;

    /// GL8 (reduce <= allreduce) and perhaps others at 24 sizes on two ranks.
    fn plan(others: &[&str]) -> Plan {
        let all = guideline::load_embedded().unwrap();
        let names: Vec<String> = ["GL8"].iter().chain(others).map(|name| (*name).to_owned()).collect();
        let wanted = guideline::select(&all, &names).unwrap();
        let sizes: Vec<u64> = (1..=24).map(|size| 64 * size).collect();
        Plan::new(&wanted, &["reduce".to_owned()], &sizes, Place::on_one_node(2))
    }

    /// Times of launches in which reduce takes such a part of allreduce, by its bytes and the launch.
    fn timed(plan: &Plan, launches: usize, ratio: &dyn Fn(u64, usize) -> f64) -> (Cells, Timed, BTreeSet<Subject>) {
        let mut timed = Timed::default();
        let subjects = plan.subjects();
        for subject in &subjects {
            for launch in 0..launches {
                let level = match subject.collective() {
                    Some(Collective::Reduce) => ratio(subject.bytes, launch),
                    _ => 1.0,
                };
                timed.insert(subject.clone(), launch, 1e-5 * level);
            }
        }
        (Cells::new(plan, &timed, 0.05), timed, subjects)
    }

    fn sizes(subjects: &BTreeSet<Subject>) -> Vec<u64> {
        let sizes: BTreeSet<u64> = subjects.iter().map(|one| one.bytes).collect();
        sizes.into_iter().collect()
    }

    /// The first launch of the same: three repetitions of each subject, all alike, that cost so many seconds.
    fn first(timed: &Timed, all: &BTreeSet<Subject>, cost_seconds: f64) -> BTreeMap<Subject, First> {
        let of = |subject: &Subject| {
            let one = First {
                repetitions: vec![timed.of(subject)?[0]; 3],
                cost_seconds,
            };
            Some((subject.clone(), one))
        };
        all.iter().filter_map(of).collect()
    }

    #[test]
    fn both_sides_of_a_cell_far_below_its_bound_are_measured_once() {
        let plan = plan(&[]);
        let far = |bytes, _| if bytes < 192 { 0.4 } else { 0.9 };
        let (cells, timed, all) = timed(&plan, 1, &far);
        let second = subjects(&cells, &first(&timed, &all, 0.1), &all);
        assert_eq!(second.len(), all.len() - 4);
        assert_eq!(sizes(&second)[0], 192);
        let of_cheap = subjects(&cells, &first(&timed, &all, 0.01), &all);
        assert_eq!(of_cheap, all, "nothing is saved");
        let mut disturbed = first(&timed, &all, 0.1);
        let bound = disturbed
            .iter_mut()
            .find(|(one, _)| one.text == "allreduce(n)" && one.bytes == 64)
            .unwrap();
        bound.1.repetitions.push(4e-6);
        assert_eq!(
            sizes(&subjects(&cells, &disturbed, &all))[0],
            64,
            "one repetition is as fast"
        );
    }

    #[test]
    fn sizes_that_are_compared_with_each_other_are_measured_twice() {
        let plan = plan(&["GL1"]);
        let (cells, timed, all) = timed(&plan, 1, &|bytes, _| 1e-3 * bytes as f64);
        let second = subjects(&cells, &first(&timed, &all, 0.1), &all);
        let is_reduce = |one: &&Subject| one.text == "reduce(n)";
        assert_eq!(second.iter().filter(is_reduce).count(), 24);
    }

    #[test]
    fn what_was_not_timed_is_in_the_second_launch() {
        let plan = plan(&[]);
        let (_, mut timed, all) = timed(&plan, 1, &|_, _| 0.9);
        let lost = Subject::library(Collective::Reduce, 64);
        timed.remove(&lost);
        let cells = Cells::new(&plan, &timed, 0.05);
        assert!(subjects(&cells, &first(&timed, &all, 0.1), &all).contains(&lost));
    }

    #[test]
    fn where_launches_vary_much_what_was_in_one_is_measured_again() {
        let plan = plan(&[]);
        let varying = |much: f64| {
            move |bytes, launch| {
                if bytes < 192 {
                    0.45
                } else {
                    0.9 + much * (launch as f64)
                }
            }
        };
        let open_at = |much: f64| {
            let (_, mut timed, all) = timed(&plan, 2, &varying(much));
            for bytes in [64, 128] {
                timed.remove_from(&Subject::library(Collective::Reduce, bytes), 1);
            }
            let cells = Cells::new(&plan, &timed, 0.05);
            sizes(&unsettled(&cells, &timed, &all, &Rule::default()))
        };
        assert_eq!(open_at(0.05), [0; 0]);
        assert_eq!(open_at(1.2), [64, 128]);
    }
}
