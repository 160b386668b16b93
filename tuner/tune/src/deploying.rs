//! Turns decisions into files, and judges fresh launches under these files.

use std::collections::BTreeSet;

use kilter_emit::{self as emit, Emitted};
use kilter_model::change::id;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::ledger::Ledger;
use kilter_model::plan::{Plan, Subject};
use kilter_model::report::ArrivalCell;
use kilter_model::setup::Setup;
use kilter_overlap::tuning::Disproved;
use kilter_search::FEWEST_OF_PROOF;
use kilter_search::context::{Context, Facts, Jobs};
use kilter_search::proof;
use kilter_search::proofs::Proofs;
use kilter_search::quarantine::Quarantine;
use kilter_search::reproducibility;
use kilter_search::verification::{self, InTurn, JudgedCell, Medians, Reached, Verification, Verifying, prove};
use kilter_stats::verdict::Outcome;

use super::spoilt::{Calls, gainless, spoilt};
use super::taking_back::{take_back, take_back_broken, take_back_gainless, take_back_idle};
use super::within_reach::keep_within_reach;
use super::{Tuned, apart};

/// Verifications of one deployment, each with less in it than the one before.
const ATTEMPTS: usize = 3;

/// Parts of a run that a deployment and its proof read.
#[derive(Clone, Copy)]
pub(super) struct Deploying<'s, 'a> {
    jobs: &'s Jobs<'a>,
    plan: &'s Plan,
    facts: &'s Facts,
    /// Candidates never to be proposed again; idle and broken changes join them.
    quarantine: &'s Quarantine,
    /// Messages of selections in running jobs, which the files must reproduce.
    proofs: &'s Proofs,
}

impl<'s, 'a> Deploying<'s, 'a> {
    pub(super) fn of(context: &'s Context<'a>) -> Deploying<'s, 'a> {
        Deploying {
            jobs: &context.jobs,
            plan: &context.plan,
            facts: &context.facts,
            quarantine: &context.quarantine,
            proofs: &context.proofs,
        }
    }
}

