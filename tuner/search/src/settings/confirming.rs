//! Finalists among settings, in launches in turn with the present state: some are proposed, the others get a reason.

use std::collections::BTreeSet;

use kilter_model::change::{Change, id};
use kilter_model::ledger::Proposal;
use kilter_model::not_deployed::{Measure, NotDeployed, Slowed};
use kilter_model::plan::Subject;
use kilter_model::report::{Contestant, FixKind};
use kilter_protocol::fault::FaultKind;
use kilter_stats::benjamini_hochberg;
use kilter_stats::sample::Sample;
use kilter_stats::verdict;
use kilter_stats::verdict::improves;

use super::Search;
use super::groups::FASTER;
use crate::findings::Findings;
use crate::savings;
use crate::space::LaunchCandidate;
use crate::target::Target;
use crate::trials::{CONFIRMING, Samples, Times, damaged};

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
        let mut samples = self.trials.in_turn("confirm launch settings", &configurations)?;
        if self.is_one_hidden(finalists, &samples) {
            let more = self
                .trials
                .in_turn("confirm launch settings once more", &configurations)?;
            samples = samples
                .into_iter()
                .zip(more)
                .map(|(first, more)| joined(first, &more))
                .collect();
        }
        let untouched = &samples[0];
        let fixed_before = self.fixed(|subject| median(untouched, subject));
        let mut fixed_so_far = fixed_before.clone();
        for ((cost, candidate), times) in finalists.iter().zip(&samples[1..]) {
            let candidate_id = id(&candidate.assignments);
            if times.is_empty() {
                self.refuse_finalist(&candidate_id, self.failed(&candidate_id));
                continue;
            }
            let shown = self.shown(untouched, times, self.promising.get(&candidate_id));
            match shown.judged(&fixed_before, &fixed_so_far) {
                Judged::Taken => {
                    let change = Change::of_launch(candidate.assignments.clone());
                    let new = |targets: &BTreeSet<String>| targets.difference(&fixed_before).cloned().collect();
                    findings.proposals.push(Proposal {
                        change,
                        fixes: new(&shown.fixed),
                    });
                    fixed_so_far.extend(shown.fixed);
                }
                Judged::Refused(why) => self.refuse_finalist(&candidate_id, why),
                // A candidate that was to be measured whatever it showed has not looked better.
                Judged::Unconfirmed if *cost >= neutral => {}
                Judged::Unconfirmed => {
                    let not_confirmed = || NotDeployed::NotConfirmed {
                        measure: Measure::Cost,
                        launches: times.values().map(Sample::len).max().unwrap_or_default(),
                        before: self.cost(&middles(untouched), present),
                        screened: *cost,
                        confirmed: self.cost(&middles(times), present),
                    };
                    let missed = shown.missed.map(|ratio| NotDeployed::MissesBound { ratio });
                    self.refuse_finalist(&candidate_id, missed.unwrap_or_else(not_confirmed));
                }
            }
        }
        self.record(finalists, &samples, findings);
        Ok(())
    }

    /// True if a finalist takes far less for a call in the middle of its launches and does not show it: one disturbed launch of five hides any gain. The
    /// seconds for launching all once more are there.
    fn is_one_hidden(&self, finalists: &[(f64, LaunchCandidate)], samples: &[Samples]) -> bool {
        let untouched = &samples[0];
        let is_hidden = |((_, candidate), times): (&(f64, LaunchCandidate), &Samples)| {
            let promising = self.promising.get(&id(&candidate.assignments));
            let is_much_faster = |target: &Target| {
                let before_and_after = median(untouched, &target.left).zip(median(times, &target.left));
                before_and_after.is_some_and(|(before, after)| before * target.best_ratio > after * FASTER)
                    && promising.is_some_and(|names| names.contains(&target.name()))
            };
            self.trials.targets.iter().any(is_much_faster) && self.shown(untouched, times, promising).improves_none
        };
        let seconds = self.trials.trial_seconds() * (samples.len() * CONFIRMING) as f64;
        let budget = &self.trials.parts.jobs.budget;
        finalists.iter().zip(&samples[1..]).any(is_hidden) && !budget.search_exhausted(seconds)
    }

    /// Compares a finalist's launches with those of the present state. Of the many calls without bounds, five launches show some faster by chance; so
    /// those that count are `promising`, as a launch of the screening showed, and the tests of these share their error.
    fn shown(&self, untouched: &Samples, times: &Samples, promising: Option<&BTreeSet<String>>) -> Shown {
        let parts = &self.trials.parts;
        let rule = parts.jobs.site.rule(parts.facts.noise_seconds());
        let before_and_after = |target: &Target| untouched.get(&target.left).zip(times.get(&target.left));
        let is_improved = |target: &&Target| {
            before_and_after(target).is_some_and(|(before, after)| {
                // A way that acts on this call alone is there already.
                let is_best = rule.is_relevant(target.best_ratio * before.median(), after.median());
                is_best && improves(before, after, &rule)
            })
        };
        let is_of_many = |target: &Target| target.bounds.is_empty() && !target.asked_for;
        let is_promising = |target: &&Target| promising.is_some_and(|names| names.contains(&target.name()));
        let (of_many, few): (Vec<&Target>, Vec<&Target>) =
            self.trials.targets.iter().partition(|target| is_of_many(target));
        let of_many: Vec<&Target> = of_many.into_iter().filter(is_promising).collect();
        let p = |target: &&Target| {
            before_and_after(target).map_or(1.0, |(before, after)| rule.test.p_left_greater(before, after))
        };
        let adjusted = benjamini_hochberg::adjust(&of_many.iter().map(p).collect::<Vec<f64>>());
        let shown = of_many.into_iter().zip(adjusted).filter(|(_, p)| *p <= rule.alpha);
        let all = few.into_iter().chain(shown.map(|(target, _)| target));
        let improved: Vec<&Target> = all.filter(is_improved).collect();
        let improves_none = improved.is_empty();
        let met = self.fixed(|subject| median(times, subject));
        let bounded = improved.iter().filter(|target| !target.bounds.is_empty());
        let missed = bounded.filter(|target| !met.contains(&target.name()));
        let missed = missed.filter_map(|target| {
            let bounds = target.bounds.iter().filter_map(|bound| median(times, bound));
            Some(median(times, &target.left)? / bounds.min_by(f64::total_cmp)?)
        });
        let missed = missed.min_by(f64::total_cmp);
        // A call without bounds has what it can have where it becomes faster.
        let unbounded = improved.iter().filter(|target| target.bounds.is_empty());
        let mut fixed: BTreeSet<String> = unbounded.map(|target| target.name()).collect();
        let improved: BTreeSet<String> = improved.into_iter().map(Target::name).collect();
        fixed.extend(met.intersection(&improved).cloned());
        let slowed = |subject: &Subject| {
            let [before_seconds, after_seconds] =
                [untouched, times].map(|samples| median(samples, subject).unwrap_or(f64::NAN));
            Slowed {
                what: subject.item_id(),
                before_seconds,
                after_seconds,
            }
        };
        Shown {
            improves_none,
            fixed,
            missed,
            slowed: damaged(untouched, times).map(slowed).collect(),
            net_seconds: savings::net_seconds(&parts.plan.calls, &|subject| median(untouched, subject), &|subject| {
                median(times, subject)
            }),
        }
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

/// Launches of a finalist beside those of the present state.
#[derive(Debug, Clone, Default)]
struct Shown {
    /// True if no target becomes faster beyond the noise.
    improves_none: bool,
    /// Targets whose bounds the medians meet, and that become faster beyond the noise.
    fixed: BTreeSet<String>,
    /// Time over the bound of the target that comes nearest to it, among those that become faster beyond the noise and still miss theirs.
    missed: Option<f64>,
    /// Calls of the library that become slower in every launch.
    slowed: Vec<Slowed>,
    /// Seconds that the application saves in all its calls; 0 without a call mix.
    net_seconds: f64,
}

/// A finalist after its launches.
#[derive(Debug, Clone, PartialEq)]
enum Judged {
    /// It fixes a target that nothing before it fixes, and harms nothing.
    Taken,
    /// It fixes something, and is not proposed.
    Refused(NotDeployed),
    /// It fixes nothing.
    Unconfirmed,
}

impl Shown {
    /// Judges by the targets that are fixed without any finalist, and by those that are fixed with the finalists taken so far.
    fn judged(&self, before: &BTreeSet<String>, so_far: &BTreeSet<String>) -> Judged {
        let others: Vec<String> = self.fixed.difference(before).cloned().collect();
        let why = if self.fixed.is_subset(so_far) {
            if others.is_empty() {
                return Judged::Unconfirmed;
            }
            NotDeployed::Superfluous { cells: others }
        } else if self.net_seconds < 0.0 {
            NotDeployed::CostsMore {
                seconds: -self.net_seconds,
            }
        } else if !self.slowed.is_empty() {
            NotDeployed::SideEffect {
                slowed: self.slowed.clone(),
            }
        } else {
            return Judged::Taken;
        };
        Judged::Refused(why)
    }
}

/// The launches of both; none of a configuration that failed in the later ones.
fn joined(first: Samples, more: &Samples) -> Samples {
    let both = |(subject, sample): (Subject, Sample)| {
        let values = [sample.values(), more.get(&subject)?.values()].concat();
        Some((subject, Sample::new(values).ok()?))
    };
    first.into_iter().filter_map(both).collect()
}

fn median(samples: &Samples, subject: &Subject) -> Option<f64> {
    samples.get(subject).map(Sample::median)
}

fn middles(samples: &Samples) -> Times {
    let middle = |(subject, sample): (&Subject, &Sample)| (subject.clone(), sample.median());
    samples.iter().map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    fn shown(fixed: &[&str]) -> Shown {
        Shown {
            fixed: names(fixed),
            ..Shown::default()
        }
    }

    #[test]
    fn who_fixes_a_further_target_and_harms_nothing_is_taken() {
        let (before, so_far) = (names(&["scan 8"]), names(&["scan 8", "reduce 4096"]));
        let judged = |shown: &Shown| shown.judged(&before, &so_far);
        assert_eq!(judged(&shown(&["scan 8", "bcast 1"])), Judged::Taken);
        assert_eq!(judged(&shown(&["scan 8"])), Judged::Unconfirmed);
        assert_eq!(judged(&shown(&[])), Judged::Unconfirmed);
        let cells = vec!["reduce 4096".to_owned()];
        assert_eq!(
            judged(&shown(&["scan 8", "reduce 4096"])),
            Judged::Refused(NotDeployed::Superfluous { cells })
        );
    }

    #[test]
    fn who_harms_is_refused_the_application_first() {
        let slowed = vec![Slowed {
            what: "bcast(n) @8".to_owned(),
            before_seconds: 1.0,
            after_seconds: 2.0,
        }];
        let harmful = Shown {
            slowed: slowed.clone(),
            ..shown(&["reduce 4096"])
        };
        let none = names(&[]);
        assert_eq!(
            harmful.judged(&none, &none),
            Judged::Refused(NotDeployed::SideEffect { slowed })
        );
        let dear = Shown {
            net_seconds: -2.0,
            ..harmful
        };
        assert_eq!(
            dear.judged(&none, &none),
            Judged::Refused(NotDeployed::CostsMore { seconds: 2.0 })
        );
    }
}
