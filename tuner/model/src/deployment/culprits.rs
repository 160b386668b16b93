//! Parts of a deployment that may have ended a job. Pure.

use std::collections::BTreeSet;

use kilter_algorithms::Collective;

use super::{Deployment, touches};
use crate::config::library::Library;
use crate::plan::Subject;

impl Deployment {
    /// The selections that are not `verified` and touch one of the subjects that were measured when a job ended: those for the volume of
    /// one of them, or all where there is none for such a volume. Empty where only settings of whole launches can have done it.
    #[must_use]
    pub fn culprits(
        &self,
        subjects: &[&Subject],
        verified: &Deployment,
        library: &Library,
    ) -> BTreeSet<(Collective, u64)> {
        let is_new = |key: &(Collective, u64)| self.selections.get(key) != verified.selections.get(key);
        let acts = |key: &(Collective, u64)| {
            let selection = &self.selections[key];
            subjects
                .iter()
                .any(|subject| touches::selection_touches(key.0, selection, subject, library))
        };
        let acting: BTreeSet<(Collective, u64)> = self
            .selections
            .keys()
            .filter(|key| is_new(key) && acts(key))
            .copied()
            .collect();
        let is_of_volume = |key: &(Collective, u64)| subjects.iter().any(|subject| subject.bytes == key.1);
        let of_volume: BTreeSet<(Collective, u64)> = acting.iter().filter(|key| is_of_volume(key)).copied().collect();
        if of_volume.is_empty() { acting } else { of_volume }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::library::find_for;
    use crate::deployment::Selection;

    fn rule(collective: Collective) -> Selection {
        Selection::Settings(vec![(format!("coll_tuned_{collective}_algorithm"), "3".to_owned())])
    }

    fn deployed(of: &[(Collective, u64)]) -> Deployment {
        let mut deployment = Deployment::default();
        for (collective, bytes) in of {
            deployment.selections.insert((*collective, *bytes), rule(*collective));
        }
        deployment
    }

    fn typed(collective: Collective, bytes: u64) -> Subject {
        Subject {
            text: format!("{collective}(n, sendtype=struct)"),
            ..Subject::library(collective, bytes)
        }
    }

    #[test]
    fn the_rule_of_the_volume_is_to_blame_before_others_of_the_collective() {
        let library = find_for("mpirun (Open MPI) 4.1.4").unwrap();
        let (bcast, scan) = (Collective::Bcast, Collective::Scan);
        let deployment = deployed(&[(bcast, 1024), (bcast, 262_144), (scan, 262_144)]);
        let blamed = |subject: Subject, verified: &Deployment| {
            let blamed = deployment.culprits(&[&subject], verified, &library);
            blamed.into_iter().collect::<Vec<_>>()
        };
        let nothing = Deployment::default();
        assert_eq!(blamed(typed(bcast, 262_144), &nothing), [(bcast, 262_144)]);
        assert_eq!(
            blamed(typed(bcast, 4096), &nothing),
            [(bcast, 1024), (bcast, 262_144)],
            "a range may reach this far"
        );
        assert_eq!(blamed(typed(Collective::Gather, 4096), &nothing), []);
        // An allreduce may be built of broadcasts.
        assert_eq!(
            blamed(typed(Collective::Allreduce, 262_144), &nothing),
            [(bcast, 262_144)]
        );
        assert_eq!(
            blamed(typed(bcast, 262_144), &deployed(&[(bcast, 262_144)])),
            [(bcast, 1024)],
            "what was verified has not done it"
        );
    }
}
