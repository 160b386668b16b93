//! Number and contents of launches: planned by the noise and the seconds that are left, paced by the time of the launches so far.

use std::collections::BTreeSet;

use kilter_model::plan::Subject;
use kilter_stats::sample::Sample;
use kilter_stats::verdict;
use kilter_stats::verdict::Looks;
use kilter_stats::verdict::screening::SCREENING_LAUNCHES;
use kilter_stats::verdict::sequential::CellIndex;

use super::Work;
use super::admission::{Means, Waiting, admit, dearest};
use super::cells::Cells;

impl Work<'_, '_> {
    /// Plans more launches for a cell than usual if the machine is so noisy that the usual number would miss relevant violations.
    pub(super) fn plan_launches(&mut self, hypotheses: usize) {
        let (jobs, usual) = (self.jobs, self.most_launches);
        let Some(deviation) = self.screening.deviation.filter(|_| jobs.site.options.plans_launches) else {
            return;
        };
        // A proof makes as many as its comparison with the untouched library takes.
        if self.beside.is_some() || hypotheses == 0 {
            return;
        }
        let planned = verdict::launches_planned(deviation, hypotheses, &jobs.site.rule(0.0));
        if planned > usual {
            self.most_launches = planned;
            jobs.progress.note(&format!(
                "{}: the ratio of two sides varies by {:.0} % between launches, so {usual} launches would miss slowdowns of 30 %; up to \
                 {planned} launches are made, as the budget allows (--launches sets another number)",
                self.label,
                100.0 * deviation
            ));
        }
    }

    /// Two looks decide what is clear one way or the other, if they can decide anything.
    pub(super) fn deciding_launches(&self) -> usize {
        let most = self.most_launches;
        verdict::next_look(verdict::next_look(0, most), most)
            .max(self.needed_launches)
            .min(most)
    }

    /// Plans no more launches for a cell than the seconds reach for: alpha that is kept for launches never made is lost.
    pub(super) fn limit_launches(&mut self, first: BTreeSet<Subject>) {
        if self.jobs.site.options.fixed || self.beside.is_some() || first.is_empty() {
            return;
        }
        let left_seconds = self.limit.most_left(self.jobs.budget.spent_seconds());
        let affordable = (left_seconds / self.launch_price(&first)) as usize;
        // Whole steps between looks.
        let step = verdict::next_look(0, self.most_launches);
        let planned = (affordable / step * step).max(self.deciding_launches());
        self.most_launches = self.most_launches.min(planned);
    }

    /// Plans more launches where those that depend on each other form too few units to decide a cell: else the run would end without a verdict,
    /// and with seconds left. If the seconds do not reach for as many units, they are spent all the same: the dependence is an
    /// estimate, and more launches may form shorter units, or show none.
    pub(super) fn plan_units(&mut self, design: &mut Looks, wanted: &[CellIndex]) {
        let options = self.jobs.site.options;
        if options.fixed || !options.plans_launches || self.beside.is_some() {
            return;
        }
        let (hypotheses, launches) = (self.cells.hypotheses(), self.cells.launches(&self.timed));
        let made = |index: &CellIndex| launches.get(index.family)?.get(index.cell);
        let needed = |index: &CellIndex| design.needed_launches(made(index)?, hypotheses);
        let Some(needed) = wanted.iter().filter_map(needed).max() else {
            return;
        };
        let had = wanted.iter().filter_map(made).map(Vec::len).max().unwrap_or(0);
        let price = self.pace() * self.launch_price(&self.cells.subjects_of(wanted));
        let affordable = had + (self.limit.most_left(self.jobs.budget.spent_seconds()) / price) as usize;
        // The fewest that can decide decide only what is clear in each of them.
        let planned = (needed + needed / 2).min(affordable);
        if planned <= self.most_launches {
            return;
        }
        self.jobs.progress.note(&format!(
            "{}: launches depend on each other, and {had} of them can decide nothing: up to {planned} are made, as the budget allows \
             (--launches sets another number)",
            self.label
        ));
        self.most_launches = planned;
        design.plan_launches(planned);
    }

