//! Which cells a setting of a whole launch was confirmed to fix. Pure.
//!
//! A setting acts on every call, so a cell that holds with the deployment does not say which of its settings helped. The launches that confirmed
//! a setting do: each was made with this setting alone beside what stood already.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::deployment::{Assignment, Deployment};

use crate::necessity::Accepted;

/// Names of the targets (`reduce 4096`) that each setting was confirmed to fix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credits(BTreeMap<Assignment, BTreeSet<String>>);

impl Credits {
    /// Takes over what a confirmed setting, with what goes along with it, fixes.
    pub fn add(&mut self, accepted: &Accepted) {
        for assignment in &accepted.assignments {
            let fixed = self.0.entry(assignment.clone()).or_default();
            fixed.extend(accepted.fixes.iter().cloned());
        }
    }

    /// The deployed settings that were confirmed to fix a target. Where none was, all of them: the cell was fixed by what they do together.
    #[must_use]
    pub fn of<'a>(&self, target: &str, deployment: &'a Deployment) -> Vec<&'a Assignment> {
        let is_credited = |one: &&Assignment| self.0.get(*one).is_some_and(|fixed| fixed.contains(target));
        let credited: Vec<&Assignment> = deployment.assignments.iter().filter(is_credited).collect();
        if credited.is_empty() {
            deployment.assignments.iter().collect()
        } else {
            credited
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: &str) -> Assignment {
        Assignment {
            name: "x".to_owned(),
            value: value.to_owned(),
            environment: false,
        }
    }

    fn accepted(assignments: &[Assignment], fixes: &[&str]) -> Accepted {
        Accepted {
            assignments: assignments.to_vec(),
            fixes: fixes.iter().map(|fix| (*fix).to_owned()).collect(),
        }
    }

    #[test]
    fn who_was_confirmed_to_fix_a_cell_is_credited_and_nobody_else() {
        let other = Assignment {
            name: "y".to_owned(),
            ..setting("1")
        };
        let deployment = Deployment {
            assignments: vec![setting("16"), other.clone()],
            ..Deployment::default()
        };
        let mut credits = Credits::default();
        credits.add(&accepted(&[setting("1")], &["reduce 4096"]));
        credits.add(&accepted(&[setting("16")], &["bcast 8"]));
        credits.add(&accepted(std::slice::from_ref(&other), &["bcast 8", "scan 8"]));
        assert_eq!(credits.of("bcast 8", &deployment), [&setting("16"), &other]);
        assert_eq!(credits.of("scan 8", &deployment), [&other]);
        // What was confirmed for it is not deployed: `x=1` is not `x=16`.
        assert_eq!(credits.of("reduce 4096", &deployment), [&setting("16"), &other]);
        assert_eq!(
            credits.of("gather 1", &Deployment::default()),
            Vec::<&Assignment>::new()
        );
    }
}
