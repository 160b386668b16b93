//! Measurements of every layout on the files of all of them.

use kilter_bench::budget::Budget;
use kilter_emit::{self as emit, Emitted};
use kilter_model::config::library::Library;
use kilter_model::deployment::Deployment;
use kilter_model::plan::{PlannedCell, Subject};
use kilter_model::report::ArrivalCell;
use kilter_search::reproducibility;
use kilter_search::verification::{self, Medians, Reached, Verification};

use super::member::Member;
use super::merge::Merged;
use crate::apart::{self, Judged};
use crate::spoilt::spoilt;

/// A layout, measured on the merged files.
pub(super) struct Measured {
    pub(super) after: Verification,
    pub(super) untouched: Medians,
    /// Subjects that got slower, each with a note of how much.
    pub(super) spoilt: Vec<(Subject, String)>,
    /// Comparisons with ranks that arrive apart.
    pub(super) arrivals: Vec<(Subject, ArrivalCell)>,
    /// True if results differ in their last bits, which was asked not to happen.
    pub(super) is_different: bool,
}

impl Measured {
    /// Forgets what was seen where parts acted that are gone: those cells are as before tuning, unless a choice that is left is their own.
    pub(super) fn forget(&mut self, gone: &Deployment, left: &Deployment, library: &Library) {
        let is_gone = |subject: &Subject| gone.touches(subject, library);
        self.spoilt.retain(|(subject, _)| !is_gone(subject));
        self.arrivals.retain(|(subject, _)| !is_gone(subject));
        self.after.cells.retain(|judged| {
            let (own, bound) = (&judged.cell.left, &judged.cell.right);
            let was_chosen = gone.chooses_for(own) || gone.chooses_for(bound);
            let is_chosen = left.chooses_for(own) && !was_chosen;
            is_chosen || !is_gone(own) && !is_gone(bound)
        });
    }
}

/// Verifies every layout from the files; `begin` gives each its seconds. Files of several layouts together may act on any of them, wherever one of
/// them acts. A layout's own proof stands for what is out of reach, and for ranks that arrive apart, if nothing else is in force there now.
pub(super) fn measure(
    members: &[Member<'_, '_>],
    label: &str,
    (merged, emitted): (&Merged, &Emitted),
    begin: impl Fn(&Budget, usize),
) -> anyhow::Result<Vec<Measured>> {
    let each: Vec<Deployment> = members.iter().map(|member| merged.deployment(member.layout)).collect();
    let mut all = Vec::new();
    for (index, (member, deployed)) in members.iter().zip(&each).enumerate() {
        let Member { layout, context, tuned } = member;
        let (jobs, plan) = (&context.jobs, &context.plan);
        begin(&jobs.budget, members.len() - index);
        context
            .progress
            .note(&format!("layout {layout}: verifying the files of all layouts"));
        let setup = emit::staged(jobs, emitted)?;
        let library = &context.site.library;
        let touched = |subject: &Subject| each.iter().any(|one| one.touches(subject, library));
        let reached = Reached {
            touched: &touched,
            first: &|cell| tuned.is_first(deployed, cell),
            changed: None,
        };
        let allotted = jobs.budget.total_seconds();
        let measured = jobs
            .budget
            .last_phase(PHASE, allotted, || -> anyhow::Result<Measured> {
                let (mut after, untouched) =
                    verification::prove(jobs, plan, &context.facts, (label, &setup), reached, &mut None)?;
                let (mut spoilt, _) = spoilt(
                    jobs,
                    (label, &setup),
                    (&after, &untouched),
                    (&touched, &|subject| each.iter().all(|one| one.leaves(subject))),
                )?;
                let is_own = *deployed == tuned.deployment;
                let mut arrivals = if is_own { tuned.arrivals.clone() } else { Vec::new() };
                if spoilt.is_empty() && !is_own {
                    let cells = meant(members, &each, index);
                    let Judged { cells, slower } =
                        apart::judge(jobs, &context.facts, (label, &setup), &cells, &tuned.before.medians)?;
                    spoilt = slower;
                    arrivals = cells;
                }
                let different = reproducibility::different(jobs, plan, label, &setup)?;
                match &tuned.after {
                    Some(own) if is_own => after = after.beside(own),
                    _ => after.leave_open(&tuned.before),
                }
                let is_different = !different.is_empty();
                spoilt.extend(different);
                Ok(Measured {
                    spoilt,
                    arrivals,
                    is_different,
                    after,
                    untouched,
                })
            })?;
        all.push(measured);
        context.progress.finish();
    }
    Ok(all)
}

/// Cells of a layout that the files may act on, and that they are for on any layout.
fn meant<'m>(members: &'m [Member<'_, '_>], each: &[Deployment], index: usize) -> Vec<&'m PlannedCell> {
    let (Some(member), Some(deployed)) = (members.get(index), each.get(index)) else {
        return Vec::new();
    };
    let library = &member.context.site.library;
    let is_meant = |cell: &&PlannedCell| {
        let mut all = members.iter().zip(each);
        deployed.touches(&cell.left, library) && all.any(|(member, own)| member.tuned.is_first(own, cell))
    };
    member.context.plan.cells.iter().filter(is_meant).collect()
}

/// Name of the part of the command's time.
pub(super) const PHASE: &str = "proof of the files of all layouts";
