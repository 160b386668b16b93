//! Finalists among settings, in launches in turn with the present state: some are proposed, the others get a reason.

use std::collections::BTreeSet;

use kilter_model::change::{Change, id};
use kilter_model::ledger::Proposal;
use kilter_model::not_deployed::{Measure, NotDeployed, Slowed};
use kilter_model::plan::Subject;
use kilter_model::report::{Contestant, FixKind};
use kilter_protocol::fault::FaultKind;
use kilter_stats::sample::Sample;
use kilter_stats::verdict;
use kilter_stats::verdict::improves;

use super::Search;
use crate::findings::Findings;
use crate::savings;
use crate::space::LaunchCandidate;
use crate::target::Target;
use crate::trials::{Samples, Times, damaged};

impl Search<'_, '_> {
    /// Measures the finalists and the present state in turn, several launches each; accepts candidates greedily while each
    /// fixes a further target, which becomes faster beyond the noise, without slowing anything that matters.
    pub(super) fn confirm(
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
        let rule = self
            .trials
            .parts
            .jobs
            .site
            .rule(self.trials.parts.facts.noise_seconds());
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
            let met = self.fixed(|subject| median(times, subject));
            let fixed: BTreeSet<String> = met.intersection(&improved).cloned().collect();
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
                &self.trials.parts.plan.calls,
                &|subject| median(&samples[0], subject),
                &|subject| median(times, subject),
            );
            if gains > 0 && net_seconds < 0.0 {
                let why = NotDeployed::CostsMore { seconds: -net_seconds };
                self.refuse_finalist(&candidate_id, why);
            } else if gains > 0 && slowed.is_empty() {
                let change = Change::of_launch(candidate.assignments.clone());
                findings.met.push((change.clone(), met));
                findings.proposals.push(Proposal {
                    change,
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
        self.trials.parts.jobs.progress.note(&format!("`{id}` {why}"));
        self.not_taken.insert(id.to_owned(), why);
    }

    fn failed(&self, id: &str) -> NotDeployed {
        let what = self.trials.parts.quarantine.fault(id);
        NotDeployed::Failed {
            what: what.unwrap_or(FaultKind::Refused),
        }
    }

    fn record(&self, finalists: &[(f64, LaunchCandidate)], samples: &[Samples], findings: &mut Findings) {
        let rule = self
            .trials
            .parts
            .jobs
            .site
            .rule(self.trials.parts.facts.noise_seconds());
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
