//! The screening's findings on the cells of the plan: which need no more launches, which are confirmed first, and how the never confirmed ones
//! are reported.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::plan::{PlannedCell, Stakes, Subject};
use kilter_render::format::count;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::screening::{Expected, Screened, Sides, deviation_of, screen};
use kilter_stats::verdict::{Comparison, Outcome};
use kilter_stats::verdict::{Reach, Rule};

use super::admission::Waiting;
use super::cells::Cells;
use super::found::{JudgedCell, Key, key};
use super::launches::Timed;

/// The screening of all cells.
#[derive(Debug, Default)]
pub(super) struct Screening {
    /// Every comparison, in the order of the cells.
    all: Vec<(PlannedCell, Sides, Screened)>,
    /// Cells that need no more launches. Empty where the first pass was no screening.
    clear: BTreeSet<(Key, u64)>,
    /// Standard deviation of a log ratio from launch to launch, pooled over all cells; `None` where the first pass was no screening.
    pub(super) deviation: Option<f64>,
    /// True if launches depend on each other: then cells that two launches find clear are only screened.
    pub(super) is_doubtful: bool,
}

impl Screening {
    /// Judges by the times of the first pass. Unless `trusted`, nothing is clear: times of one launch, or of a pilot.
    pub(super) fn of(cells: &Cells, timed: &Timed, rule: &Rule, trusted: bool) -> Screening {
        let (planned, sides): (Vec<PlannedCell>, Vec<Sides>) = cells
            .comparisons()
            .into_iter()
            .map(|(_, planned)| {
                let (_, left, right) = timed.common(&planned.left, &planned.right).unwrap_or_default();
                (planned, Sides { left, right })
            })
            .unzip();
        let screened = screen(&sides, rule);
        let deviation = trusted.then(|| deviation_of(&sides));
        let clear = planned.iter().zip(&screened);
        let clear = clear.filter(|(_, screened)| trusted && screened.clear);
        Screening {
            clear: clear.map(|(planned, _)| (key(planned), planned.right.bytes)).collect(),
            all: planned
                .into_iter()
                .zip(sides)
                .zip(screened)
                .map(|((planned, sides), screened)| (planned, sides, screened))
                .collect(),
            deviation,
            is_doubtful: false,
        }
    }

    fn is_clear(&self, planned: &PlannedCell) -> bool {
        self.clear.contains(&(key(planned), planned.right.bytes))
    }

    /// Cells to confirm, each pair and each function by itself. `calls` gives an application's calls of a left side.
    pub(super) fn open(&self, cells: &Cells, calls: &dyn Fn(&Subject) -> f64, stakes: &Stakes) -> Vec<Waiting<Cells>> {
        let mut gains: BTreeMap<Key, f64> = BTreeMap::new();
        for (planned, _, screened) in &self.all {
            let gain = gains.entry(key(planned)).or_default();
            *gain = gain.max(calls(&planned.left) * screened.excess_seconds);
        }
        cells
            .without(&|planned| self.is_clear(planned))
            .each()
            .map(|one| {
                let keys: BTreeSet<Key> = one.comparisons().iter().map(|(_, planned)| key(planned)).collect();
                let subjects = one.subjects();
                Waiting {
                    stake_seconds: stakes.most(&subjects),
                    subjects,
                    expected: Expected::Violation,
                    gain_seconds: keys.iter().filter_map(|key| gains.get(key)).copied().sum(),
                    what: one,
                }
            })
            .collect()
    }

    /// Sets the expectation of each waiting cell, by the number of launches that are within reach.
    pub(super) fn expect(&self, waiting: &mut [Waiting<Cells>], reach: Option<Reach>) {
        let mut most: BTreeMap<Key, Expected> = BTreeMap::new();
        for (planned, _, screened) in &self.all {
            let expected = screened.expected(reach.as_ref());
            let known = most.entry(key(planned)).or_insert(expected);
            // One size against several counts as the one that takes most launches.
            *known = match (*known, expected) {
                (Expected::Violation, _) | (_, Expected::Violation) => Expected::Violation,
                (Expected::Nothing, _) | (_, Expected::Nothing) => Expected::Nothing,
                _ => Expected::Holds,
            };
        }
        for one in waiting {
            let keys: BTreeSet<Key> = one.what.comparisons().iter().map(|(_, planned)| key(planned)).collect();
            let of = |wanted| keys.iter().any(|key| most.get(key) == Some(&wanted));
            one.expected = [Expected::Violation, Expected::Nothing]
                .into_iter()
                .find(|expected| of(*expected))
                .unwrap_or(Expected::Holds);
        }
    }

