//! Launches under further settings: each measures the targets with their bounds and, briefly, everything else; or the targets alone.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_bench::launch::session::SessionError;
use kilter_model::deployment::Assignment;
use kilter_model::plan::{self, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::fault::{Fault, FaultKind};
use kilter_protocol::plan::{Block, Repetitions};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::is_beyond;

use crate::DAMAGE_FLOOR;
use crate::by_itself;
use crate::context::LaunchSearch;
use crate::repetition::{Purpose, repetitions, repetitions_of};
use crate::target::Target;
use kilter_model::change::id;

/// Launches that decide between candidates and none, each way.
pub const CONFIRMING: usize = 5;

/// Times of one launch: subject, median in seconds.
pub type Times = BTreeMap<Subject, f64>;
/// Times of several launches: subject, a median per launch in seconds.
pub type Samples = BTreeMap<Subject, Sample>;

/// Launches under further settings.
pub struct Trials<'s, 'a> {
    pub(super) parts: LaunchSearch<'s, 'a>,
    label: String,
    pub(super) targets: &'s [Target],
    base: Setup,
    /// Blocks that are measured beside everything else.
    further: Vec<Block>,
    /// Selects the library's collectives that are measured beside the targets; all of them without it.
    touched: Option<&'s dyn Fn(&Subject) -> bool>,
    /// True if only the targets are measured.
    alone: bool,
    /// True if only the calls of targets are measured for now.
    brief: bool,
    launches: usize,
    /// Seconds of each launch so far.
    trial_seconds: Vec<f64>,
}

impl Trials<'_, '_> {
    /// Seconds that a launch is expected to take: the lower quartile of those so far. A launch beside which another program ran takes several times as
    /// long, and so do the groups that have a slow setting, and must not end the search.
    pub(super) fn trial_seconds(&self) -> f64 {
        let mut seconds = self.trial_seconds.clone();
        seconds.sort_unstable_by(f64::total_cmp);
        let quartile = seconds.len().saturating_sub(1) / 4;
        seconds.get(quartile).copied().unwrap_or(0.0)
    }
}

/// The reason why a launch gives no times for its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind.
    pub what: FaultKind,
    /// The observed failure.
    pub detail: String,
    /// True if it ended the job.
    pub ended_the_job: bool,
    /// The collective that was measured then, where it was one.
    pub collective: Option<Collective>,
}

impl<'s, 'a> Trials<'s, 'a> {
    /// Launches from `base`, named after `label`.
    #[must_use]
    pub fn new(parts: LaunchSearch<'s, 'a>, label: String, targets: &'s [Target], base: Setup) -> Trials<'s, 'a> {
        Trials {
            parts,
            label,
            targets,
            base,
            further: Vec::new(),
            touched: None,
            alone: false,
            brief: false,
            launches: 0,
            trial_seconds: Vec::new(),
        }
    }

    /// Adds blocks to every launch. Their ids must differ from those of collectives.
    #[must_use]
    pub fn beside(self, further: Vec<Block>) -> Trials<'s, 'a> {
        Trials { further, ..self }
    }

    /// Restricts the other measurements to `touched` subjects: a change cannot slow a subject on which it does not act.
    #[must_use]
    pub fn within(self, touched: &'s dyn Fn(&Subject) -> bool) -> Trials<'s, 'a> {
        Trials {
            touched: Some(touched),
            ..self
        }
    }

    /// Measures only the targets with their bounds: a candidate that fails then goes into quarantine for them, and not for other sizes.
    #[must_use]
    pub fn of_targets_alone(self) -> Trials<'s, 'a> {
        Trials {
            alone: true,
            further: Vec::new(),
            ..self
        }
    }

    /// Measures nothing but the targets with their bounds, until that is taken back: what acts is looked for first, and what it slows later.
    pub(super) fn be_brief(&mut self, brief: bool) {
        self.brief = brief;
    }

    /// Under which name a candidate is put away.
    fn put_away_as(&self, id: &str) -> String {
        if !self.alone {
            return id.to_owned();
        }
        let names: Vec<String> = self.targets.iter().map(Target::name).collect();
        format!("{id} for {}", names.join(", "))
    }

    /// True if these settings have failed before.
    #[must_use]
    pub fn is_put_away(&self, assignments: &[Assignment]) -> bool {
        self.parts.quarantine.contains(&self.put_away_as(&id(assignments)))
    }

