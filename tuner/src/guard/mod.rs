//! A night of `kilter guard`: what the job and its hosts say, what is deployed, a few times, and hosts against each other.
//!
//! [`gathering`] reads facts, [`state`] asks a job for what the library reports, [`tuned`] finds in the database what was deployed, [`probes`]
//! chooses what is timed, [`launches`] times it, [`per_node`] measures pairs of hosts. `kilter-guard` judges all of it. [`hints`] writes what calls
//! the command every night.

pub mod gathering;
pub mod hints;
mod launches;
mod per_node;
mod probes;
mod state;
mod tuned;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use kilter_bench::store::{Guarded, Reader};
use kilter_guard::deployed::{self, Acts};
use kilter_guard::night::{Accepted, SCHEMA};
use kilter_guard::times::{self, Rule, Watched};
use kilter_guard::{Facts, Kept, Night, Standing, changes};
use kilter_model::options::Options;
use kilter_model::plan::Subject;
use kilter_search::context::{Context, Jobs};
use kilter_search::proof::{self, InPlace};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{self, Pair};

use self::launches::Timed;
use self::state::State;
use self::tuned::{Fixed, Tuned};
use crate::reporting;

/// Nights whose medians say how much nights differ; older ones are left out.
const REMEMBERED: usize = 30;

/// Launches that look again at what seems slower.
const AGAIN: usize = 15;

/// Launches of an acceptance over those of a night: every later night is compared with it.
const ACCEPTING: usize = 4;

/// Tonight's task.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Makes this night what later ones are compared with.
    pub accepts: bool,
    /// Measures pairs of hosts.
    pub per_node: bool,
    /// Launches of all watched cells.
    pub launches: usize,
}

/// Word of a standing in the database.
#[must_use]
pub fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Silent => SILENT,
        Standing::Differs => "differs",
        Standing::Unchecked => "unchecked",
    }
}

const SILENT: &str = "silent";

/// Ranks and layout, under which nights are compared.
#[must_use]
pub fn place(options: &Options) -> String {
    let layout = options.layout.map(|layout| format!(" on {layout}"));
    format!("{} ranks{}", options.ranks, layout.unwrap_or_default())
}

