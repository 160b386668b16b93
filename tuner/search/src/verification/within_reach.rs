//! Cells that the seconds of a proof reach for: those that have to be proven, then as many others as fit, the cheapest first, or those in which an application spends most for
//! their price. Pure.
//!
//! A rule for one size touches its collective at every size. To screen all of that may take the whole time of a proof, and nothing would be said
//! of what was changed.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::plan::{Stakes, Subject};

use super::cells::Cells;
use crate::context::Cost;

/// Share of the seconds left that a proof plans with, because a launch may take longer than the ones before.
pub(super) const PLANNED_SHARE: f64 = 0.8;

/// Expected launches of a proof.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'a> {
    /// Costs of subjects, as far as they are known.
    pub(super) costs: &'a BTreeMap<Subject, Cost>,
    /// Subjects that are timed in the untouched library, too.
    pub(super) on_both_sides: &'a BTreeSet<Subject>,
    /// Seconds of the application in each.
    pub(super) stakes: &'a Stakes,
    /// Launches of the screening.
    pub(super) screening_launches: usize,
    /// Launches that decide, of each side.
    pub(super) launches: usize,
    /// Seconds of a launch beside its subjects.
    pub(super) launch_seconds: f64,
    /// Seconds that are left.
    pub(super) left_seconds: f64,
}

impl Expected<'_> {
    /// Seconds of all launches with these subjects.
    pub(super) fn seconds(&self, subjects: &BTreeSet<Subject>) -> f64 {
        let starts = (self.screening_launches + 2 * self.launches) as f64 * self.launch_seconds;
        starts + subjects.iter().map(|one| self.price_seconds(one)).sum::<f64>()
    }

    fn price_seconds(&self, subject: &Subject) -> f64 {
        let Some(cost) = self.costs.get(subject) else {
            return 0.0;
        };
        let sides = if self.on_both_sides.contains(subject) { 2.0 } else { 0.0 };
        self.screening_launches as f64 * cost.screening_seconds + sides * self.launches as f64 * cost.launch_seconds
    }
}

/// Divides cells into those within reach and the others. All that `is_first` says of are within reach.
pub(super) fn divide(cells: Cells, is_first: &dyn Fn(&Cells) -> bool, expected: &Expected<'_>) -> (Cells, Cells) {
    let (first, others): (Vec<Cells>, Vec<Cells>) = cells.each().partition(is_first);
    let mut within = Cells::default();
    first.into_iter().for_each(|one| within.append(one));
    let mut timed = within.subjects();
    let mut seconds = expected.seconds(&timed);
    let mut waiting: Vec<(f64, BTreeSet<Subject>, Cells)> = others
        .into_iter()
        .map(|one| {
            let subjects = one.subjects();
            let price: f64 = subjects.iter().map(|subject| expected.price_seconds(subject)).sum();
            (expected.stakes.most(&subjects) / price, subjects, one)
        })
        .collect();
    waiting.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut beyond = Cells::default();
    for (_, subjects, one) in waiting {
        let further: f64 = subjects
            .difference(&timed)
            .map(|subject| expected.price_seconds(subject))
            .sum();
        if further > 0.0 && seconds + further > PLANNED_SHARE * expected.left_seconds {
            beyond.append(one);
        } else {
            seconds += further;
            timed.extend(subjects);
            within.append(one);
        }
    }
    (within, beyond)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::guideline;
    use kilter_model::place::Place;
    use kilter_model::plan::Plan;

    use super::*;

    const SIZES: [u64; 4] = [8, 64, 512, 4096];

    /// Reduce and its bound at four sizes, each side as many seconds in a launch as it has hundreds of bytes.
    fn divided(left_seconds: f64, first: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let all = guideline::load_embedded().unwrap();
        let wanted = guideline::select(&all, &["GL8".to_owned()]).unwrap();
        let plan = Plan::new(&wanted, &["reduce".to_owned()], &SIZES, Place::on_one_node(2));
        let cells = Cells::planned(&plan, &|_| true);
        let costs = plan.subjects().into_iter().map(|subject| {
            let seconds = subject.bytes as f64 / 100.0;
            let cost = Cost {
                screening_seconds: seconds,
                launch_seconds: seconds,
            };
            (subject, cost)
        });
        let expected = Expected {
            costs: &costs.collect(),
            on_both_sides: &SIZES.map(|bytes| Subject::library(Collective::Reduce, bytes)).into(),
            stakes: &Stakes::default(),
            screening_launches: 2,
            launches: 10,
            launch_seconds: 1.0,
            left_seconds,
        };
        let is_first = |one: &Cells| one.subjects().iter().any(|subject| first.contains(&subject.bytes));
        let (within, beyond) = divide(cells, &is_first, &expected);
        let sizes = |cells: Cells| {
            let sizes: BTreeSet<u64> = cells.subjects().iter().map(|subject| subject.bytes).collect();
            sizes.into_iter().collect()
        };
        (sizes(within), sizes(beyond))
    }

    #[test]
    fn what_was_changed_comes_first_then_the_cheapest() {
        assert_eq!(divided(1e6, &[]), (SIZES.to_vec(), vec![]));
        // 22 starts, and 24 launches' worth of each cell: 2 + 15 + 123 + 983 s.
        assert_eq!(divided(60.0, &[]), (vec![8, 64], vec![512, 4096]));
        assert_eq!(
            divided(60.0, &[4096]),
            (vec![4096], vec![8, 64, 512]),
            "whatever it takes"
        );
        assert_eq!(divided(1300.0, &[4096]), (vec![8, 64, 4096], vec![512]));
    }

    #[test]
    fn what_nobody_knows_the_price_of_is_measured() {
        let all = guideline::load_embedded().unwrap();
        let wanted = guideline::select(&all, &["GL1".to_owned(), "GL8".to_owned()]).unwrap();
        let plan = Plan::new(&wanted, &["reduce".to_owned()], &SIZES, Place::on_one_node(2));
        let expected = Expected {
            costs: &BTreeMap::new(),
            on_both_sides: &BTreeSet::new(),
            stakes: &Stakes::default(),
            screening_launches: 2,
            launches: 10,
            launch_seconds: 1.0,
            left_seconds: 0.0,
        };
        let (within, beyond) = divide(Cells::planned(&plan, &|_| true), &|_| false, &expected);
        assert_eq!(within.subjects(), plan.subjects());
        assert!(beyond.subjects().is_empty());
    }
}
