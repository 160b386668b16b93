//! The first rounds of a contest: a screening of all candidates, and a refinement of the ordered knobs of the front runners.

use std::collections::BTreeMap;

use kilter_model::deployment::Selection;
use kilter_model::plan::DEFAULT;
use kilter_model::report::FixKind;

use super::Contests;
use super::finals::foreseen;
use super::job::Job;
use crate::ordered::{self, Costs, Space};
use crate::ranking::{best_of_kinds, ranked, to_refine};
use crate::reasons;
use crate::repetition::Purpose;
use crate::space;
use crate::target::Target;

/// Candidates per block of the screening: few enough that drift within the block stays small.
const PER_BLOCK: usize = 10;
/// Candidates that reach the final.
const FINALISTS: usize = 5;
/// Values that are measured at most of a knob alone, and points of several together: fewer than of one after the other.
const EVALUATIONS: usize = 7;
const EVALUATIONS_TOGETHER: usize = 10;
/// The screening drops a candidate whose median is this multiple of the default's, even if it is among the best.
const HOPELESS: f64 = 3.0;

impl<'c, 'a> Contests<'c, 'a> {
    /// Measures every candidate of the kinds asked for, refines the front runners' knobs, and picks who goes on.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn screen_all(
        &self,
        targets: &[Target],
        kinds: &dyn Fn(&Target, FixKind) -> bool,
        front: &dyn Fn(&BTreeMap<Selection, f64>) -> Vec<Selection>,
    ) -> anyhow::Result<Vec<(Target, Vec<Selection>)>> {
        // Before the job of the screening: while rows of plugins are verified, no worker waits beside them and takes a core.
        let fields = targets.iter().map(|target| self.candidates(target, kinds));
        let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
        let mut screening = Job::new(self, "screening");
        let mut finals: Vec<(Target, Vec<Selection>)> = Vec::new();
        self.parts
            .jobs
            .progress
            .phase("screen candidates", targets.len() as u64);
        for (target, field) in targets.iter().zip(fields) {
            // A target that is screened and has no final was screened for nothing.
            let known = || foreseen(&finals);
            if !self.has_time_for(known()) || self.parts.jobs.budget.search_exhausted(0.0) {
                self.parts
                    .jobs
                    .progress
                    .warn("the budget ended before every call was searched; raise --budget");
                break;
            }
            let unknown = || vec![DEFAULT.to_owned(); FINALISTS];
            let has_time = || self.has_time_for(known().chain([(target, unknown())]));
            let ratios = self.screen(&mut screening, target, field, &has_time)?;
            let front = front(&ratios);
            let behind = reasons::left_behind(&ratios, &front, FINALISTS);
            self.left_behind.borrow_mut().insert(target.name(), behind);
            finals.push((target.clone(), front));
            self.parts.jobs.progress.step(1);
        }
        screening.finish()?;
        Ok(finals)
    }

    /// Times of the candidates over the default's, with refined knobs of the front runners, as far as there `has_time` for them beside finals.
    fn screen(
        &self,
        job: &mut Job<'_, 'c, 'a>,
        target: &Target,
        candidates: Vec<Selection>,
        has_time: &dyn Fn() -> bool,
    ) -> anyhow::Result<BTreeMap<Selection, f64>> {
        let parts = self.parts;
        let mut ratios: BTreeMap<Selection, f64> = BTreeMap::new();
        let (candidates, note) = self.guide.field(target, candidates);
        if let Some(note) = note {
            parts.jobs.progress.note(&note);
        }
        for chunk in candidates.chunks(PER_BLOCK) {
            if !ratios.is_empty() && !has_time() {
                return Ok(ratios);
            }
            ratios.extend(job.ratios(target, chunk, Purpose::Screening)?);
        }
        let nodes = parts.jobs.site.nodes();
        let knobs = |one: &Selection| space::knobs_on(nodes.as_ref(), &parts.jobs.site.library, one, target.bytes());
        let has_knobs = |one: &Selection| !knobs(one).is_empty();
        for kind in [FixKind::Parameter, FixKind::Algorithm] {
            for (selection, _) in to_refine(&ratios, kind, &has_knobs) {
                if !has_time() {
                    return Ok(ratios);
                }
                self.refine(job, target, &selection, &mut ratios)?;
            }
        }
        Ok(ratios)
    }

    /// Searches the ordered knobs of one candidate, all together, from the screening's times of its family.
    fn refine(
        &self,
        job: &mut Job<'_, 'c, 'a>,
        target: &Target,
        selection: &Selection,
        ratios: &mut BTreeMap<Selection, f64>,
    ) -> anyhow::Result<()> {
        let site = &self.parts.jobs.site;
        let knobs = space::knobs_on(site.nodes().as_ref(), &site.library, selection, target.bytes());
        let start = knobs.iter().map(|knob| {
            let value = space::knob_value(selection, &knob.name);
            knob.axis(value.unwrap_or(knob.min))
        });
        let space = Space {
            axes: start.collect(),
            evaluations: if knobs.len() > 1 {
                EVALUATIONS_TOGETHER
            } else {
                EVALUATIONS
            },
        };
        let family = space::family(selection);
        let known: Costs = ratios
            .iter()
            .filter(|(one, _)| space::family(one) == family)
            .map(|(one, ratio)| (space::point(&knobs, one), *ratio))
            .collect();
        ordered::minimise(&space, &known, &mut |values| -> anyhow::Result<f64> {
            let candidate = space::at_point(&knobs, selection, values);
            if self.refusal(target, &candidate).is_some() {
                return Ok(f64::INFINITY);
            }
            // Another row, by its plain name.
            if let Some(ratio) = ratios.get(&candidate) {
                return Ok(*ratio);
            }
            let measured = job.ratios(target, std::slice::from_ref(&candidate), Purpose::Screening)?;
            let ratio = measured.get(&candidate).copied().unwrap_or(f64::INFINITY);
            ratios.insert(candidate, ratio);
            Ok(ratio)
        })?;
        Ok(())
    }
}

/// Finalists of the screening when one is to be deployed: the best of each kind, so that the final can prefer the simplest among equals, and the
/// fastest overall.
#[must_use]
pub fn front(ratios: &BTreeMap<Selection, f64>) -> Vec<Selection> {
    let ranked = ranked(ratios);
    let mut front = best_of_kinds(&ranked, 1);
    for (selection, ratio) in ranked {
        if front.len() < FINALISTS && ratio < HOPELESS && !front.contains(&selection) {
            front.push(selection);
        }
    }
    front
}