    /// Measures once under further assignments; `None` if the candidate failed and is in quarantine now.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn launch(&mut self, assignments: &[Assignment]) -> anyhow::Result<Option<Times>> {
        if self.is_put_away(assignments) {
            return Ok(None);
        }
        let refusal = match self.measure(assignments)? {
            Ok(times) => return Ok(Some(times)),
            Err(refusal) => refusal,
        };
        let put_away_as = self.put_away_as(&id(assignments));
        if refusal.ended_the_job {
            self.parts.jobs.progress.warn(&format!(
                "candidate `{put_away_as}` {} and is not proposed again; see the report",
                refusal.what
            ));
        }
        self.parts.quarantine.add(&put_away_as, refusal.what, &refusal.detail);
        Ok(None)
    }

    /// Measures without putting anything into quarantine: if several settings share the launch, only one of them is to blame.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn measure(&mut self, assignments: &[Assignment]) -> anyhow::Result<Result<Times, Refusal>> {
        let setup = self.base.clone().with(assignments).comparing_bits();
        self.launches += 1;
        let name = format!("{}/{}: {}", self.label, self.launches, id(assignments));
        let blocks = self.blocks(&name);
        let collective_of = |wanted: &str| {
            let mut items = blocks.iter().flat_map(|block| &block.items);
            let item = items.find(|item| item.id == wanted)?;
            Subject::timed_by(item).collective()
        };
        let mut session = self.parts.jobs.session(&name, &setup, false)?;
        let measured = by_itself::measured(self.parts.jobs, &mut session, (&name, &setup), &blocks, || ())?
            .and_then(|outcomes| Ok((outcomes, session.start()?)));
        let outcomes = match measured {
            Ok((outcomes, start)) => {
                if let Err(error) = self.parts.jobs.site.confirm(&setup, &start) {
                    if assignments.is_empty() {
                        return Err(error);
                    }
                    return Ok(Err(Refusal {
                        what: FaultKind::NoEffect,
                        detail: format!("{error:#}"),
                        ended_the_job: false,
                        collective: None,
                    }));
                }
                outcomes
            }
            Err(SessionError::Job(failure)) if !assignments.is_empty() => {
                return Ok(Err(Refusal {
                    what: failure.kind(),
                    detail: failure.to_string(),
                    ended_the_job: true,
                    collective: failure.suspect().and_then(collective_of),
                }));
            }
            Err(error) => return Err(error.into()),
        };
        session.finish()?;
        let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>() + self.parts.jobs.launch_seconds();
        self.trial_seconds.push(seconds);
        let mut times = Times::new();
        for (block, outcome) in blocks.iter().zip(&outcomes) {
            for item in &block.items {
                if let Some(fault) = outcome.failed.get(&item.id) {
                    // No job enters what the library itself cannot do.
                    let is_candidates = !matches!(fault, Fault::EndedTheJob { .. });
                    if is_candidates && !assignments.is_empty() {
                        return Ok(Err(Refusal {
                            what: fault.kind(),
                            detail: fault.detail().to_string(),
                            ended_the_job: false,
                            collective: Subject::timed_by(item).collective(),
                        }));
                    }
                } else if let Some(median) = outcome.median(&item.id) {
                    times.insert(Subject::timed_by(item), median);
                }
            }
        }
        Ok(Ok(times))
    }

    /// True if the library's strict mode carries `subject` out as asked; if not, the settings go into quarantine. Without a strict mode nothing
    /// is launched and the answer is true.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn carried_out(&mut self, assignments: &[Assignment], subject: &Subject) -> anyhow::Result<bool> {
        let strict = &self.parts.jobs.site.library.switching.strict;
        if strict.is_empty() {
            return Ok(true);
        }
        let strict = strict.iter().map(|(name, value)| Assignment {
            name: name.clone(),
            value: value.clone(),
            environment: true,
        });
        let setup = self.base.clone().with(assignments).with(&strict.collect::<Vec<_>>());
        self.launches += 1;
        let name = format!("{}/{}: {} in strict mode", self.label, self.launches, id(assignments));
        let blocks = plan::blocks(
            &BTreeSet::from([subject.clone()]),
            self.parts.jobs.run.seed,
            &name,
            repetitions(self.parts.jobs.site.options, Purpose::Trial),
        );
        let mut session = self.parts.jobs.session(&name, &setup, false)?;
        match session.measure_all(&blocks, &mut |_| ()) {
            Ok(_) => {
                session.finish()?;
                Ok(true)
            }
            Err(SessionError::Job(failure)) => {
                let id = format!("{} for {}", id(assignments), subject.item_id());
                self.parts.quarantine.add(&id, FaultKind::Refused, &failure.to_string());
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn blocks(&self, name: &str) -> Vec<Block> {
        let mut subjects = if self.alone || self.brief {
            BTreeSet::new()
        } else {
            self.parts.plan.library_subjects()
        };
        subjects.retain(|subject| self.touched.is_none_or(|touched| touched(subject)));
        for target in self.targets {
            subjects.insert(target.left.clone());
            subjects.extend(target.bounds.iter().cloned());
        }
        let repetitions = repetitions(self.parts.jobs.site.options, Purpose::Trial);
        let mut blocks = plan::blocks(&subjects, self.parts.jobs.run.seed, name, repetitions);
        for block in &mut blocks {
            let rule = repetitions_of(
                self.parts.jobs.site.options,
                self.parts.facts,
                Purpose::Trial,
                &block.id,
            );
            block.repetitions = Repetitions {
                seconds: rule.seconds * block.items.len() as f64,
                ..rule
            };
        }
        blocks.extend(self.further.iter().cloned());
        blocks
    }

    /// Measures each of `configurations` several times, in turn, so that a machine that changes its speed changes it for all; the
    /// samples of each are in the same place. A configuration that failed has none.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn in_turn(&mut self, what: &str, configurations: &[Vec<Assignment>]) -> anyhow::Result<Vec<Samples>> {
        // Exact times are the same in every launch.
        let launches = if self.parts.jobs.site.options.is_exact() {
            1
        } else {
            CONFIRMING
        };
        self.parts
            .jobs
            .progress
            .phase(what, (launches * configurations.len()) as u64);
        let mut all: Vec<BTreeMap<Subject, Vec<f64>>> = vec![BTreeMap::new(); configurations.len()];
        for _ in 0..launches {
            for (configuration, medians) in configurations.iter().zip(&mut all) {
                match self.launch(configuration)? {
                    Some(times) => {
                        for (subject, seconds) in times {
                            medians.entry(subject).or_default().push(seconds);
                        }
                    }
                    // It was put away, and is not launched again: the launches before say nothing for it.
                    None => medians.clear(),
                }
                self.parts.jobs.progress.step(1);
            }
        }
        let samples = all.into_iter().map(|medians| {
            let sample = |(subject, values)| Some((subject, Sample::new(values).ok()?));
            medians.into_iter().filter_map(sample).collect()
        });
        Ok(samples.collect())
    }
}

