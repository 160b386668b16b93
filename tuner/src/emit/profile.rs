//! The profile of the drop-in: which implementation runs for which collective, communicator size and volume.

use std::collections::BTreeMap;

use kilter_profile::{Profile, Rule, VERSION};

use super::range;
use crate::deployment::{Deployment, Selection, algorithm_parameters};
use crate::plan::Plan;

/// The profile of a deployment; `None` where nothing needs the drop-in.
#[must_use]
pub fn of(deployment: &Deployment, plan: &Plan, library: &str, ranks: usize, plugin: &str) -> Option<Profile> {
    let mut rules = Vec::new();
    for ((collective, bytes), selection) in &deployment.selections {
        let (implementation, parameters) = match selection {
            Selection::Settings(_) => continue,
            Selection::Mockup(id) => (id.clone(), BTreeMap::new()),
            Selection::Algorithm(id, values) => {
                let named = algorithm_parameters(id, values).into_iter();
                (
                    id.clone(),
                    named
                        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
                        .collect(),
                )
            }
        };
        let volumes: Vec<u64> = plan.volumes.get(collective).into_iter().flatten().copied().collect();
        let (min_bytes, max_bytes) = range::around(&volumes, *bytes);
        rules.push(Rule {
            collective: collective.name().to_owned(),
            ranks,
            min_bytes,
            max_bytes,
            implementation,
            parameters,
        });
    }
    (!rules.is_empty()).then(|| Profile {
        version: VERSION,
        library: library.to_owned(),
        plugins: vec![plugin.to_owned()],
        rules,
    })
}
