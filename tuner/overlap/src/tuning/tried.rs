//! A setting that looked better for overlap, and its fate.

use std::collections::BTreeSet;

use kilter_model::change::id;
use kilter_model::deployment::Assignment;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::TargetCandidate;

/// A setting that looked better in a launch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    /// The setting, with those that go along with it.
    pub(super) assignments: Vec<Assignment>,
    /// The shortfall without it.
    pub(super) missing: f64,
    /// The shortfall with it.
    pub(super) left: f64,
    /// Reason why it is not deployed; `None` if it is.
    pub(super) not_deployed: Option<NotDeployed>,
}

impl Tried {
    /// A candidate against which nothing speaks yet.
    pub(super) fn looking_better(assignments: Vec<Assignment>, missing: f64, left: f64) -> Tried {
        Tried {
            assignments,
            missing,
            left,
            not_deployed: None,
        }
    }

    /// `name=value name=value`.
    pub(super) fn id(&self) -> String {
        id(&self.assignments)
    }

    /// The same candidate, refused for this reason.
    pub(super) fn refused(self, why: NotDeployed) -> Tried {
        Tried {
            not_deployed: Some(why),
            ..self
        }
    }

    /// True if it makes one of these settings.
    pub(super) fn has_any_of(&self, banned: &BTreeSet<Assignment>) -> bool {
        self.assignments.iter().any(|one| banned.contains(one))
    }

    /// Reason why it is not deployed, as a sentence.
    pub(super) fn told(&self) -> Option<String> {
        let why = self.not_deployed.as_ref()?;
        Some(format!("`{}` {why}", self.id()))
    }

    /// The candidate as the report shows it.
    pub(super) fn report(&self) -> TargetCandidate {
        TargetCandidate {
            id: self.id(),
            shortfall_before: self.missing,
            shortfall: self.left,
            not_deployed: self.not_deployed.clone(),
        }
    }
}
