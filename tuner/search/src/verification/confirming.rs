//! Makes fresh launches of the cells that the first pass leaves open, and looks at them.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::allocation;
use kilter_model::plan::{Stakes, Subject};
use kilter_stats::verdict::dependence::{Dependence, Looks};
use kilter_stats::verdict::sequential::CellIndex;
use kilter_stats::verdict::{self, Outcome, Sequential};

use super::Work;
use super::admission::Waiting;
use super::cells::Cells;
use super::found::JudgedCell;
use super::screened::Screening;
use super::weights::Weights;

/// Fewer launches than this decide nothing.
const MIN_LAUNCHES: usize = 3;

/// State of the confirmation between looks.
#[derive(Debug)]
pub(super) struct Course {
    /// Least distances of the log ratios from the floor.
    pub(super) distances: BTreeMap<Subject, f64>,
    /// Cells that no launch has room for so far.
    pub(super) waiting: Vec<Waiting<Cells>>,
    /// Cells that wait for a proof.
    pub(super) later: Vec<Waiting<Cells>>,
    weights: Weights,
    design: Looks,
    /// Cells that join with the next look.
    pub(super) admitted: Vec<Waiting<Cells>>,
    /// Subjects of all launches until the next look.
    pub(super) entered: BTreeSet<Subject>,
    /// Launches of the cell that has most of them.
    pub(super) had: usize,
}

impl Work<'_, '_> {
    /// Confirms the cells that the first pass leaves open: the dearest first, as many as the seconds can decide. A cell with enough launches
    /// makes room for the next.
    pub(super) fn confirm(&mut self, planned: &Cells) -> anyhow::Result<()> {
        let mut course = self.begin_confirming(planned, false)?;
        self.follow(&mut course)?;
        self.tell(&course);
        Ok(())
    }

    /// Finds the cells to confirm; all of them wait where they are left to a proof.
    pub(super) fn begin_confirming(&mut self, planned: &Cells, are_left_to_proof: bool) -> anyhow::Result<Course> {
        let (jobs, options) = (self.jobs, self.jobs.site.options);
        let rule = jobs.site.rule(self.verification.noise_seconds);
        self.screening = Screening::of(planned, &self.pass.timed, &rule, self.pass.screened);
        self.verification.cells = self.screening.complete(Vec::new());
        let mut waiting = {
            let calls = |left: &Subject| self.plan.calls_of(left);
            self.screening.open(planned, &calls, &Stakes::of(self.plan))
        };
        let hypotheses = waiting.iter().map(|one| one.what.hypotheses()).sum();
        self.needed_launches = verdict::launches_needed(hypotheses, options.alpha, options.test);
        self.plan_launches(hypotheses);
        let distances = self.screening.distances(&rule);
        self.repeat(&distances, &distances.keys().cloned().collect(), 0);
        let of_launches = |deviation| verdict::Reach::of(deviation, self.deciding_launches(), hypotheses, &rule);
        let reach = self.screening.deviation.map(of_launches);
        self.screening.expect(&mut waiting, reach);
        let weights = Weights::of(&waiting, self.pass.screened);
        // The launches of the heaviest cell are known only now.
        self.needed_launches = verdict::launches_needed(weights.like_hypotheses(), options.alpha, options.test);
        self.warn_of_few_launches(hypotheses);
        if self.pass.screened {
            let cells = &self.verification.cells;
            let is_clear = |judged: &&JudgedCell| judged.comparison.verdict == Outcome::Holds;
            let clear = cells.iter().filter(is_clear).count();
            jobs.progress.note(&format!(
                "{}: {} cells screened, {clear} clearly hold, {} to confirm",
                self.label,
                cells.len(),
                cells.len() - clear
            ));
        }
        let later = if are_left_to_proof {
            std::mem::take(&mut waiting)
        } else {
            Vec::new()
        };
        let mut admitted = Vec::new();
        if options.is_exact() {
            self.judge_exact(std::mem::take(&mut waiting))?;
        } else {
            admitted = self.admit(&mut waiting, &BTreeSet::new(), 0);
        }
        self.limit_launches(admitted.iter().flat_map(|one| one.subjects.iter().cloned()).collect());
        let design = Looks::new(jobs.site.rule(0.0), self.most_launches)
            .of_hypotheses(hypotheses)
            .of_weight(weights.total);
        Ok(Course {
            distances,
            waiting,
            later,
            weights,
            design,
            admitted,
            entered: BTreeSet::new(),
            had: 0,
        })
    }

