//! Findings of a verification.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::config::guideline::Kind;
use kilter_model::plan::{PlannedCell, Subject};
use kilter_protocol::report::Synchronised;
use kilter_stats::verdict::{Comparison, Outcome};

/// Medians of one subject, one per launch, in seconds.
pub type Medians = BTreeMap<Subject, Vec<f64>>;

/// Medians of both sides.
#[derive(Debug, Clone, Default)]
pub struct InTurn {
    /// Under the deployment.
    pub deployed: Medians,
    /// In the untouched library.
    pub untouched: Medians,
    /// Launches of each.
    pub launches: usize,
}

/// A judged cell.
#[derive(Debug, Clone)]
pub struct JudgedCell {
    /// The cell.
    pub cell: PlannedCell,
    /// The evidence.
    pub comparison: Comparison,
    /// A remark on the verdict: why it is unstable.
    pub note: Option<String>,
}

impl JudgedCell {
    /// True if it is violated, or only screened and the whole interval of its ratio above 1.
    #[must_use]
    pub fn is_suspected(&self) -> bool {
        match self.comparison.verdict {
            Outcome::Violated => true,
            Outcome::Screened => self.comparison.ratio_ci.0 > 1.0,
            _ => false,
        }
    }
}

/// The findings of a verification.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Every cell that could be judged.
    pub cells: Vec<JudgedCell>,
    /// Everything that was timed.
    pub medians: Medians,
    /// Subjects that failed, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Subjects that no launch reached: more time would.
    pub unreached: BTreeSet<String>,
    /// Spread of the empty operation in seconds (interquartile range, median over launches).
    pub noise_seconds: f64,
    /// Smallest step of the clock in seconds.
    pub clock_tick_seconds: f64,
    /// Cost of one reading of the clock in seconds.
    pub clock_read_seconds: f64,
    /// Time of an empty repetition on rank 0, in seconds.
    pub loop_overhead_seconds: f64,
    /// The synchronisation of repetitions, and its quality in the worst launch.
    pub sync: Option<Synchronised>,
    /// Calls of each implementation by the drop-in, over all launches.
    pub dropin_calls: BTreeMap<String, u64>,
    /// The last launch as a command line.
    pub command_line: String,
    /// The library's version string and the hosts.
    pub library_string: String,
    /// Hosts, each once.
    pub hosts: Vec<String>,
    /// Seconds of its launches, those included that were taken over from an interrupted run.
    pub seconds: f64,
    /// Launches that were made, the predicting one not among them.
    pub launches: usize,
    /// Cells of a proof for which the budget had no room, by guideline and left side.
    pub out_of_reach: BTreeSet<(String, Subject)>,
    /// In a proof, calls that combine elements of [another type](super::other_type()), under the deployment and in the untouched library.
    pub of_other_type: InTurn,
    /// Medians of the reference cell, launch by launch, in seconds.
    pub reference: Vec<Vec<f64>>,
}

impl Verification {
    /// The violated cells.
    pub fn violated(&self) -> impl Iterator<Item = &JudgedCell> {
        self.cells
            .iter()
            .filter(|judged| judged.comparison.verdict == Outcome::Violated)
    }

    /// The cells that are violated or may be, as far as they are screened.
    pub fn suspected(&self) -> impl Iterator<Item = &JudgedCell> {
        self.cells.iter().filter(|judged| judged.is_suspected())
    }

    /// Adds the cells of `before` that it did not measure: the deployed change does not act on them.
    #[must_use]
    pub fn beside(&self, before: &Verification) -> Verification {
        let known: BTreeSet<Key> = self.cells.iter().map(|judged| key(&judged.cell)).collect();
        let mut all = self.clone();
        let others = before.cells.iter();
        all.cells
            .extend(others.filter(|judged| !known.contains(&key(&judged.cell))).cloned());
        for (subject, medians) in &before.medians {
            all.medians.entry(subject.clone()).or_insert_with(|| medians.clone());
        }
        all
    }

