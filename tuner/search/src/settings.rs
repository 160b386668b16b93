//! Search over settings that act for a whole launch: eager limits, single copy, malloc thresholds. Searched before algorithms,
//! because the winners among algorithms depend on them.
//!
//! Such a setting touches every collective at every size, so each candidate launch measures the violated cells with their
//! bounds and, briefly, everything else: a value that fixes one cell and slows another is charged for it.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::progress::Progress;
use kilter_model::change::{Change, id};
use kilter_model::config::library::Library;
use kilter_model::deployment::Assignment;
use kilter_model::ledger::Proposal;
use kilter_model::not_deployed::{Measure, NotDeployed, Slowed};
use kilter_model::plan::Subject;
use kilter_model::report::{Contestant, FixKind};
use kilter_model::setup::Setup;
use kilter_protocol::fault::FaultKind;
use kilter_stats::sample::Sample;
use kilter_stats::verdict;
use kilter_stats::verdict::improves;

use crate::DAMAGE_FLOOR;
use crate::context::{Context, Site};
use crate::findings::Findings;
use crate::ordered::{self, Axis, Costs, Space};
use crate::savings;
use crate::shared_launches::{self, Member};
use crate::space::{self, LaunchCandidate};
use crate::target::Target;
use crate::trials::{CONFIRMING, Samples, Times, Trials, damaged, is_library};

/// Candidates that are confirmed at most.
const FINALISTS: usize = 3;
/// Values that argmin may measure for one parameter.
const EVALUATIONS: usize = 7;
/// A slowdown of a cell that counts as damage in a single launch, as a ratio: well above the difference of launches.
const DAMAGE: f64 = 1.3;

