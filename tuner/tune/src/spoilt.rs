//! Collectives that a deployment slows.

use std::collections::BTreeSet;

use kilter_model::plan::Subject;
use kilter_model::setup::Setup;
use kilter_protocol::plan::Operand;
use kilter_search::DAMAGE_FLOOR;
use kilter_search::context::{Jobs, Site};
use kilter_search::target::Target;
use kilter_search::verification::{
    InTurn, Medians, Verification, id_of_type, in_one_mode, measure_in_turn, other_type,
};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{self, Outcome, Pair, Rule};

/// Cost of the drop-in for a call that it leaves alone, in seconds, below which there is no damage.
const DROPIN_SECONDS: f64 = 50e-9;

/// Says whether a call is one of some.
pub(crate) type Calls<'f> = &'f dyn Fn(&Subject) -> bool;

/// A collective under the deployment beside itself in the untouched library.
struct Beside {
    subject: Subject,
    /// Time under the deployment over the untouched library's.
    ratio: f64,
    is_slower: bool,
    /// True if the interval of the ratio alone, without a correction for all the others, says so.
    seems_slower: bool,
}

impl Beside {
    fn note(self, name: &dyn Fn(&Subject) -> String) -> (Subject, String) {
        let (item, ratio) = (name(&self.subject), self.ratio);
        let note = format!("{item} takes {ratio:.2} times as long as in the untouched library");
        (self.subject, note)
    }
}

/// Subjects among the `touched` ones that are slower than in the untouched library, each with a note of how much; those that are `unchanged` tell the
/// machine's mode in each launch. `after` is the proof of `setup`, and `untouched` has the medians of the untouched library in the same minutes. Calls
/// that combine data count with elements of [another type](other_type), too. The times of what was measured once more are returned as well.
///
/// # Errors
/// A launch that fails.
pub(crate) fn spoilt(
    jobs: &Jobs<'_>,
    of: (&str, &Setup),
    (after, untouched): (&Verification, &Medians),
    calls: (Calls<'_>, Calls<'_>),
) -> anyhow::Result<(Vec<(Subject, String)>, InTurn)> {
    let proven = (&after.medians, untouched, after.noise_seconds);
    let (mut slower, again) = slower_calls(jobs, of, proven, calls, None)?;
    if let Some(operand) = other_type(jobs.site.options) {
        let InTurn {
            deployed, untouched, ..
        } = &after.of_other_type;
        let proven = (deployed, untouched, after.noise_seconds);
        say_other_type(jobs, (deployed, untouched), operand);
        // What is slower with the one type needs no second reason.
        let is_slower = |subject: &Subject| slower.iter().any(|(other, _)| other == subject);
        let touched = |subject: &Subject| (calls.0)(subject) && !is_slower(subject);
        let others = slower_calls(jobs, of, proven, (&touched, calls.1), Some(operand))?.0;
        slower.extend(others);
    }
    Ok((slower, again))
}

/// Says what the proof shows of calls with elements of another type.
fn say_other_type(jobs: &Jobs<'_>, (deployed, untouched): (&Medians, &Medians), operand: Operand) {
    let gain = |(subject, own): (&Subject, &Vec<f64>)| Some((median(untouched.get(subject)?)? / median(own)?).ln());
    let gains: Vec<f64> = deployed.iter().filter_map(gain).collect();
    if !gains.is_empty() {
        let mean = (gains.iter().sum::<f64>() / gains.len() as f64).exp();
        jobs.progress.note(&format!(
            "the proof has {} that combine {} by {}, too: {mean:.2} times as fast in the geometric mean",
            kilter_render::format::count(gains.len(), "call"),
            operand.element.mpi_name(),
            operand.operator.mpi_name()
        ));
    }
}