    /// Takes the findings of an `earlier` proof where nothing `changed` since.
    pub fn take_over(&mut self, earlier: &Verification, changed: &dyn Fn(&Subject) -> bool) {
        let is_changed = |judged: &JudgedCell| changed(&judged.cell.left) || changed(&judged.cell.right);
        self.cells.retain(is_changed);
        let unchanged = earlier.cells.iter().filter(|judged| !is_changed(judged));
        self.cells.extend(unchanged.cloned());
        take_over(&mut self.medians, &earlier.medians, changed);
        self.launches = self.launches.max(earlier.launches);
        for (implementation, calls) in &earlier.dropin_calls {
            *self.dropin_calls.entry(implementation.clone()).or_default() += calls;
        }
    }

    /// Adds the cells of `before` that are out of reach: what is deployed may act on them, so that nothing follows from what they were.
    pub fn leave_open(&mut self, before: &Verification) {
        let known: BTreeSet<Key> = self.cells.iter().map(|judged| key(&judged.cell)).collect();
        let is_open = |judged: &&JudgedCell| {
            let name = (judged.cell.guideline.clone(), judged.cell.left.clone());
            self.out_of_reach.contains(&name) && !known.contains(&key(&judged.cell))
        };
        let open = before.cells.iter().filter(is_open).cloned();
        let open: Vec<JudgedCell> = open
            .map(|mut judged| {
                judged.comparison.verdict = Outcome::Screened;
                judged.note = Some(
                    "as before tuning: what is deployed may act on it, and the budget had no room to measure it again"
                        .to_owned(),
                );
                judged
            })
            .collect();
        self.cells.extend(open);
    }

    /// Keeps the subjects that were neither timed nor failed: their launches had to end before.
    pub(super) fn note_unreached(&mut self, subjects: &BTreeSet<Subject>) {
        let untimed = subjects.iter().filter(|one| !self.medians.contains_key(one));
        let untimed = untimed.map(Subject::item_id);
        self.unreached = untimed.filter(|id| !self.failed.contains_key(id)).collect();
    }

    /// Keeps the worst finding of the launches on their common time.
    pub(super) fn heed(&mut self, found: Option<Synchronised>) {
        let Some(found) = found else { return };
        let worst = self.sync.get_or_insert(found);
        if found.residual_seconds + found.bound_seconds > worst.residual_seconds + worst.bound_seconds {
            *worst = found;
        }
    }
}

/// Takes the `earlier` medians of all subjects but the `changed` ones.
pub fn take_over(medians: &mut Medians, earlier: &Medians, changed: &dyn Fn(&Subject) -> bool) {
    medians.retain(|subject, _| changed(subject));
    let unchanged = earlier.iter().filter(|(subject, _)| !changed(subject));
    medians.extend(unchanged.map(|(subject, own)| (subject.clone(), own.clone())));
}

/// Key of a cell, the same whatever its size is compared with.
pub(super) type Key = (String, String, Subject);

/// The key of a cell.
pub(super) fn key(planned: &PlannedCell) -> Key {
    let what = match planned.kind {
        Kind::Monotony => &planned.function,
        _ => &planned.expression,
    };
    (planned.guideline.clone(), what.clone(), planned.left.clone())
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    #[test]
    fn times_of_an_earlier_proof_stand_where_nothing_changed() {
        let of = |bytes| Subject::library(Collective::Reduce, bytes);
        let all = |seconds: f64| Medians::from([1, 2].map(|bytes| (of(bytes), vec![seconds])));
        let mut now = all(2.0);
        take_over(&mut now, &all(1.0), &|subject| subject.bytes == 2);
        assert_eq!(now, Medians::from([(of(1), vec![1.0]), (of(2), vec![2.0])]));
        // It measured more, and this one less.
        let mut now = Medians::from([(of(2), vec![2.0])]);
        take_over(&mut now, &all(1.0), &|_| false);
        assert_eq!(now, all(1.0));
    }
}