    /// Subjects that get the next launch, if each has `had` so many: all of them if the seconds reach until a violation can be shown, else the
    /// most valuable, since one launch fewer shows none at all.
    pub(super) fn affordable(&self, entered: &BTreeSet<Subject>, had: usize) -> BTreeSet<Subject> {
        let all = self.with_left(entered.clone());
        let launches = self.needed_launches.saturating_sub(had).max(1);
        if self.pace() * self.launch_price(&all) * launches as f64 <= self.left_seconds() {
            return all;
        }
        let means = Means {
            launches,
            left_launches: launches,
            first_look: launches,
            ..self.means(had)
        };
        let kept = dearest(&self.order, entered, &self.with_left(BTreeSet::new()), &means);
        // The estimate may be wrong; what is begun is not given up for nothing.
        if kept.is_empty() { all } else { self.with_left(kept) }
    }

    /// Admits waiting cells to the next launches, beside the `entered` ones, which have `had` so many.
    pub(super) fn admit(
        &mut self,
        waiting: &mut Vec<Waiting<Cells>>,
        entered: &BTreeSet<Subject>,
        had: usize,
    ) -> Vec<Waiting<Cells>> {
        let admitted = if self.jobs.site.options.fixed {
            std::mem::take(waiting)
        } else if self.left_seconds() <= 0.0 {
            Vec::new()
        } else {
            admit(waiting, &self.with_left(entered.clone()), &self.means(had))
        };
        self.order.extend(admitted.iter().map(Waiting::without_what));
        admitted
    }

    pub(super) fn means(&self, had: usize) -> Means<'_> {
        let (pace, first_look) = (self.pace(), verdict::next_look(0, self.most_launches));
        let launches = self.deciding_launches();
        Means {
            price: Box::new(move |subject| pace * self.pass.learnt.seconds(subject, &self.pass.repetitions)),
            launch_seconds: pace * self.jobs.launch_seconds(),
            launches,
            // At least until the next look.
            left_launches: launches.saturating_sub(had).max(first_look),
            first_look,
            left_seconds: self.left_seconds(),
        }
    }

    /// Time of the next launch over the expected time.
    pub(super) fn pace(&self) -> f64 {
        let screening = if self.pass.screened { SCREENING_LAUNCHES } else { 0 };
        pace(screening, &self.paces)
    }

    /// Seconds that a launch of these is expected to take.
    pub(super) fn launch_price(&self, subjects: &BTreeSet<Subject>) -> f64 {
        let seconds = |subject: &Subject| self.pass.learnt.seconds(subject, &self.pass.repetitions);
        let of = |subjects: &BTreeSet<Subject>| self.jobs.launch_seconds() + subjects.iter().map(seconds).sum::<f64>();
        // In a proof the untouched library measures the same blocks.
        let sides = if self.beside.is_some() { 2.0 } else { 1.0 };
        (sides * of(subjects)).max(1e-3)
    }
}

/// Median time of launches over the expected time: one launch that the machine disturbs says little of the next. The screening's launches, by which
/// times are expected, count as well, so that one says little even if it is the first.
fn pace(screening_launches: usize, paces: &[f64]) -> f64 {
    let all = std::iter::repeat_n(1.0, screening_launches).chain(paces.iter().copied());
    Sample::new(all.collect()).map_or(1.0, |paces| paces.median().clamp(0.1, 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_launch_says_little_of_the_next_and_three_say_it() {
        assert_eq!(pace(2, &[]), 1.0);
        assert_eq!(pace(2, &[4.0]), 1.0);
        assert_eq!(pace(2, &[4.0, 1.1, 0.9]), 1.0);
        assert_eq!(pace(2, &[3.0, 3.0, 3.0]), 3.0);
        assert_eq!(
            pace(0, &[3.0]),
            3.0,
            "without a screening there is nothing else to go by"
        );
        assert_eq!(pace(0, &[]), 1.0);
    }
}