/// Checks everything, and keeps it. `told` are facts about the hosts and the library that no measuring job reports.
///
/// # Errors
/// The database's, and jobs that fail: then nothing could be checked.
pub fn night(context: &Context<'_>, told: Facts, asked: &Asked) -> anyhow::Result<Night> {
    let (site, jobs) = (&context.site, &context.jobs);
    let key = (site.library.name.as_str(), place(site.options));
    let known = jobs.run.guarded((key.0, &key.1), SILENT)?;
    let reference = known.as_ref().map(Reference::read).transpose()?;
    let accepts = asked.accepts || reference.is_none();
    let tuned = Tuned::newest(&Reader::open(context.store.path())?, &site.library, site.options.ranks)?;
    let mut facts = told;
    let state = State::ask(jobs, &tuned)?;
    state.tell(&site.library, &tuned, &mut facts);
    let acting = |id: &str| reference.as_ref().is_some_and(|one| one.accepted.acting.contains(id));
    let mut deployed = state.settings(&site.library, &tuned, &acting);
    deployed.extend(in_place(context, &tuned, &acting, &mut facts)?);
    let watched = probes::watched(site.options, &tuned);
    let count = if accepts {
        ACCEPTING * asked.launches
    } else {
        asked.launches
    };
    let timed = launches::measure(jobs, "night", &watched, count)?;
    deployed.extend(tuned.of_dropin(&timed.dropin, &acting));
    let mut rule = Rule::of_ten_nights(site.options.alpha, site.options.effect_floor);
    rule.noise_seconds = timed.noise_seconds;
    let mut cells = reference.as_ref().map_or_else(Vec::new, |one| one.watched(&timed));
    let expected: BTreeSet<&str> = deployed
        .iter()
        .filter(|change| change.acted || matches!(change.acts, Acts::Yes(_)))
        .map(|change| change.id.as_str())
        .collect();
    let fixed: Vec<(&Fixed, bool)> = tuned
        .fixed
        .iter()
        .map(|fixed| {
            let all_act = fixed.changes.iter().all(|id| expected.contains(id.as_str()));
            (fixed, all_act && !fixed.changes.is_empty())
        })
        .collect();
    let again = look_again(jobs, &cells, &fixed, &timed, &rule)?;
    for cell in &mut cells {
        let subject = watched.iter().find(|subject| subject.item_id() == cell.cell);
        cell.again = subject.and_then(|subject| again.sample(subject));
    }
    let guidelines = judged(&fixed, &timed, &again, &rule);
    let hosts = state.hosts();
    let mut unchecked = [timed.unchecked(), again.unchecked()].concat();
    let nodes = if asked.per_node {
        per_node::map(jobs, &state.start.hosts, &rule, &mut unchecked)?
    } else {
        None
    };
    jobs.heed_jobs();
    reporting::warn_of_load(jobs);
    let kept = Kept {
        times: timed.medians(),
        acting: deployed
            .iter()
            .filter(|change| matches!(change.acts, Acts::Yes(_)))
            .map(|change| change.id.clone())
            .collect(),
        facts,
    };
    anyhow::ensure!(
        !kept.times.is_empty(),
        "none of the watched calls gave a time: {}; end what else runs, or raise --budget",
        unchecked.join("; ")
    );
    let night = Night {
        schema: SCHEMA,
        library: format!("{} {}", site.library.name, site.version),
        ranks: site.options.ranks,
        hosts,
        started: reporting::date(jobs.run.started_unix_seconds),
        run: jobs.run.id,
        accepted: reference.as_ref().map(|one| one.head.clone()),
        accepts,
        changes: reference
            .as_ref()
            .map_or_else(Vec::new, |one| changes(&one.accepted.facts, &kept.facts)),
        facts: kept.facts.len(),
        deployed,
        guidelines,
        times: times::judge(&cells, &rule),
        watched: kept.times.len(),
        alpha: site.options.alpha,
        nodes,
        unchecked,
        warnings: context.progress.warnings(),
    };
    let text = serde_json::to_string(&kept)?;
    jobs.run
        .record_night((key.0, &key.1), word(night.standing()), accepts, &text)?;
    Ok(night)
}

/// The night that tonight is compared with.
struct Reference {
    head: Accepted,
    accepted: Kept,
    /// Medians of the silent nights since.
    since: Vec<BTreeMap<String, f64>>,
}

impl Reference {
    fn read(guarded: &Guarded) -> anyhow::Result<Reference> {
        let kept = |text: &str, run: i64| {
            serde_json::from_str::<Kept>(text)
                .with_context(|| format!("the night of run {run} cannot be read; `kilter guard --accept` begins anew"))
        };
        let accepted = kept(&guarded.accepted.content, guarded.accepted.run)?;
        let last = guarded.since.iter().rev().take(REMEMBERED);
        let medians = |content: &str, run: i64| -> anyhow::Result<BTreeMap<String, f64>> {
            let times = kept(content, run)?.times.into_iter();
            let median = |(cell, times)| Some((cell, Sample::new(times).ok()?.median()));
            Ok(times.filter_map(median).collect())
        };
        let since = last.map(|night| medians(&night.content, night.run));
        Ok(Reference {
            head: Accepted {
                run: guarded.accepted.run,
                started: reporting::date(guarded.accepted.unix_seconds),
                silent_nights: guarded.since.len(),
            },
            accepted,
            since: since.collect::<anyhow::Result<_>>()?,
        })
    }

    /// The cells that were timed then and are watched tonight.
    fn watched(&self, timed: &Timed) -> Vec<Watched> {
        let of = |subject: &Subject| {
            let cell = subject.item_id();
            let accepted = Sample::new(self.accepted.times.get(&cell)?.clone()).ok()?;
            Some(Watched {
                nights: self
                    .since
                    .iter()
                    .filter_map(|night| night.get(&cell).copied())
                    .collect(),
                tonight: timed.sample(subject),
                again: None,
                accepted,
                cell,
            })
        };
        timed.subjects.iter().filter_map(of).collect()
    }
}

