//! Results of the targets for the report.

use kilter_model::change::id;
use kilter_model::deployment::Assignment;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Fix, FixKind, Setting, TargetCandidate, TargetCell, TargetReport};
use kilter_model::survey::BeforeAndAfter;

use super::Goals;
use super::gain::is_missed;
use crate::targets::looks::Launches;
use crate::targets::{Judged, Judgement, Standing};
use crate::together;

const NONE_CAME_NEARER: &str =
    "neither a setting of the library that was tried nor a progress thread came nearer to the target";
const NOT_ALL_TRIED: &str = "the budget ended before all settings were tried";

impl Goals {
    /// Measurements by which the targets were judged, for the report's pictures; `None` without a target.
    #[must_use]
    pub fn maps(&self) -> Option<BeforeAndAfter> {
        let (before, after) = match (&self.picture, &self.deployed) {
            (Some((before, after)), _) => (before.clone(), after.clone()),
            (None, Some(Launches { base, now })) => (
                together::of_launches(base)?,
                now.as_deref().and_then(together::of_launches),
            ),
            (None, None) => (together::of_launches(&self.base)?, None),
        };
        Some(BeforeAndAfter {
            is_grid: self.picture.is_some(),
            after: after.map(|after| together::by_times_of(&before, after)),
            before,
        })
    }

    /// The targets as the report shows them, in their order.
    #[must_use]
    pub fn report(&self) -> Vec<TargetReport> {
        let after = |id: &str| self.after.as_ref()?.iter().find(|one| one.target == id);
        self.targets
            .iter()
            .zip(&self.before)
            .map(|(target, before)| {
                let after = after(&target.id);
                let now = after.unwrap_or(before);
                let met = is_missed(before) && now.standing() != Standing::Missed;
                TargetReport {
                    target: target.id.clone(),
                    benchmark: target.benchmark.name().to_owned(),
                    statement: target.statement(),
                    stated_for: target.cells(),
                    before: before.standing().name().to_owned(),
                    after: after.map(|after| after.standing().name().to_owned()),
                    fix: (met && !self.chosen.is_empty()).then(|| self.fix()),
                    unmet_because: self.unmet(now),
                    attainable: now.not_attainable_because().is_none(),
                    cells: cells(before, after),
                    candidates: if is_missed(before) {
                        self.candidates_tried()
                    } else {
                        Vec::new()
                    },
                }
            })
            .collect()
    }

    /// Candidates that looked better, each with its final judgement.
    fn candidates_tried(&self) -> Vec<TargetCandidate> {
        let waiting = self
            .promising
            .iter()
            .map(|one| one.clone().refused(NotDeployed::RoundsEnded));
        let mut all: Vec<TargetCandidate> = Vec::new();
        for one in self.tried.iter().cloned().chain(waiting) {
            let one = one.report();
            all.retain(|other| other.id != one.id);
            all.push(one);
        }
        all
    }

    fn fix(&self) -> Fix {
        let setting = |one: &Assignment| Setting {
            name: one.name.clone(),
            value: one.value.clone(),
        };
        Fix {
            kind: FixKind::Parameter,
            settings: self.chosen.iter().flatten().map(setting).collect(),
            id: id(&self.chosen.concat()),
        }
    }

    fn unmet(&self, now: &Judgement) -> Option<String> {
        if let Some(because) = now.not_attainable_because() {
            return Some(format!("not attainable here, because {because}"));
        }
        (now.standing() == Standing::Missed).then(|| {
            let mut reasons = self.refused.clone();
            if !self.chosen.is_empty() {
                reasons.insert(
                    0,
                    format!("`{}` is deployed, but does not suffice", id(&self.chosen.concat())),
                );
            }
            if reasons.is_empty() {
                reasons.push(NONE_CAME_NEARER.to_owned());
            }
            if self.was_cut_short {
                reasons.push(NOT_ALL_TRIED.to_owned());
            }
            reasons.join("; ")
        })
    }
}

fn cells(before: &Judgement, after: Option<&Judgement>) -> Vec<TargetCell> {
    before
        .cells
        .iter()
        .map(|cell| {
            let same = |other: &&Judged| {
                (other.bytes, other.computation_ns, other.threads) == (cell.bytes, cell.computation_ns, cell.threads)
            };
            let after = after.and_then(|after| after.cells.iter().find(same));
            TargetCell {
                bytes: cell.bytes,
                computation_ns: cell.computation_ns,
                threads: cell.threads,
                verdict_before: cell.verdict.name().to_owned(),
                value_before: cell.value,
                verdict_after: after.map(|after| after.verdict.name().to_owned()),
                value_after: after.map(|after| after.value),
            }
        })
        .collect()
}