    /// Least distance of the log ratios from the floor among the cells to confirm, for each of their subjects.
    pub(super) fn distances(&self, rule: &Rule) -> BTreeMap<Subject, f64> {
        let mut distances: BTreeMap<Subject, f64> = BTreeMap::new();
        for (planned, sides, screened) in &self.all {
            if self.is_clear(planned) {
                continue;
            }
            let right = Sample::new(sides.right.clone()).map_or(0.0, |right| right.median());
            let distance = screened.distance(rule, right);
            for subject in [&planned.left, &planned.right] {
                let known = distances.entry(subject.clone()).or_insert(distance);
                *known = known.min(distance);
            }
        }
        distances
    }

    /// All cells in order: as `confirmed` if they are there, else as the screening found them.
    pub(super) fn complete(&self, confirmed: Vec<JudgedCell>) -> Vec<JudgedCell> {
        let mut known: BTreeMap<Key, JudgedCell> = confirmed
            .into_iter()
            .map(|judged| (key(&judged.cell), judged))
            .collect();
        let mut cells = Vec::new();
        let mut rest = &self.all[..];
        while let Some((first, ..)) = rest.first() {
            let name = key(first);
            let own = rest.iter().take_while(|(planned, ..)| key(planned) == name).count();
            let (group, others) = rest.split_at(own);
            rest = others;
            match known.remove(&name) {
                Some(judged) => cells.push(judged),
                None => cells.extend(self.screened_cell(group)),
            }
        }
        // Nothing is lost that the first pass did not know.
        cells.extend(known.into_values());
        cells
    }

    /// The comparison that comes nearest to a violation stands for the cell.
    fn screened_cell(&self, group: &[(PlannedCell, Sides, Screened)]) -> Option<JudgedCell> {
        let measured = group.iter().filter(|(_, sides, _)| !sides.left.is_empty());
        let (planned, sides, screened) = measured.clone().max_by(|a, b| a.2.ratio.total_cmp(&b.2.ratio))?;
        let clear = measured.clone().all(|(planned, ..)| self.is_clear(planned));
        let median = |values: &[f64]| Sample::new(values.to_vec()).map_or(f64::NAN, |sample| sample.median());
        let low = if screened.upper.is_finite() {
            screened.ratio * screened.ratio / screened.upper
        } else {
            0.0
        };
        Some(JudgedCell {
            cell: planned.clone(),
            comparison: Comparison {
                verdict: if clear && !self.is_doubtful {
                    Outcome::Holds
                } else {
                    Outcome::Screened
                },
                ratio: screened.ratio,
                ratio_ci: (low, screened.upper),
                p: screened.p,
                // It was not among the tests that the correction is over.
                p_adjusted: 1.0,
                seconds: median(&sides.left),
                right_seconds: median(&sides.right),
                left_medians: sides.left.clone(),
                right_medians: sides.right.clone(),
            },
            note: Some(note(sides.left.len(), clear, self.is_doubtful)),
        })
    }
}