/// Emits the decisions and verifies exactly these files in fresh launches; takes back changes that slow anything, and verifies again. The first
/// of these proofs decides what `verifying` has left to it.
pub(super) fn deploy_and_verify<'s, 'a>(
    parts: Deploying<'s, 'a>,
    label: &str,
    ledger: &mut Ledger,
    tuned: &mut Tuned,
    verifying: &mut Option<Box<Verifying<'s, 'a>>>,
) -> anyhow::Result<()> {
    if ledger.verified().is_empty() {
        keep_within_reach((parts.jobs, parts.plan, parts.facts), ledger, tuned);
    }
    let mut earlier: Option<Earlier> = None;
    for attempt in 0..ATTEMPTS {
        let label = format!("{label}/{attempt}");
        let mut proven = match emit_and_prove(parts, &label, ledger, (tuned, earlier.as_ref()), verifying) {
            Ok(Some(proven)) => proven,
            Ok(None) => return tuned.deploy_nothing(parts.jobs.site.options),
            Err(error) if take_back_broken(ledger, parts.jobs, parts.plan, parts.quarantine, &error, &tuned.before) => {
                if ledger.deployment().is_empty() || attempt + 1 == ATTEMPTS {
                    ledger.take_back_all("jobs under the changes to deploy failed");
                    return tuned.deploy_nothing(parts.jobs.site.options);
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        let cut = is_cut(parts.jobs, &proven.after);
        if let Some(earlier) = &earlier {
            if let Some(launches) = &cut {
                proven.forget_what_is_slower();
                parts.jobs.progress.warn(&format!(
                    "the budget ended after {launches} of the proof of what is left; raise --budget"
                ));
            }
            proven.take_over(earlier, &ledger.deployment(), &parts.jobs.site.library);
        } else if let Some(launches) = cut {
            let because = format!("the budget ended after {launches} of its proof, which show nothing");
            parts
                .jobs
                .progress
                .warn(&format!("nothing is deployed: {because}; raise --budget"));
            ledger.take_back_all(&because);
            return tuned.deploy_nothing(parts.jobs.site.options);
        }
        let spoilt = proven.spoilt;
        emit::confirm_ran(&parts.jobs.progress, parts.quarantine, &proven.emitted, &proven.after);
        tuned.deployment = ledger.deployment();
        tuned.emitted = Some(proven.emitted);
        tuned.after = Some(proven.after);
        tuned.untouched = proven.untouched;
        tuned.again = proven.again;
        tuned.arrivals = proven.arrivals;
        let (progress, library) = (&parts.jobs.progress, &parts.jobs.site.library);
        let mut is_changed = false;
        if attempt + 1 < ATTEMPTS {
            is_changed |= take_back(ledger, progress, library, &spoilt, &tuned.before);
            is_changed |= take_back_gainless(ledger, progress, &proven.gainless);
        }
        if !is_changed {
            for (_, note) in spoilt {
                progress.warn(&format!("{note}; compare before you deploy"));
            }
            return Ok(());
        }
        let proof = tuned.after.clone();
        earlier = proof.map(|proof| Earlier {
            deployed: tuned.deployment.clone(),
            proof,
            untouched: tuned.untouched.clone(),
            again: tuned.again.clone(),
            arrivals: tuned.arrivals.clone(),
        });
        tuned.deployment = ledger.deployment();
        if tuned.deployment.is_empty() {
            return tuned.deploy_nothing(parts.jobs.site.options);
        }
    }
    Ok(())
}

/// The launches of a proof that was cut so short that no test can show anything by it; `None` where it was not.
fn is_cut(jobs: &Jobs<'_>, proof: &Verification) -> Option<String> {
    let options = jobs.site.options;
    let is_short = proof.launches < FEWEST_OF_PROOF.min(options.launches);
    (is_short && !options.is_exact()).then(|| kilter_render::format::count(proof.launches, "launch"))
}

/// Files that were written, and what launches under them showed.
struct Proven {
    /// Comparisons with ranks that arrive apart.
    arrivals: Vec<(Subject, ArrivalCell)>,
    emitted: Emitted,
    after: Verification,
    untouched: Medians,
    /// Calls that were measured once more.
    again: InTurn,
    /// Subjects that got slower, each with a note of how much.
    spoilt: Vec<(Subject, String)>,
    /// Names of targets whose calls show no gain.
    gainless: BTreeSet<String>,
}

/// A proof of a deployment of which something was taken back since.
struct Earlier {
    deployed: Deployment,
    proof: Verification,
    untouched: Medians,
    again: InTurn,
    arrivals: Vec<(Subject, ArrivalCell)>,
}

impl Earlier {
    /// Says of a subject whether it may take another time since only this is `left`.
    fn changed<'e>(&self, left: &Deployment, library: &'e Library) -> impl Fn(&Subject) -> bool + use<'e> {
        let gone = self.deployed.without(left);
        let mut compositions = left.clone();
        // They run what is deployed for the calls that they are made of.
        let is_composition = |selection: &Selection| matches!(selection, Selection::Mockup(..));
        compositions.selections.retain(|_, selection| is_composition(selection));
        compositions.assignments.clear();
        move |subject| gone.touches(subject, library) || compositions.touches(subject, library)
    }
}

impl Proven {
    /// Takes the findings of an `earlier` proof where nothing changed since.
    fn take_over(&mut self, earlier: &Earlier, left: &Deployment, library: &Library) {
        let changed = earlier.changed(left, library);
        self.after.take_over(&earlier.proof, &changed);
        verification::take_over(&mut self.untouched, &earlier.untouched, &changed);
        verification::take_over(&mut self.again.deployed, &earlier.again.deployed, &changed);
        verification::take_over(&mut self.again.untouched, &earlier.again.untouched, &changed);
        let is_known = |one: &&(Subject, ArrivalCell)| !self.arrivals.iter().any(|(other, _)| *other == one.0);
        let known: Vec<_> = earlier.arrivals.iter().filter(is_known).cloned().collect();
        self.arrivals
            .extend(known.into_iter().filter(|(subject, _)| !changed(subject)));
    }

    /// Holds nothing against what is deployed: the launches are too few to say so.
    fn forget_what_is_slower(&mut self) {
        self.spoilt.clear();
        self.gainless.clear();
    }
}

/// Emits the decisions that act, and measures them; `None` if nothing is left. After an `earlier` proof, what changed since is measured.
fn emit_and_prove<'s, 'a>(
    parts: Deploying<'s, 'a>,
    label: &str,
    ledger: &mut Ledger,
    (tuned, earlier): (&mut Tuned, Option<&Earlier>),
    verifying: &mut Option<Box<Verifying<'s, 'a>>>,
) -> anyhow::Result<Option<Proven>> {
    let Some((emitted, setup)) = emit_what_acts(parts, label, ledger, tuned)? else {
        return Ok(None);
    };
    let deployed = ledger.deployment();
    let library = &parts.jobs.site.library;
    let touched = |subject: &Subject| deployed.touches(subject, library);
    let changed = earlier.map(|earlier| earlier.changed(&deployed, library));
    let changed = changed.as_ref().map(|changed| changed as Calls<'_>);
    let reached = Reached {
        touched: &touched,
        first: &|cell| tuned.is_first(&deployed, cell),
        changed,
    };
    let (jobs, plan, facts) = (parts.jobs, parts.plan, parts.facts);
    let deciding = if earlier.is_none() { verifying } else { &mut None };
    let proof = prove(jobs, plan, facts, (label, &setup), reached, deciding);
    if let Some(verifying) = deciding {
        tuned.before = verifying.findings();
    }
    let (mut after, untouched) = proof?;
    after.leave_open(&tuned.before);
    let (mut spoilt, again) = spoilt(
        parts.jobs,
        (label, &setup),
        (&after, &untouched),
        (&touched, &|subject| deployed.leaves(subject)),
    )?;
    let mended = |subject: &Subject| {
        let at = |one: &&JudgedCell| one.cell.left == *subject;
        let is_kept = after
            .cells
            .iter()
            .filter(at)
            .all(|one| one.comparison.verdict == Outcome::Holds);
        let mut before = tuned.before.cells.iter().filter(at);
        is_kept && before.any(|one| one.comparison.verdict == Outcome::Violated)
    };
    let mut without_gain = BTreeSet::new();
    if !parts.jobs.site.options.is_exact() {
        let unchanged = |subject: &Subject| deployed.leaves(subject);
        without_gain = gainless((&after, &untouched), (&mended, &unchanged));
    }
    let mut arrivals = Vec::new();
    if spoilt.is_empty() {
        let cells = parts.plan.cells.iter();
        let is_known = |subject: &Subject| {
            let mut known = earlier.iter().flat_map(|earlier| &earlier.arrivals);
            !changed.is_none_or(|changed| changed(subject)) && known.any(|(other, _)| other == subject)
        };
        let cells =
            cells.filter(|cell| touched(&cell.left) && tuned.is_first(&deployed, cell) && !is_known(&cell.left));
        let cells: Vec<_> = cells.collect();
        let judged = apart::judge(parts.jobs, parts.facts, (label, &setup), &cells, &tuned.before.medians)?;
        spoilt = judged.slower;
        arrivals = judged.cells;
    }
    Ok(Some(Proven {
        arrivals,
        emitted,
        after,
        untouched,
        again,
        spoilt,
        gainless: without_gain,
    }))
}

/// Judges the targets by the deployment. Takes back the changes proposed for them if no target comes nearer by this evidence, and verifies and
/// judges the rest.
pub(super) fn prove_overlap<'s, 'a>(
    parts: Deploying<'s, 'a>,
    label: &str,
    ledger: &mut Ledger,
    tuned: &mut Tuned,
    verifying: &mut Option<Box<Verifying<'s, 'a>>>,
) -> anyhow::Result<()> {
    forget_what_fell(ledger, tuned);
    let Some(disproved) = judge_overlap(parts.jobs, parts.facts, label, tuned)? else {
        return Ok(());
    };
    parts.jobs.progress.warn(&format!("taken back: {}", disproved.because));
    ledger.take_back_latest(&disproved.assignments, &disproved.because);
    if ledger.deployment().is_empty() {
        tuned.deploy_nothing(parts.jobs.site.options)?;
    } else {
        let label = format!("{label}/without what was chosen for overlap");
        deploy_and_verify(parts, &label, ledger, tuned, verifying)?;
        if parts.jobs.budget.exhausted() {
            parts
                .jobs
                .progress
                .warn("the budget ended before the targets were judged again without the settings that were taken back; raise --budget");
            tuned.goals.judged_as_before();
        } else {
            judge_overlap(parts.jobs, parts.facts, &label, tuned)?;
        }
    }
    forget_what_fell(ledger, tuned);
    Ok(())
}

/// Judges the targets by the emitted files, where there are any.
fn judge_overlap(jobs: &Jobs<'_>, facts: &Facts, label: &str, tuned: &mut Tuned) -> anyhow::Result<Option<Disproved>> {
    let Some(emitted) = tuned.emitted.as_ref().filter(|_| !tuned.deployment.is_empty()) else {
        return Ok(None);
    };
    let setup = emit::staged(jobs, emitted)?;
    tuned.goals.judge_deployed(jobs, facts, label, &setup)
}

/// Drops the choices for overlap that are not deployed any more.
fn forget_what_fell(ledger: &Ledger, tuned: &mut Tuned) {
    let barred = ledger.barred_settings();
    let line = |one: &Assignment| {
        let id = id(std::slice::from_ref(one));
        let why = if barred.contains(one) {
            "is taken back: it slowed a collective"
        } else {
            "is not deployed: the files that passed verification do not have it"
        };
        (id.clone(), format!("`{id}` {why}"))
    };
    let lines: Vec<(String, String)> = tuned.goals.chosen().map(line).collect();
    let because = lines.iter().map(|(id, line)| (id.as_str(), line.clone()));
    tuned.goals.keep_only(&tuned.deployment.assignments, because);
}

/// Emits the decisions without the rules that the library does not follow when it is launched with the files, and, if the options demand equal
/// results, without the changes that leave other ones; `None` if nothing is left.
fn emit_what_acts(
    parts: Deploying<'_, '_>,
    label: &str,
    ledger: &mut Ledger,
    tuned: &Tuned,
) -> anyhow::Result<Option<(Emitted, Setup)>> {
    // Each time with less in it.
    for time in 0.. {
        let deployed = ledger.deployment();
        let emitted = emit::emit(parts.jobs, parts.plan, parts.facts, &deployed, &[])?;
        let setup = emit::staged(parts.jobs, &emitted)?;
        let idle = proof::not_carried_out(parts.jobs, parts.proofs, &format!("{label}/{time}"), &setup, &deployed)?;
        if idle.is_empty() {
            let different = reproducibility::different(parts.jobs, parts.plan, &format!("{label}/{time}"), &setup)?;
            if different.is_empty() {
                return Ok(Some((emitted, setup)));
            }
            if !take_back(
                ledger,
                &parts.jobs.progress,
                &parts.jobs.site.library,
                &different,
                &tuned.before,
            ) {
                for (_, reason) in different {
                    parts.jobs.progress.warn(&format!("nothing is deployed: {reason}"));
                    ledger.take_back_all(&reason);
                }
                break;
            }
        }
        for (key, reason) in idle {
            take_back_idle(
                ledger,
                &parts.jobs.progress,
                parts.quarantine,
                key,
                &reason,
                &tuned.before,
            );
        }
        if ledger.deployment().is_empty() {
            break;
        }
    }
    Ok(None)
}