/// The same of calls with elements of one type.
///
/// A machine may have been in another state for a while, in which one call of many takes longer, and the library's own calls take longer beside others
/// that are deployed than beside their kind. So what seems slower is measured once more, in launches of its own, and these decide: a right change is
/// not taken back for a state that has passed.
///
/// # Errors
/// A launch that fails.
fn slower_calls(
    jobs: &Jobs<'_>,
    (label, setup): (&str, &Setup),
    (after, untouched, noise_seconds): (&Medians, &Medians, f64),
    (touched, unchanged): (Calls<'_>, Calls<'_>),
    operand: Option<Operand>,
) -> anyhow::Result<(Vec<(Subject, String)>, InTurn)> {
    let (own, reference, _) = in_one_mode((after, untouched), unchanged);
    let mut seen = beside(&jobs.site, (&own, &reference), touched, noise_seconds)?;
    let name = |subject: &Subject| match operand {
        Some(operand) => id_of_type(&subject.item_id(), operand),
        None => subject.item_id(),
    };
    let notes = |all: Vec<Beside>| -> Vec<(Subject, String)> {
        let slower = all.into_iter().filter(|one| one.is_slower);
        slower.map(|one| one.note(&name)).collect()
    };
    seen.retain(|one| one.is_slower || one.seems_slower);
    if seen.is_empty() || jobs.site.options.is_exact() {
        return Ok((notes(seen), InTurn::default()));
    }
    let subjects: BTreeSet<Subject> = seen.iter().map(|one| one.subject.clone()).collect();
    let label = match operand {
        Some(operand) => format!("{label}/{}", id_of_type("slower", operand)),
        None => format!("{label}/slower"),
    };
    let Some(again) = measure_in_turn(jobs, (&label, setup), (&subjects, operand))? else {
        // Nothing speaks against the proof.
        return Ok((notes(seen), InTurn::default()));
    };
    let medians = (&again.deployed, &again.untouched);
    let fresh = beside(&jobs.site, medians, &|_| true, noise_seconds)?;
    let mut slower = Vec::new();
    for one in seen {
        match fresh.iter().find(|fresh| fresh.subject == one.subject) {
            Some(fresh) if !fresh.is_slower => jobs.progress.note(&format!(
                "{} took {:.2} times as long as in the untouched library in the proof, and {:.2} times in {} further launches: not held \
                 against what is deployed",
                name(&one.subject),
                one.ratio,
                fresh.ratio,
                again.launches,
            )),
            Some(fresh) => slower.push(Beside {
                ratio: fresh.ratio,
                is_slower: true,
                ..one
            }),
            None => slower.push(one),
        }
    }
    Ok((notes(slower), again))
}

fn median(medians: &[f64]) -> Option<f64> {
    Some(Sample::new(medians.to_vec()).ok()?.median())
}

/// Time over the untouched library's from which on a promised gain counts as not seen.
const NO_GAIN: f64 = 0.97;
/// Names of the targets of calls that take as long as in the untouched library, beside the `mended` ones: a setting of whole launches that was deployed
/// for these alone shows no gain. What was chosen for one call stays unless it is slower: beside other calls that are deployed the library's own takes
/// longer than beside its kind, so that it is no better to go back to it.
pub(crate) fn gainless(
    (after, untouched): (&Verification, &Medians),
    (mended, unchanged): (Calls<'_>, Calls<'_>),
) -> BTreeSet<String> {
    let (own, reference, _) = in_one_mode((&after.medians, untouched), unchanged);
    let name = |(subject, deployed): (&Subject, &Vec<f64>)| {
        let ratio = median(deployed)? / median(reference.get(subject)?)?;
        let collective = subject.collective()?;
        (ratio > NO_GAIN && !mended(subject)).then(|| Target::unbounded(collective, subject.bytes).name())
    };
    own.iter().filter_map(name).collect()
}

/// Compares the collectives and volumes, of those `touched`, with the untouched library measured in the same minutes.
fn beside(
    site: &Site<'_>,
    (deployed, untouched): (&Medians, &Medians),
    touched: &dyn Fn(&Subject) -> bool,
    noise_seconds: f64,
) -> anyhow::Result<Vec<Beside>> {
    let mut subjects = Vec::new();
    let mut pairs = Vec::new();
    // A cell on which nothing acts is slower by chance, and would take a fix back that has nothing to do with it.
    for (subject, reference) in untouched.iter().filter(|(subject, _)| touched(subject)) {
        if let Some(medians) = deployed.get(subject) {
            subjects.push(subject.clone());
            pairs.push(Pair {
                left: Sample::new(medians.clone())?,
                right: Sample::new(reference.clone())?,
            });
        }
    }
    // The untouched library is measured in launches of its own.
    let rule = site.rule(noise_seconds).unpaired();
    let rule = Rule {
        effect_floor: rule.effect_floor.max(DAMAGE_FLOOR),
        noise_seconds: rule.noise_seconds.max(DROPIN_SECONDS / 2.0),
        ..rule
    };
    let compared = subjects.into_iter().zip(verdict::judge(&pairs, &rule));
    Ok(compared
        .map(|(subject, comparison)| Beside {
            subject,
            ratio: comparison.ratio,
            is_slower: comparison.verdict == Outcome::Violated,
            seems_slower: comparison.ratio_ci.0 > 1.0 + site.options.effect_floor,
        })
        .collect())
}
