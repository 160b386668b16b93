//! The deployment inside compositions: the rows and settings that their calls run.

use std::collections::BTreeSet;

use kilter_algorithms::mockup;
use kilter_model::change::Cell;
use kilter_model::deployment::{Deployment, Selection};
use kilter_protocol::plan::{Deployed, Item};

/// Tells an item that is a composition what its calls run under a deployment, and the calls of compositions among them.
pub(super) fn fill(item: &mut Item, cell: Cell, selection: &Selection, deployment: &Deployment) {
    let mut seen = BTreeSet::from([cell]);
    let mut waiting = calls(cell, selection);
    while let Some(call) = waiting.pop() {
        if !seen.insert(call) {
            continue;
        }
        let Some(inner) = deployment.selections.get(&call) else {
            continue;
        };
        waiting.extend(calls(call, inner));
        match inner {
            Selection::Settings(settings) => item.settings.extend(settings.iter().cloned()),
            Selection::Mockup(id, values) | Selection::Algorithm(id, values) => item.deployed.push(Deployed {
                collective: call.0,
                min_bytes: call.1,
                max_bytes: call.1,
                id: id.clone(),
                parameters: values.clone(),
            }),
            // Its file is not Kilter's: the library's call stands for it.
            Selection::Plugin(_) => {}
        }
    }
}

/// The calls that a composition makes in place of a call.
fn calls((collective, bytes): Cell, selection: &Selection) -> Vec<Cell> {
    let Selection::Mockup(id, values) = selection else {
        return Vec::new();
    };
    match (mockup::find(id), values.first()) {
        (Some(row), _) => row.calls.iter().map(|call| (*call, bytes)).collect(),
        (None, Some(other)) => vec![(collective, *other)],
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kilter_algorithms::Collective;

    use super::*;
    use crate::in_job_search::item;
    use crate::target::Target;

    #[test]
    fn a_composition_is_told_what_its_calls_run_down_to_the_last_one() {
        let own = Selection::Mockup("bcast.as_scatter_allgather".to_owned(), Vec::new());
        let row = |id: &str| Selection::Algorithm(id.to_owned(), vec![16]);
        let deployment = Deployment {
            selections: BTreeMap::from([
                ((Collective::Bcast, 8), row("bcast.binomial")),
                (
                    (Collective::Allgather, 8),
                    Selection::Mockup("allgather.as_gather_bcast".to_owned(), Vec::new()),
                ),
                ((Collective::Gather, 8), row("gather.shared_memory")),
                ((Collective::Gather, 16), row("gather.binomial")),
                (
                    (Collective::Scatter, 8),
                    Selection::Settings(vec![("scatter_algorithm".to_owned(), "2".to_owned())]),
                ),
            ]),
            ..Deployment::default()
        };
        let mut item = item(&Target::unbounded(Collective::Bcast, 8), Some(&own));
        fill(&mut item, (Collective::Bcast, 8), &own, &deployment);
        let ids: BTreeSet<&str> = item.deployed.iter().map(|one| one.id.as_str()).collect();
        // The broadcast inside the allgather is the one that is under way.
        assert_eq!(
            ids,
            BTreeSet::from(["allgather.as_gather_bcast", "gather.shared_memory"])
        );
        assert_eq!(item.settings, [("scatter_algorithm".to_owned(), "2".to_owned())]);
    }
}
