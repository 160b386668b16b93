//! A job of a contest, restarted when a candidate takes it down.

use std::collections::BTreeMap;

use kilter_bench::launch::session::{BlockOutcome, Session, SessionError};
use kilter_model::arrival::Arrival;
use kilter_model::deployment::Selection;
use kilter_model::plan::{self, DEFAULT};
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::{Block, Item, Repetitions};

use super::items::item;
use super::{Contests, inside};
use crate::repetition::{self, Purpose};
use crate::target::Target;

/// Seconds of a block's repetitions in multiples of the usual ones, try by try: where other programs run, no repetition of an item may be
/// valid in the usual time, and without the default's nothing else in the block says anything.
const PATIENCE: [f64; 3] = [1.0, 4.0, 16.0];

/// One job, restarted when a candidate takes it down.
pub(super) struct Job<'r, 'c, 'a> {
    contests: &'r Contests<'c, 'a>,
    name: String,
    attempt: usize,
    blocks: usize,
    session: Option<Session<'c>>,
}

impl<'r, 'c, 'a> Job<'r, 'c, 'a> {
    pub(super) fn new(contests: &'r Contests<'c, 'a>, name: &str) -> Job<'r, 'c, 'a> {
        Job {
            contests,
            name: format!("{}/{name}", contests.label),
            attempt: 0,
            blocks: 0,
            session: None,
        }
    }

    /// Time of each candidate over the default's, in one block. Candidates that fail are missing.
    pub(super) fn ratios(
        &mut self,
        target: &Target,
        candidates: &[Selection],
        purpose: Purpose,
    ) -> anyhow::Result<BTreeMap<Selection, f64>> {
        let outcome = self.measure(target, candidates, purpose, None)?;
        let median = |id: &str| outcome.median(id);
        for selection in candidates {
            if let Some(seconds) = median(&selection.id()) {
                self.contests.guide.learn(target, selection, seconds);
            }
        }
        let Some(default) = median(DEFAULT) else {
            return Ok(BTreeMap::new());
        };
        Ok(candidates
            .iter()
            .filter_map(|selection| Some((selection.clone(), median(&selection.id())? / default)))
            .collect())
    }

    /// Measures the default and the candidates that are not in quarantine; who takes the job down goes there, and
    /// the rest is measured again in a new job. What has no valid repetition is measured again, with all others and more patience. The ranks arrive
    /// `apart` in a pattern, where one is given, sized by the seconds of the default.
    pub(super) fn measure(
        &mut self,
        target: &Target,
        candidates: &[Selection],
        purpose: Purpose,
        apart: Option<(&Arrival, f64)>,
    ) -> anyhow::Result<BlockOutcome> {
        let parts = self.contests.parts;
        let repetitions =
            repetition::repetitions_of(parts.jobs.site.options, parts.facts, purpose, &target.left.block_id());
        let repetitions = apart.map_or(repetitions, |(arrival, _)| {
            repetition::repetitions_apart(arrival, repetitions)
        });
        let mut patience = PATIENCE.into_iter().peekable();
        loop {
            let factor = patience.peek().copied().unwrap_or(1.0);
            let mut items = vec![item(target, None)];
            let is_put_away =
                |id: &str| parts.quarantine.contains(id) || parts.quarantine.contains(&put_away_as(id, target));
            let live: Vec<&Selection> = candidates.iter().filter(|s| !is_put_away(&s.id())).collect();
            items.extend(live.iter().map(|selection| self.candidate_item(target, selection)));
            self.blocks += 1;
            let mut id = format!("{}: {}", self.blocks, target.name());
            if let Some((arrival, own_seconds)) = apart {
                id = format!("{id} {}", arrival.words());
                let seed = plan::derived_seed(parts.jobs.run.seed, &format!("{}/{id}/offsets", self.name));
                for item in &mut items {
                    item.arrival = Some(arrival.pattern(own_seconds, seed));
                }
            }
            let block = Block {
                seed: plan::derived_seed(parts.jobs.run.seed, &format!("{}/{}/{id}", self.name, self.attempt)),
                repetitions: Repetitions {
                    seconds: factor * repetitions.seconds * items.len() as f64,
                    ..repetitions
                },
                items,
                id,
            };
            let key = format!("{}/{}", self.name, self.attempt);
            let setup = &self.contests.setup;
            let session = match &mut self.session {
                Some(session) => session,
                none => none.insert(parts.jobs.session(&key, setup, false)?),
            };
            match session.measure(&block) {
                Ok(outcome) => {
                    self.contests.learn_pace(target, &outcome);
                    for (item, fault) in &outcome.failed {
                        if matches!(fault, Fault::OtherResults { .. }) {
                            // At another size it may leave what the default leaves.
                            let id = put_away_as(item, target);
                            parts.jobs.progress.note(&format!("`{id}` is no candidate: {fault}"));
                            parts.quarantine.add(&id, fault.kind(), &fault.detail().to_string());
                        } else {
                            parts.quarantine.add_failed(item, fault, &parts.jobs.progress);
                        }
                    }
                    patience.next();
                    let again = patience.peek().map(|next| next / factor * outcome.seconds);
                    let affords = again.is_some_and(|seconds| !parts.jobs.budget.search_exhausted(seconds));
                    if !affords || outcome.untimed().next().is_none() {
                        return Ok(outcome);
                    }
                }
                Err(SessionError::Job(failure)) => {
                    self.session = None;
                    self.attempt += 1;
                    let suspect = failure.suspect().map(str::to_owned);
                    let (what, detail) = (failure.kind(), failure.to_string());
                    let guilty: Vec<String> = match suspect {
                        Some(id) => live
                            .iter()
                            .map(|s| s.id())
                            .filter(|candidate| *candidate == id)
                            .collect(),
                        // Nobody was caught entering: all that ran together are put away, rather than hang again.
                        None => live.iter().map(|s| s.id()).collect(),
                    };
                    if guilty.is_empty() {
                        return Err(anyhow::Error::new(failure).context("the library's own collectives failed"));
                    }
                    for id in guilty {
                        parts.jobs.progress.warn(&format!(
                            "candidate `{id}` {what} and is not proposed again; see the report"
                        ));
                        parts.quarantine.add(&id, what, &detail);
                    }
                }
                Err(other) => return Err(other.into()),
            }
        }
    }

    /// A candidate; a composition makes its calls as they are deployed so far.
    fn candidate_item(&self, target: &Target, selection: &Selection) -> Item {
        let mut item = item(target, Some(selection));
        if let Some(cell) = target.cell() {
            inside::fill(&mut item, cell, selection, self.contests.deployment);
        }
        item
    }

    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        if let Some(session) = self.session.take() {
            session.finish()?;
        }
        Ok(())
    }
}

/// Under which name a candidate is put away for one target alone.
fn put_away_as(id: &str, target: &Target) -> String {
    format!("{id} for {}", target.name())
}