/// True if every launch after is slower than every launch before (by chance 1 in 252 with five each), and the medians differ by more than
/// launches do.
#[must_use]
pub fn is_slower(before: &Sample, after: &Sample) -> bool {
    is_beyond(after, before, DAMAGE_FLOOR)
}

/// The library's collectives that became slower.
pub fn damaged<'t>(before: &'t Samples, after: &'t Samples) -> impl Iterator<Item = &'t Subject> {
    let is_damage = |(subject, time): &(&'t Subject, &'t Sample)| {
        is_library(subject) && before.get(subject).is_some_and(|before| is_slower(before, time))
    };
    after.iter().filter(is_damage).map(|(subject, _)| subject)
}

/// True if the subject is a single collective of the library.
#[must_use]
pub fn is_library(subject: &Subject) -> bool {
    subject.collective().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_slower_in_every_launch_is_damage() {
        let subject = Subject::library(Collective::Bcast, 8);
        let sample = |values: [f64; 5]| Samples::from([(subject.clone(), Sample::new(values.to_vec()).unwrap())]);
        let before = sample([1.0, 1.01, 1.02, 1.03, 1.04]);
        let is_damage = |values| damaged(&before, &sample(values)).next() == Some(&subject);
        assert!(is_damage([1.2; 5]));
        assert!(!is_damage([1.05; 5]));
        assert!(!is_damage([1.0, 1.5, 1.5, 1.5, 1.5]));
    }
}