/// Searches from `base`, the launch as it is deployed so far, files and drop-in included: a setting that slows an earlier round's algorithm does
/// damage like any other. `banned` settings are not proposed.
///
/// # Errors
/// A failure that no candidate explains.
pub fn search(
    context: &Context<'_>,
    label: &str,
    base: Setup,
    targets: &[Target],
    banned: &BTreeSet<Assignment>,
) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    if targets.is_empty() {
        return Ok(findings);
    }
    let situation = situation(&context.site, &base);
    let trials = Trials::new(context, format!("{label}/settings"), targets, base);
    let mut search = Search {
        trials,
        not_taken: BTreeMap::new(),
    };
    let candidates = space::launch_candidates(&context.site.library, &context.facts.transports(), targets);
    say_what_cannot_be_put_back(&context.site, &context.progress, &candidates, &situation);
    let mut candidates = space::in_situation(&context.site.library, candidates, &situation);
    let limits = &context.site.options.limits;
    candidates.retain(|candidate| !limits.leaves_parameter(&context.site.library, &candidate.parameter));
    candidates.retain(|candidate| !candidate.assignments.iter().any(|one| banned.contains(one)));
    let groups = shared_launches::groups(&context.site.library, candidates);
    context.progress.phase("search launch settings", groups.len() as u64);
    let Some(present) = search.trials.launch(&[])? else {
        anyhow::bail!("the library's own collectives failed under the settings so far")
    };
    let mut scored: Vec<(f64, LaunchCandidate)> = Vec::new();
    for (candidate, times) in screen(&mut search.trials, groups, &present)? {
        search.refuse(&candidate, &times, &present, &mut findings);
        scored.push((search.cost(&times, &present), candidate));
    }
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let screened: Vec<(f64, String)> = scored
        .iter()
        .map(|(cost, candidate)| (*cost, id(&candidate.assignments)))
        .collect();
    let neutral = search.cost(&present, &present);
    let asked_for = targets.iter().any(|target| target.asked_for);
    // One candidate per parameter; what does not beat doing nothing is not looked at again, except where a contest was asked for.
    let mut finalists: Vec<(f64, LaunchCandidate)> = Vec::new();
    for (cost, candidate) in scored {
        let seen = finalists
            .iter()
            .any(|(_, other)| other.parameter == candidate.parameter);
        let is_promising = finalists.len() < FINALISTS && cost < neutral - 0.02;
        // Each could be accepted beside the others.
        let agrees = agree(
            &context.site.library,
            &situation,
            finalists.iter().map(|(_, other)| other).chain([&candidate]),
        );
        if !seen && agrees && (is_promising || candidate.confirm_always && asked_for) {
            finalists.push((cost, candidate));
        }
    }
    for (cost, candidate) in &mut finalists {
        let Some((min, max, scale)) = candidate.ordered else {
            continue;
        };
        let start = candidate
            .assignments
            .first()
            .and_then(|a| a.value.parse().ok())
            .unwrap_or(min);
        let axis = Axis {
            min: min.max(start / 4),
            max: max.min(start.saturating_mul(4)),
            start,
            scale,
        };
        let space = Space {
            axes: vec![axis],
            evaluations: EVALUATIONS,
        };
        let with = |value| space::with_value(&context.site.library, candidate, value, &situation);
        let known = Costs::from([(vec![start], *cost)]);
        let found = ordered::minimise(&space, &known, &mut |values| -> anyhow::Result<f64> {
            if context
                .jobs
                .budget
                .search_exhausted(search.trials.trial_seconds * 2.0 * CONFIRMING as f64)
            {
                return Ok(f64::INFINITY);
            }
            let Some(other) = with(values[0]).filter(|other| !other.assignments.iter().any(|one| banned.contains(one)))
            else {
                return Ok(f64::INFINITY);
            };
            Ok(search
                .trials
                .launch(&other.assignments)?
                .map_or(f64::INFINITY, |times| search.cost(&times, &present)))
        })?;
        let refined = found.and_then(|found| Some((found.cost, with(found.values[0])?)));
        if let Some((refined_cost, refined)) = refined {
            candidate.assignments = refined.assignments;
            *cost = refined_cost;
        }
    }
    finalists.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (cost, id) in screened.into_iter().filter(|(cost, _)| *cost < neutral) {
        if !finalists
            .iter()
            .any(|(_, one)| kilter_model::change::id(&one.assignments) == id)
        {
            let why = NotDeployed::NotAmongFinalists { finalists: FINALISTS };
            context.progress.note(&format!(
                "`{id}` looked better (cost {neutral:.2} -> {cost:.2}) and {why}"
            ));
            findings.left_behind.push((id, why));
        }
    }
    search.confirm(&finalists, (neutral, &present), &mut findings)?;
    Ok(findings)
}

/// Placement of the ranks, and the settings in force there and by `base`.
#[must_use]
pub fn situation(site: &Site<'_>, base: &Setup) -> space::Situation {
    let mut in_force = site.set_by_site();
    for list in [
        &base.expected,
        &base.expected_environment,
        &base.parameters,
        &base.environment,
    ] {
        in_force.extend(list.iter().cloned());
    }
    space::Situation {
        hosts: site.hosts(),
        in_force,
    }
}

/// A setting of the site's for which no value is the library's own: nothing but removing it can be tried, and only the site can do that.
fn say_what_cannot_be_put_back(
    site: &Site<'_>,
    progress: &Progress,
    candidates: &[LaunchCandidate],
    situation: &space::Situation,
) {
    let names: BTreeSet<&String> = candidates.iter().map(|candidate| &candidate.parameter).collect();
    let set = site.set_by_site();
    let without_default = site.library.parameters.iter().filter(|row| row.default.is_empty());
    for row in without_default.filter(|row| names.contains(&row.name)) {
        let is_deployed = situation.in_force.iter().rev().find(|(name, _)| *name == row.name);
        let is_sites = |pair: &&(String, String)| set.contains(pair);
        if let Some((name, value)) = is_deployed.filter(is_sites) {
            progress.note(&format!(
                "`{name}={value}` is set on this site, and no value selects the library's own default, so the default is not tried; run \
                 again without the setting"
            ));
        }
    }
}

