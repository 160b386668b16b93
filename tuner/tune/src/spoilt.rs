//! Collectives that a deployment slows.

use std::collections::BTreeSet;

use kilter_model::plan::Subject;
use kilter_model::report::Contest;
use kilter_model::setup::Setup;
use kilter_search::DAMAGE_FLOOR;
use kilter_search::context::{Jobs, Site};
use kilter_search::target::Target;
use kilter_search::verification::{InTurn, Medians, Verification, in_one_mode, measure_in_turn};
use kilter_stats::hodges_lehmann;
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
    /// Lower end of the ratio's interval.
    least: f64,
    is_slower: bool,
}

impl Beside {
    fn note(self) -> (Subject, String) {
        let (item, ratio) = (self.subject.item_id(), self.ratio);
        let note = format!("{item} takes {ratio:.2} times as long as in the untouched library");
        (self.subject, note)
    }
}

/// Subjects among the `touched` ones that are slower than in the untouched library, each with a note of how much; those that are `unchanged` tell the
/// machine's mode in each launch. `proven` are the medians of the
/// proof of `setup` and those of the untouched library in the same minutes.
///
/// A machine may have been in another state for a while, in which one call of many takes longer, and the library's own calls take longer beside others
/// that are deployed than beside their kind. So what seems slower is measured once more, in launches of its own, and these decide: a right change is
/// not taken back for a state that has passed. Their times are
/// returned, too.
///
/// # Errors
/// A launch that fails.
pub(crate) fn spoilt(
    jobs: &Jobs<'_>,
    (label, setup): (&str, &Setup),
    (after, untouched): (&Verification, &Medians),
    (touched, unchanged): (Calls<'_>, Calls<'_>),
) -> anyhow::Result<(Vec<(Subject, String)>, InTurn)> {
    let noise_seconds = after.noise_seconds;
    let (own, reference, _) = in_one_mode((&after.medians, untouched), unchanged);
    let mut seen = beside(&jobs.site, (&own, &reference), touched, noise_seconds)?;
    seen.retain(|one| one.is_slower);
    let notes = |all: Vec<Beside>| all.into_iter().map(Beside::note).collect();
    if seen.is_empty() || jobs.site.options.is_exact() {
        return Ok((notes(seen), InTurn::default()));
    }
    let subjects: BTreeSet<Subject> = seen.iter().map(|one| one.subject.clone()).collect();
    let label = format!("{label}/slower");
    let Some(again) = measure_in_turn(jobs, (&label, setup), &subjects)? else {
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
                one.subject.item_id(),
                one.ratio,
                fresh.ratio,
                again.launches,
            )),
            Some(fresh) => slower.push(Beside {
                ratio: fresh.ratio,
                ..one
            }),
            None => slower.push(one),
        }
    }
    Ok((notes(slower), again))
}

/// Time over the untouched library's from which on a promised gain counts as not seen.
const NO_GAIN: f64 = 0.97;
/// Confidence of the interval that may exclude a promise.
const CONFIDENCE: f64 = 0.95;
/// Time over the default's in running jobs up to which a change promises more than the noise of one.
const PROMISE: f64 = 0.9;

/// Calls that show no gain in a proof.
#[derive(Debug, Default)]
pub(crate) struct Gainless {
    /// Choices that were faster in running jobs, and are not from the files: each call with a note of how long it takes.
    pub(crate) choices: Vec<(Subject, String)>,
    /// Names of the targets of all of these calls: nothing that was deployed for them alone shows a gain.
    pub(crate) targets: BTreeSet<String>,
}

/// The calls that take as long as in the untouched library. `mended` calls keep what was chosen for them: their guidelines hold.
pub(crate) fn gainless(
    contests: &[Contest],
    medians: (&Verification, &Medians),
    is_chosen: &dyn Fn(&Subject) -> bool,
    (mended, unchanged): (Calls<'_>, Calls<'_>),
) -> Gainless {
    let mut found = Gainless::default();
    for one in without_gain(medians, (mended, unchanged)) {
        let Some(collective) = one.subject.collective() else {
            continue;
        };
        let bytes = one.subject.bytes;
        found.targets.insert(Target::unbounded(collective, bytes).name());
        let is_of = |contest: &&Contest| contest.function == collective.name() && contest.bytes == bytes;
        let chosen = contests.iter().rev().find(is_of).and_then(|contest| {
            let mut all = contest.candidates.iter();
            all.find(|candidate| candidate.chosen)
        });
        // Pairs in running jobs are no weaker than launches in turn, each of which may meet another mode of the machine: a choice falls where the proof
        // excludes its promise, by its interval, and stays where it shows nothing.
        let is_broken = chosen.is_some_and(|chosen| {
            let promised = chosen.ratio_to_default;
            promised < PROMISE && one.least > promised.sqrt()
        });
        if is_broken && is_chosen(&one.subject) {
            found.choices.push(one.note());
        }
    }
    found
}

/// The collectives, beside the `mended` ones, that take as long as in the untouched library.
fn without_gain(
    (after, untouched): (&Verification, &Medians),
    (mended, unchanged): (Calls<'_>, Calls<'_>),
) -> Vec<Beside> {
    let (own, reference, _) = in_one_mode((&after.medians, untouched), unchanged);
    let beside = |(subject, deployed): (&Subject, &Vec<f64>)| {
        let sample = |medians: &Vec<f64>| Sample::new(medians.clone()).ok();
        let (deployed, default) = (sample(deployed)?, sample(reference.get(subject)?)?);
        let ratio = deployed.median() / default.median();
        (ratio > NO_GAIN && !mended(subject)).then(|| Beside {
            subject: subject.clone(),
            ratio,
            least: hodges_lehmann::ratio(&deployed, &default, CONFIDENCE).low,
            is_slower: false,
        })
    };
    own.iter().filter_map(beside).collect()
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
            least: comparison.ratio_ci.0,
            is_slower: comparison.verdict == Outcome::Violated,
        })
        .collect())
}