    /// Makes launches and looks until all cells are decided, or the seconds end.
    pub(super) fn follow(&mut self, course: &mut Course) -> anyhow::Result<()> {
        loop {
            let joining = course.admitted.iter().flat_map(|one| one.subjects.iter().cloned());
            course.entered.extend(joining);
            if course.entered.is_empty() {
                return Ok(());
            }
            self.repeat(&course.distances, &course.entered, course.had);
            let Some(subjects) = self.launches_until_look(&course.entered, course.had)? else {
                return Ok(());
            };
            // Because of the clock, not because of what was measured.
            let further = self.pace() * self.launch_price(&subjects);
            self.is_out_of_time = self.left_seconds() < further && !self.goes_on_for(further);
            let last = self.jobs.site.options.fixed || self.is_out_of_time;
            self.judge(course, last)?;
            if last {
                return Ok(());
            }
            course.admitted = self.admit(&mut course.waiting, &course.entered, course.had);
        }
    }

    /// Looks at all cells that have launches, and keeps those that are still open.
    pub(super) fn judge(&mut self, course: &mut Course, last: bool) -> anyhow::Result<()> {
        let mut fresh = Cells::default();
        for one in course.admitted.drain(..) {
            fresh.append(one.what);
        }
        fresh.retain_timed(&self.timed);
        self.cells.append(fresh);
        self.timed.most = Some(self.most_launches);
        let design = &mut course.design;
        design.weigh(course.weights.by_cell(&self.cells));
        design.set_rule(self.jobs.site.rule(self.verification.noise_seconds));
        let judged = self.look(design, last)?;
        let fallen = self.finish(judged, Some(design))?;
        self.limit.heed(self.is_violated());
        for index in fallen {
            // The machine does not let the verdict stand: more launches may.
            design.reopen(index);
        }
        if last {
            return Ok(());
        }
        let open = design.wanted();
        self.plan_units(design, &open);
        let has_room = |index: &CellIndex| self.cells.launches_of(*index, &self.timed) < self.most_launches;
        let wanted: Vec<CellIndex> = open.into_iter().filter(has_room).collect();
        let launches_of = |index: &CellIndex| self.cells.launches_of(*index, &self.timed);
        course.had = wanted.iter().map(launches_of).max().unwrap_or(0);
        course.entered = self.cells.subjects_of(&wanted);
        Ok(())
    }

    /// Warns of what stands against the verdicts.
    pub(super) fn tell(&self, course: &Course) {
        self.report_dependence(&course.design);
        self.report_stability();
        self.report_what_is_left();
    }

    /// Repeats from now on as tells the ratios of what is measured from the floor, as far as the screening saw them from it: as fits the blocks that share
    /// a launch. What a look has left open is not as far from the floor as it seemed, or varies more.
    pub(super) fn repeat(&mut self, distances: &BTreeMap<Subject, f64>, measured: &BTreeSet<Subject>, had: usize) {
        // Only here: a search compares others with these, and a proof all left sides with the untouched library's; those ratios nobody
        // knows yet.
        if !self.pass.screened || self.beside.is_some() {
            return;
        }
        let is_measured = |(one, _): &(&Subject, &f64)| measured.contains(*one);
        let of_look = |(one, distance): (&Subject, &f64)| (one.clone(), if had == 0 { *distance } else { 0.0 });
        let distances = distances.iter().filter(is_measured).map(of_look).collect();
        self.pass.repeat(self.jobs, &distances);
        for group in self.together(measured) {
            let counts = &mut self.pass.repetitions;
            let most = group.iter().filter_map(|id| counts.get(id)).max().copied();
            if let Some(most) = most {
                counts.extend(group.into_iter().map(|id| (id, most)));
            }
        }
    }