/// True if settings can be in force together: no name has two values, and no constraint is broken.
fn agree<'c>(
    library: &Library,
    situation: &space::Situation,
    candidates: impl Iterator<Item = &'c LaunchCandidate>,
) -> bool {
    let mut all: BTreeMap<&str, &str> = BTreeMap::new();
    for one in candidates.flat_map(|candidate| &candidate.assignments) {
        if all
            .insert(&one.name, &one.value)
            .is_some_and(|other| other != one.value)
        {
            return false;
        }
    }
    let mut settings = situation.in_force.clone();
    settings.extend(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    library.broken(&settings).is_none()
}

/// Measures each candidate, as long as the budget has room to confirm the best; who fails is missing.
///
/// # Errors
/// A failure that no candidate explains.
pub fn screen(
    trials: &mut Trials<'_, '_>,
    groups: Vec<Vec<Member<LaunchCandidate>>>,
    present: &Times,
) -> anyhow::Result<Vec<(LaunchCandidate, Times)>> {
    let context = trials.context;
    shared_launches::screen(trials, groups, present, |trials| {
        let confirming = trials.trial_seconds * 2.0 * CONFIRMING as f64;
        let has_room = !context.jobs.budget.search_exhausted(confirming);
        if !has_room {
            context
                .progress
                .warn("the budget ended before every launch setting was tried; raise --budget");
        }
        has_room
    })
}

/// Costs of launches, and the candidates that are worth more of them.
struct Search<'s, 'a> {
    trials: Trials<'s, 'a>,
    /// Reasons why confirmed candidates are not taken, by id.
    not_taken: BTreeMap<String, NotDeployed>,
}

impl Search<'_, '_> {
    /// Distance of the targets from their bounds, plus the damage done elsewhere: a sum of natural logarithms of ratios. Smaller is better.
    fn cost(&self, times: &Times, base: &Times) -> f64 {
        let log_ratio = |a: Option<&f64>, b: Option<&f64>| match (a, b) {
            (Some(a), Some(b)) => (a / b).ln(),
            _ => 0.0,
        };
        let floor = (1.0 + self.trials.context.site.options.effect_floor).ln();
        let mut cost = 0.0;
        for target in self.trials.targets {
            let left = times.get(&target.left);
            let excess = target
                .bounds
                .iter()
                .map(|bound| log_ratio(left, times.get(bound)))
                .fold(0.0_f64, f64::max)
                - floor;
            cost += self.weight(&target.left, base) * excess.max(0.0);
        }
        // What exact times show in one launch needs no further ones: damage is damage.
        let exact = self.trials.context.site.options.is_exact();
        let tolerated = if exact { 1.0 + DAMAGE_FLOOR } else { DAMAGE };
        for (subject, time) in times.iter().filter(|(subject, _)| is_library(subject)) {
            let slower = log_ratio(Some(time), base.get(subject));
            if slower > tolerated.ln() {
                cost += if exact {
                    f64::INFINITY
                } else {
                    self.weight(subject, base) * slower
                };
            }
        }
        cost
    }

    /// Weight of a left side: 1, or with a call mix the time that the application spends in it over the mean of the targets.
    fn weight(&self, left: &Subject, base: &Times) -> f64 {
        let plan = &self.trials.context.plan;
        if plan.calls.is_empty() {
            return 1.0;
        }
        let spent = |left: &Subject| plan.calls_of(left) * base.get(left).copied().unwrap_or(0.0);
        let all: f64 = self.trials.targets.iter().map(|target| spent(&target.left)).sum();
        let mean = all / self.trials.targets.len().max(1) as f64;
        if mean > 0.0 { spent(left) / mean } else { 1.0 }
    }

    /// Records why a candidate that fixes something is not taken; only where times are exact.
    fn refuse(&self, candidate: &LaunchCandidate, times: &Times, present: &Times, findings: &mut Findings) {
        let slowed = times
            .iter()
            .filter(|(subject, _)| is_library(subject))
            .filter_map(|(subject, time)| Some((subject, time / present.get(subject)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((slowed, ratio)) = slowed.filter(|(_, ratio)| *ratio > 1.0 + DAMAGE_FLOOR) else {
            return;
        };
        if self.trials.context.site.options.is_exact() {
            let reason = format!(
                "`{}` would fix it, but {} would take {ratio:.2} times as long",
                id(&candidate.assignments),
                slowed.item_id()
            );
            let fixed = self.fixed(|subject| times.get(subject).copied());
            // A bound that became slower mends nothing.
            let is_faster = |target: &&Target| times.get(&target.left) < present.get(&target.left);
            for target in self.trials.targets.iter().filter(is_faster).map(Target::name) {
                if fixed.contains(&target) {
                    let evidence = findings.evidence.entry(target).or_default();
                    evidence.refused.get_or_insert_with(|| reason.clone());
                }
            }
        }
    }

    /// The targets whose bounds are met, by the times of subjects in seconds.
    fn fixed(&self, time: impl Fn(&Subject) -> Option<f64>) -> BTreeSet<String> {
        let floor = 1.0 + self.trials.context.site.options.effect_floor;
        self.trials
            .targets
            .iter()
            .filter(|target| {
                let mut bounds = target.bounds.iter().filter_map(&time);
                time(&target.left).is_some_and(|left| bounds.all(|bound| left <= bound * floor))
            })
            .map(Target::name)
            .collect()
    }

    /// Measures the finalists and the present state in turn, several launches each; accepts candidates greedily while each
    /// fixes a further target, which becomes faster beyond the noise, without slowing anything that matters.
    fn confirm(
        &mut self,
        finalists: &[(f64, LaunchCandidate)],
        (neutral, present): (f64, &Times),
        findings: &mut Findings,
    ) -> anyhow::Result<()> {
        if finalists.is_empty() {
            return Ok(());
        }
        let mut configurations = vec![Vec::new()];
        configurations.extend(finalists.iter().map(|(_, candidate)| candidate.assignments.clone()));
        let samples = self.trials.in_turn("confirm launch settings", &configurations)?;
        let median = |times: &Samples, subject: &Subject| times.get(subject).map(Sample::median);
        let rule = self.trials.context.site.rule(self.trials.context.facts.noise_seconds());
        let fixed_before = self.fixed(|subject| median(&samples[0], subject));
        let mut fixed_so_far = fixed_before.clone();
        for (position, (cost, candidate)) in finalists.iter().enumerate() {
            let times = &samples[position + 1];
            let candidate_id = id(&candidate.assignments);
            if times.is_empty() {
                self.refuse_finalist(&candidate_id, self.failed(&candidate_id));
                continue;
            }
            let is_improved = |target: &&Target| {
                let before_and_after = samples[0].get(&target.left).zip(times.get(&target.left));
                before_and_after.is_some_and(|(before, after)| improves(before, after, &rule))
            };
            let improved: BTreeSet<String> = self
                .trials
                .targets
                .iter()
                .filter(is_improved)
                .map(Target::name)
                .collect();
            let fixed: BTreeSet<String> = self
                .fixed(|subject| median(times, subject))
                .intersection(&improved)
                .cloned()
                .collect();
            let slowed = |subject: &Subject| {
                let [before, after] = [&samples[0], times].map(|samples| median(samples, subject).unwrap_or(f64::NAN));
                Slowed {
                    what: subject.item_id(),
                    before_seconds: before,
                    after_seconds: after,
                }
            };
            let slowed: Vec<Slowed> = damaged(&samples[0], times).map(slowed).collect();
            let gains = fixed.difference(&fixed_so_far).count();
            let net_seconds = savings::net_seconds(
                &self.trials.context.plan.calls,
                &|subject| median(&samples[0], subject),
                &|subject| median(times, subject),
            );
            if gains > 0 && net_seconds < 0.0 {
                let why = NotDeployed::CostsMore { seconds: -net_seconds };
                self.refuse_finalist(&candidate_id, why);
            } else if gains > 0 && slowed.is_empty() {
                findings.proposals.push(Proposal {
                    change: Change::of_launch(candidate.assignments.clone()),
                    fixes: fixed.difference(&fixed_before).cloned().collect(),
                });
                fixed_so_far.extend(fixed);
            } else if gains > 0 {
                self.refuse_finalist(&candidate_id, NotDeployed::SideEffect { slowed });
            } else if let Some(others) = fixed_by_others(&fixed, &fixed_before) {
                let why = NotDeployed::Superfluous { cells: others };
                self.refuse_finalist(&candidate_id, why);
            } else {
                let middles = |samples: &Samples| -> Times {
                    let middle = |(subject, sample): (&Subject, &Sample)| (subject.clone(), sample.median());
                    samples.iter().map(middle).collect()
                };
                let why = NotDeployed::NotConfirmed {
                    measure: Measure::Cost,
                    launches: times.values().map(Sample::len).max().unwrap_or_default(),
                    before: self.cost(&middles(&samples[0]), present),
                    screened: *cost,
                    confirmed: self.cost(&middles(times), present),
                };
                // What was to be measured whatever it showed has not looked better.
                if *cost < neutral {
                    self.refuse_finalist(&candidate_id, why);
                }
            }
        }
        self.record(finalists, &samples, findings);
        Ok(())
    }

    /// Keeps and says why a finalist is not taken.
    fn refuse_finalist(&mut self, id: &str, why: NotDeployed) {
        self.trials.context.progress.note(&format!("`{id}` {why}"));
        self.not_taken.insert(id.to_owned(), why);
    }

    fn failed(&self, id: &str) -> NotDeployed {
        let what = self.trials.context.quarantine.fault(id);
        NotDeployed::Failed {
            what: what.unwrap_or(FaultKind::Refused),
        }
    }

    fn record(&self, finalists: &[(f64, LaunchCandidate)], samples: &[Samples], findings: &mut Findings) {
        let rule = self.trials.context.site.rule(self.trials.context.facts.noise_seconds());
        for target in self.trials.targets {
            let subject = target.left.clone();
            let measured: Vec<(Option<&LaunchCandidate>, &Sample)> = samples
                .iter()
                .enumerate()
                .filter_map(|(index, times)| {
                    Some((index.checked_sub(1).map(|i| &finalists[i].1), times.get(&subject)?))
                })
                .collect();
            let Some((None, default)) = measured.first() else {
                continue;
            };
            let default = default.median();
            let bound = target
                .bounds
                .iter()
                .filter_map(|bound| samples[0].get(bound))
                .map(Sample::median)
                .min_by(f64::total_cmp);
            let equal =
                verdict::equivalent_to_best(&measured.iter().map(|(_, s)| (*s).clone()).collect::<Vec<_>>(), &rule);
            let contestants = measured
                .iter()
                .zip(equal)
                .skip(1)
                .map(|((candidate, sample), among_best)| {
                    let assignments = candidate.map_or(&[][..], |candidate| &candidate.assignments);
                    let change = Change::of_launch(assignments.to_vec());
                    let chosen = findings.proposals.iter().any(|proposal| proposal.change == change);
                    let looks_better = !chosen && sample.median() < default;
                    let why_not = || {
                        let why = self.not_taken.get(&id(assignments)).cloned();
                        why.unwrap_or(NotDeployed::NoBetterThanDefault {
                            ratio: sample.median() / default,
                        })
                    };
                    Contestant {
                        id: id(assignments),
                        kind: Some(FixKind::Parameter),
                        seconds: sample.median(),
                        ratio_to_default: sample.median() / default,
                        ratio_to_bound: bound.map_or(0.0, |bound| sample.median() / bound),
                        among_best,
                        chosen,
                        predicted: None,
                        change,
                        not_deployed: looks_better.then(why_not),
                    }
                });
            let evidence = findings.evidence.entry(target.name()).or_default();
            evidence.launch_wide.extend(contestants);
        }
    }
}

/// The targets that a finalist fixes and others before it fix as well; `None` where it fixes none.
fn fixed_by_others(fixed: &BTreeSet<String>, before: &BTreeSet<String>) -> Option<Vec<String>> {
    let others: Vec<String> = fixed.difference(before).cloned().collect();
    (!others.is_empty()).then_some(others)
}
