//! Services that the search for overlap needs: launches, and their price. Tests script them.

use kilter_model::change::id;
use kilter_model::deployment::Assignment;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::setup::Setup;
use kilter_model::survey::Survey;
use kilter_protocol::fault::FaultKind;
use kilter_search::context::LaunchSearch;

use super::Goals;
use super::side_effects;

/// Launches of the targets' points.
pub(super) trait Bench {
    /// Makes one launch of the untouched library. `key` names it.
    fn untouched(&mut self, key: &str) -> anyhow::Result<Survey>;

    /// Makes one launch of the deployed state with these settings; `None` if they fail, which puts them into
    /// quarantine. An error is a failure that the settings do not explain.
    fn candidate(&mut self, key: &str, assignments: &[Assignment]) -> anyhow::Result<Option<Survey>>;

    /// Reason why settings must not be deployed because they slow something down; `None` if they slow nothing down. An
    /// error is a failure that the settings do not explain.
    fn side_effects(&mut self, assignments: &[Assignment]) -> anyhow::Result<Option<NotDeployed>>;

    /// True if the deployed state differs from the untouched library.
    fn is_changed(&self) -> bool;

    /// The failure of settings.
    fn failure(&self, assignments: &[Assignment]) -> FaultKind;

    /// True if the search may make so many launches more.
    fn affords(&self, launches: usize) -> bool;

    /// Prints a note for people.
    fn note(&mut self, text: &str);

    /// Warns people.
    fn warn(&mut self, text: &str);
}

/// The machine.
pub(super) struct OnMachine<'g, 'c, 'a> {
    goals: &'g Goals,
    parts: LaunchSearch<'c, 'a>,
    label: &'g str,
    launch: &'g Setup,
    /// Seconds of the longest launch so far.
    longest_seconds: f64,
}

impl<'g, 'c, 'a> OnMachine<'g, 'c, 'a> {
    /// Makes launches from `launch`, named after `label`.
    pub(super) fn new(goals: &'g Goals, parts: LaunchSearch<'c, 'a>, label: &'g str, launch: &'g Setup) -> Self {
        OnMachine {
            goals,
            parts,
            label,
            launch,
            longest_seconds: 0.0,
        }
    }

    fn timed<T>(&mut self, launch: impl FnOnce(&Self) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let before = self.parts.jobs.budget.spent_seconds();
        let result = launch(self)?;
        let seconds = self.parts.jobs.budget.spent_seconds() - before;
        self.longest_seconds = self.longest_seconds.max(seconds);
        Ok(result)
    }
}

impl Bench for OnMachine<'_, '_, '_> {
    fn untouched(&mut self, key: &str) -> anyhow::Result<Survey> {
        self.timed(|bench| {
            let key = format!("{}/targets/{key}", bench.label);
            bench.goals.survey(bench.parts.jobs, &key, &Setup::default())
        })
    }

    fn candidate(&mut self, key: &str, assignments: &[Assignment]) -> anyhow::Result<Option<Survey>> {
        self.timed(|bench| {
            let key = format!("{}/targets/{key}", bench.label);
            bench.goals.candidate(
                bench.parts.jobs,
                bench.parts.quarantine,
                &key,
                bench.launch,
                assignments,
            )
        })
    }

    fn side_effects(&mut self, assignments: &[Assignment]) -> anyhow::Result<Option<NotDeployed>> {
        side_effects::refusal(self.parts, self.label, self.launch, assignments)
    }

    fn is_changed(&self) -> bool {
        *self.launch != Setup::default()
    }

    fn failure(&self, assignments: &[Assignment]) -> FaultKind {
        let id = id(assignments);
        self.parts.quarantine.fault(&id).unwrap_or(FaultKind::Refused)
    }

    fn affords(&self, launches: usize) -> bool {
        let seconds = launches as f64 * self.longest_seconds;
        !self.parts.jobs.budget.search_exhausted(seconds)
    }

    fn note(&mut self, text: &str) {
        self.parts.jobs.progress.note(text);
    }

    fn warn(&mut self, text: &str) {
        self.parts.jobs.progress.warn(text);
    }
}