    /// Makes the launches until the next look at cells that have `had` as many. Returns the subjects of the last launch; `None` if the seconds
    /// reach for none.
    fn launches_until_look(
        &mut self,
        entered: &BTreeSet<Subject>,
        had: usize,
    ) -> anyhow::Result<Option<BTreeSet<Subject>>> {
        let is_fixed = self.jobs.site.options.fixed;
        let step = if is_fixed {
            self.most_launches
        } else {
            verdict::next_look(had, self.most_launches) - had
        };
        let first = self.verification.launches + 1;
        let title = format!(
            "{}: launches {first} to {} of cells that may be violated",
            self.label,
            first + step - 1
        );
        self.jobs.progress.phase(&title, (step * entered.len()) as u64);
        let mut measured = None;
        for made in 0..step {
            let subjects = if is_fixed {
                entered.clone()
            } else {
                self.affordable(entered, had + made)
            };
            let price = self.pace() * self.launch_price(&subjects);
            // A first look needs its launches, whatever the estimate says, as far as the whole budget has them.
            let has_time = self.jobs.budget.left_seconds() > price;
            let needs_more =
                self.verification.launches < MIN_LAUNCHES && has_time && (made > 0 || self.left_seconds() > 0.0);
            if !is_fixed && !needs_more && self.left_seconds() < price {
                self.is_out_of_time = true;
                break;
            }
            let expected = self.launch_price(&subjects);
            let seconds = self.launch(&subjects)?;
            self.paces.push(seconds / expected);
            measured = Some(subjects);
        }
        Ok(measured)
    }

    /// A look at all that was admitted, on units of launches where these depend on each other.
    pub(super) fn look(&self, design: &mut Looks, last: bool) -> anyhow::Result<Vec<Vec<verdict::Judged>>> {
        let jobs = self.jobs;
        let known = jobs.run.allocations(&self.keys)?;
        let numbers = allocation::numbered(&known);
        let units = allocation::as_units(numbers.as_deref(), jobs.site.options.allocations);
        let families = self.cells.families(&self.timed)?;
        Ok(design.look(&families, &self.cells.launches(&self.timed), units, last))
    }

    /// Takes the times of the first pass as they are: another launch would find the same.
    fn judge_exact(&mut self, waiting: Vec<Waiting<Cells>>) -> anyhow::Result<()> {
        waiting.into_iter().for_each(|one| self.cells.append(one.what));
        self.timed = self.pass.timed.clone();
        self.verification.launches += 1;
        let mut design = Sequential::new(self.jobs.site.rule(0.0), self.jobs.site.options.launches);
        let judged = design.look(&self.cells.families(&self.timed)?, true);
        self.finish(judged, None)?;
        Ok(())
    }

    /// Takes over the verdicts of a look, marks those that the machine does not let stand, and returns these.
    pub(super) fn finish(
        &mut self,
        judged: Vec<Vec<verdict::Judged>>,
        design: Option<&Looks>,
    ) -> anyhow::Result<Vec<CellIndex>> {
        let stability = self.stability();
        let rule = self.jobs.site.rule(self.verification.noise_seconds);
        let mut fallen = Vec::new();
        let mut confirmed = Vec::new();
        let hypotheses = self.cells.hypotheses();
        for (index, mut cell, launches) in self.cells.judged(&self.timed, judged) {
            if cell.comparison.verdict == Outcome::Unstable {
                cell.note = design.and_then(|design| design.reason(&launches, hypotheses));
            } else if let Some(stability) = stability.as_ref().filter(|stability| !stability.is_stable()) {
                cell.note = stability.apply(&mut cell.comparison, &launches, &rule);
                if cell.note.is_some() {
                    fallen.push(index);
                } else {
                    cell.note = stability.one_mode(&launches);
                }
            }
            confirmed.push(cell);
        }
        let dependence = design.and_then(Looks::dependence);
        self.screening.is_doubtful = dependence.is_some_and(Dependence::is_found);
        self.verification.cells = self.screening.complete(confirmed);
        Ok(fallen)
    }

    /// True if it goes on with the seconds of the steps that would follow, for at least one launch of `launch_seconds`.
    fn goes_on_for(&mut self, launch_seconds: f64) -> bool {
        let (budget, is_violated) = (&self.jobs.budget, self.is_violated());
        let goes_on = self
            .limit
            .goes_on_for(budget.spent_seconds(), launch_seconds, is_violated);
        if goes_on {
            budget.prolong_part();
            self.jobs.progress.note(&format!(
                "{}: no violation so far, so the verification goes on with the search's time",
                self.label
            ));
        }
        goes_on
    }
}
