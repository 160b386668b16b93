//! Selections that are deployed already: if a launch of the library, as everybody gets it here, sends what they send.

use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;
use kilter_model::setup::Setup;
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::Block;

use super::counting::{CountedBlock, block, counted_each, sent};
use crate::context::Jobs;
use crate::in_job_search::item;
use crate::proofs::{Proofs, Uncounted};
use crate::target::Target;

/// The word of a launch on a deployed selection.
#[derive(Debug, Clone)]
pub enum InPlace {
    /// It sends what the selection sends.
    Acts {
        /// The messages.
        sent: String,
    },
    /// It sends something else.
    Idle {
        /// Messages of the launch.
        sent: String,
        /// Messages of the selection, switched in a running job.
        expected: String,
    },
    /// Nobody can tell.
    Unknown(Untold),
}

/// The reason why nobody can tell what a launch sends.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Untold {
    /// Its messages were not counted.
    #[error(transparent)]
    Uncounted(#[from] Uncounted),
    /// The cell failed.
    #[error("{0}")]
    Failed(Fault),
}

/// Compares, for each selection of the library's algorithms, the messages of an untouched launch with those of a job in which it is switched.
/// One launch each, or one more for each cell where that one fails.
///
/// # Errors
/// A failure that no candidate explains.
pub fn in_place(
    jobs: &Jobs<'_>,
    proofs: &Proofs,
    label: &str,
    selections: &[((Collective, u64), Selection)],
) -> anyhow::Result<Vec<InPlace>> {
    if selections.is_empty() {
        return Ok(Vec::new());
    }
    let blocks = |what: &str, selected: bool| -> Vec<Block> {
        let of = |((collective, bytes), selection): &((Collective, u64), Selection)| {
            let target = Target::unbounded(*collective, *bytes);
            let item = item(&target, selected.then_some(selection));
            block(jobs, &format!("{label}/{what}"), &target, vec![item])
        };
        selections.iter().map(of).collect()
    };
    let (as_found, switched) = (blocks("as found", false), blocks("switched", true));
    let found = counted_each(jobs, proofs, &format!("{label}/as found"), &Setup::default(), &as_found)?;
    let setup = Setup::default().switching();
    let wanted = counted_each(jobs, proofs, &format!("{label}/switched"), &setup, &switched)?;
    let both = found.iter().zip(&as_found).zip(wanted.iter().zip(&switched));
    Ok(both
        .map(|((found, as_found), (wanted, switched))| judged(messages(found, as_found), messages(wanted, switched)))
        .collect())
}

/// The messages of a block's only item, or the reason why nobody knows them.
fn messages(counted: &CountedBlock<'_>, block: &Block) -> Result<String, Untold> {
    let (messages, outcome) = counted.as_ref().map_err(|why| why.clone())?;
    let item = block.items.first().map_or("", |item| item.id.as_str());
    if let Some(fault) = outcome.failed.get(item) {
        return Err(Untold::Failed(fault.clone()));
    }
    sent(messages, outcome, item).ok_or(Untold::Uncounted(Uncounted::Untold))
}

fn judged(found: Result<String, Untold>, wanted: Result<String, Untold>) -> InPlace {
    match (found, wanted) {
        (Ok(sent), Ok(expected)) if sent == expected => InPlace::Acts { sent },
        (Ok(sent), Ok(expected)) => InPlace::Idle { sent, expected },
        (Err(why), _) | (_, Err(why)) => InPlace::Unknown(why),
    }
}