/// Words on a cell that no launch confirmed.
fn note(launches: usize, clear: bool, doubtful: bool) -> String {
    let (these, are) = match launches {
        1 => ("first launch".to_owned(), "is too little"),
        _ => (format!("{launches} launches"), "are too few"),
    };
    match (clear, doubtful) {
        (true, true) => {
            format!("clear in the {these} of the screening, which {are} where launches depend on each other")
        }
        (true, false) => format!("clear in the {these} of the screening"),
        (false, _) => format!("screened in {}, not confirmed", count(launches, "launch")),
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::guideline;
    use kilter_model::place::Place;
    use kilter_model::plan::Plan;

    use super::*;

    /// GL1 (monotony) and GL8 (reduce <= allreduce) of reduce and its bound at these sizes on two ranks.
    fn plan(sizes: &[u64]) -> Plan {
        let all = guideline::load_embedded().unwrap();
        let wanted = guideline::select(&all, &["GL1".to_owned(), "GL8".to_owned()]).unwrap();
        Plan::new(&wanted, &["reduce".to_owned()], sizes, Place::on_one_node(2))
    }

    /// Two launches in which reduce takes the given time for each size, in microseconds, and allreduce ten; all vary by 2 %, each by itself.
    fn screened(reduce: &[(u64, f64)]) -> (Cells, Timed, Plan) {
        let sizes: Vec<u64> = reduce.iter().map(|(bytes, _)| *bytes).collect();
        let plan = plan(&sizes);
        let mut timed = Timed::default();
        for (number, subject) in plan.subjects().into_iter().enumerate() {
            let level = match subject.collective() {
                Some(Collective::Reduce) => reduce.iter().find(|(bytes, _)| *bytes == subject.bytes).unwrap().1,
                _ => 10.0,
            };
            for launch in 0..2 {
                let sign = if (launch + number) % 2 == 0 { 1.0 } else { -1.0 };
                timed.insert(subject.clone(), launch, level * 1e-6 * (1.0 + 0.01 * sign));
            }
        }
        (Cells::new(&plan, &timed, 0.05), timed, plan)
    }

    fn outcomes(cells: &[JudgedCell], guideline: &str) -> Vec<(u64, Outcome)> {
        let own = cells.iter().filter(|judged| judged.cell.guideline == guideline);
        own.map(|judged| (judged.cell.left.bytes, judged.comparison.verdict))
            .collect()
    }

    #[test]
    fn what_is_clear_holds_and_only_the_rest_is_measured_again() {
        let (cells, timed, _) = screened(&[(8, 4.0), (64, 14.0), (512, 6.0), (4096, 7.0)]);
        let screening = Screening::of(&cells, &timed, &Rule::default(), true);
        let all = screening.complete(Vec::new());
        use Outcome::{Holds, Screened};
        assert_eq!(
            outcomes(&all, "GL8"),
            [(8, Holds), (64, Screened), (512, Holds), (4096, Holds)]
        );
        // 64 bytes take longer than 512 and 4096; the others are in order.
        assert_eq!(outcomes(&all, "GL1"), [(8, Holds), (64, Screened), (512, Holds)]);
        let mut open = screening.open(&cells, &|_| 1.0, &Stakes::default());
        assert_eq!(open.len(), 2);
        let expected = |open: &mut Vec<Waiting<Cells>>, launches| {
            screening.expect(open, Some(Reach::of(0.02, launches, 10, &Rule::default())));
            open.iter().map(|one| one.expected).collect::<Vec<_>>()
        };
        assert_eq!(
            expected(&mut open, 10),
            [Expected::Violation; 2],
            "both are far above their bounds"
        );
        let of_function = open.pop().unwrap();
        let bytes: Vec<u64> = of_function.subjects.iter().map(|subject| subject.bytes).collect();
        assert_eq!(bytes, [64, 512, 4096], "8 bytes are no longer needed");
        let pair = open.pop().unwrap();
        assert_eq!(pair.subjects.len(), 2);
        assert!((3e-6..6e-6).contains(&pair.gain_seconds), "{}", pair.gain_seconds);
        let twice = screening.open(&cells, &|_| 2.0, &Stakes::default());
        approx::assert_relative_eq!(twice[0].gain_seconds, 2.0 * pair.gain_seconds);
    }

    #[test]
    fn where_launches_depend_on_each_other_two_of_them_prove_nothing() {
        let (cells, timed, _) = screened(&[(8, 4.0), (64, 6.0)]);
        let mut screening = Screening::of(&cells, &timed, &Rule::default(), true);
        let verdicts = |screening: &Screening| outcomes(&screening.complete(Vec::new()), "GL8");
        assert_eq!(verdicts(&screening), [(8, Outcome::Holds), (64, Outcome::Holds)]);
        screening.is_doubtful = true;
        assert_eq!(verdicts(&screening), [(8, Outcome::Screened), (64, Outcome::Screened)]);
    }

    #[test]
    fn a_pass_that_is_not_trusted_leaves_everything_open() {
        let (cells, timed, _) = screened(&[(8, 4.0), (64, 6.0)]);
        let screening = Screening::of(&cells, &timed, &Rule::default(), false);
        let open = screening.open(&cells, &|_| 1.0, &Stakes::default());
        assert_eq!(
            open.iter().map(|one| one.what.hypotheses()).sum::<usize>(),
            cells.hypotheses()
        );
        let all = screening.complete(Vec::new());
        assert!(all.iter().all(|judged| judged.comparison.verdict == Outcome::Screened));
    }

    #[test]
    fn confirmed_cells_take_the_place_of_screened_ones() {
        let (cells, timed, _) = screened(&[(8, 4.0), (64, 14.0), (512, 6.0)]);
        let screening = Screening::of(&cells, &timed, &Rule::default(), true);
        let all = screening.complete(Vec::new());
        let mut confirmed = all
            .iter()
            .find(|judged| judged.cell.name() == "GL1 reduce 64")
            .unwrap()
            .clone();
        confirmed.comparison.verdict = Outcome::Violated;
        // Another larger size than the screening named.
        confirmed.cell.right.bytes = 512;
        let complete = screening.complete(vec![confirmed]);
        assert_eq!(complete.len(), all.len());
        let order = |cells: &[JudgedCell]| cells.iter().map(|judged| judged.cell.name()).collect::<Vec<_>>();
        assert_eq!(order(&complete), order(&all));
        assert_eq!(
            complete
                .iter()
                .filter(|judged| judged.comparison.verdict == Outcome::Violated)
                .count(),
            1
        );
    }

    #[test]
    fn a_note_says_how_many_launches_there_were() {
        assert_eq!(note(1, true, false), "clear in the first launch of the screening");
        assert_eq!(note(2, true, false), "clear in the 2 launches of the screening");
        assert_eq!(
            note(1, true, true),
            "clear in the first launch of the screening, which is too little where launches depend on each other"
        );
        assert_eq!(note(1, false, false), "screened in 1 launch, not confirmed");
        assert_eq!(note(2, false, true), "screened in 2 launches, not confirmed");
    }

    #[test]
    fn what_is_expected_follows_from_the_ratio_and_from_what_launches_can_show() {
        let (cells, timed, _) = screened(&[(8, 9.9), (64, 10.6), (512, 20.0)]);
        let screening = Screening::of(&cells, &timed, &Rule::default(), true);
        let expected = |reach: Option<Reach>| -> Vec<(u64, Expected)> {
            let mut open = screening.open(&cells, &|_| 1.0, &Stakes::default());
            screening.expect(&mut open, reach);
            let pairs = open.iter().filter(|one| one.what.comparisons().len() == 1);
            let pairs = pairs.map(|one| (one.what.comparisons()[0].1.left.bytes, one.expected));
            pairs.collect()
        };
        use Expected::{Holds, Nothing, Violation};
        let reach = |launches| Some(Reach::of(0.1, launches, 100, &Rule::default()));
        assert_eq!(expected(reach(10)), [(8, Holds), (64, Nothing), (512, Violation)]);
        assert_eq!(expected(reach(200)), [(8, Holds), (64, Violation), (512, Violation)]);
        assert_eq!(expected(None), [(8, Holds), (64, Violation), (512, Violation)]);
    }

    #[test]
    fn a_subject_is_as_far_from_the_floor_as_the_nearest_cell_that_is_confirmed() {
        let (cells, timed, plan) = screened(&[(8, 4.0), (64, 20.0)]);
        let screening = Screening::of(&cells, &timed, &Rule::default(), true);
        let distances = screening.distances(&Rule::default());
        let of = |bytes| distances.iter().find(|(subject, _)| subject.bytes == bytes);
        assert!(plan.subjects().iter().any(|subject| subject.bytes == 8));
        assert_eq!(of(8), None, "it is clear");
        let (_, distance) = of(64).unwrap();
        assert!((0.5..(2.0_f64 / 1.05).ln()).contains(distance), "{distance}");
    }
}