/// Deployed choices of the library's algorithms, proven by the messages that they send; these become facts.
fn in_place(
    context: &Context<'_>,
    tuned: &Tuned,
    acting: &dyn Fn(&str) -> bool,
    facts: &mut Facts,
) -> anyhow::Result<Vec<deployed::Change>> {
    let found = proof::in_place(&context.jobs, &context.proofs, "deployed", &tuned.selections())?;
    let mut changes = Vec::new();
    for (one, found) in tuned.selected.iter().zip(found) {
        let id = one.id();
        if let InPlace::Acts { sent } | InPlace::Idle { sent, .. } = &found {
            facts.of_job(&format!("messages of {}", one.cell()), sent.clone());
        }
        let acts = match found {
            InPlace::Acts { .. } => Acts::Yes("the library sends what this algorithm sends".to_owned()),
            InPlace::Idle { sent, expected } => Acts::No(format!(
                "the library sends `{sent}`; when the algorithm is switched in a job, it sends `{expected}`"
            )),
            InPlace::Unknown(why) => Acts::Unknown(why.to_string()),
        };
        changes.push(deployed::Change {
            acted: acting(&id),
            id,
            acts,
        });
    }
    Ok(changes)
}

/// Further launches of what seems slower than it was, or than its bound.
fn look_again(
    jobs: &Jobs<'_>,
    cells: &[Watched],
    fixed: &[(&Fixed, bool)],
    timed: &Timed,
    rule: &Rule,
) -> anyhow::Result<Timed> {
    let suspects: BTreeSet<String> = times::suspects(cells, rule).into_iter().collect();
    let of_times = timed.subjects.iter().filter(|one| suspects.contains(&one.item_id()));
    let mut subjects: BTreeSet<Subject> = of_times.cloned().collect();
    for (fixed, _) in fixed.iter().filter(|(_, is_expected)| *is_expected) {
        let both = timed.sample(&fixed.left).zip(timed.sample(&fixed.right));
        let ratio = both.map(|(left, right)| left.median() / right.median());
        if ratio.is_some_and(|ratio| ratio > 1.0 + rule.tolerance / 2.0) {
            subjects.extend([fixed.left.clone(), fixed.right.clone()]);
        }
    }
    if subjects.is_empty() {
        return Ok(Timed::default());
    }
    let names: Vec<String> = subjects.iter().map(Subject::item_id).collect();
    jobs.progress.note(&format!(
        "these seem slower, and are measured in {AGAIN} further launches: {}",
        names.join(", ")
    ));
    launches::measure(jobs, "again", &subjects, AGAIN)
}

/// The guidelines that deployed changes fixed, judged together; those that were looked at again, by these launches alone.
fn judged(fixed: &[(&Fixed, bool)], timed: &Timed, again: &Timed, rule: &Rule) -> Vec<deployed::Guideline> {
    let pair = |fixed: &Fixed| -> Option<Pair> {
        let both = again.both(&fixed.left, &fixed.right);
        let (left, right) = both.or_else(|| timed.both(&fixed.left, &fixed.right))?;
        Some(Pair { left, right })
    };
    let pairs: Vec<Option<Pair>> = fixed.iter().map(|(fixed, _)| pair(fixed)).collect();
    let rule = verdict::Rule {
        alpha: rule.alpha,
        effect_floor: rule.tolerance,
        noise_seconds: rule.noise_seconds,
        ..verdict::Rule::default()
    };
    let known: Vec<Pair> = pairs.iter().flatten().cloned().collect();
    let mut comparisons = verdict::judge(&known, &rule).into_iter();
    let guideline = |((fixed, is_expected), pair): (&(&Fixed, bool), Option<Pair>)| deployed::Guideline {
        cell: fixed.cell.clone(),
        expression: fixed.expression.clone(),
        fix: fixed.changes.join(", "),
        is_expected: *is_expected,
        comparison: pair.and_then(|_| comparisons.next()),
    };
    fixed.iter().zip(pairs).map(guideline).collect()
}
