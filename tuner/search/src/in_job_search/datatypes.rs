//! The library's algorithms on data of other datatypes than the contests have.
//!
//! A rule for an algorithm acts on every call of its size, and MPI lets ranks describe the same data by different datatypes (MPI 4.1, 3.3.1: type
//! signatures have to match). An algorithm that divides data by each rank's own datatype fails there: a broadcast in segments of Open MPI 4.1 whose root
//! has one struct and whose other ranks have its elements ends with `MPI_ERR_TRUNCATE`. So an algorithm carries out such a call before it is chosen. Kilter's
//! own rows have the correctness matrix for that.

use kilter_algorithms::Collective;
use kilter_bench::launch::session::SessionError;
use kilter_model::change::Cell;
use kilter_model::deployment::Selection;
use kilter_model::plan::{self, DEFAULT, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::expression::{Layout, Side};
use kilter_protocol::fault::FaultKind;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::task::Task;

use super::items::item;
use crate::context::Jobs;
use crate::target::Target;

/// Repetitions: messages that one call leaves behind meet the next.
const REPETITIONS: u32 = 3;

/// Longest time of the block, in seconds; nothing in it is used as a time.
const BLOCK_SECONDS: f64 = 1.0;

/// A failure on such data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Objection {
    /// The kind.
    pub(super) what: FaultKind,
    /// The observed failure.
    pub(super) detail: String,
}

/// The call of a collective whose ranks have different datatypes, or strided data; `None` for a collective that Kilter knows none of.
fn typed(collective: Collective, bytes: u64) -> Option<Subject> {
    let layout = match collective {
        Collective::Bcast | Collective::Scatter => Layout::Struct,
        Collective::Gather | Collective::Allgather => Layout::Vector,
        _ => return None,
    };
    let text = format!("{collective}(n, sendtype={layout})");
    let side: Side = text.parse().ok()?;
    let task = Task::of(&side).ok()?;
    Some(Subject { task, text, bytes })
}

/// Carries out the target's call on such data by one of the library's algorithms, in a job of its own under `setup`. Nothing speaks against other
/// selections, or where the library itself fails there.
///
/// # Errors
/// A failure that the selection does not explain.
pub(super) fn objection(
    jobs: &Jobs<'_>,
    label: &str,
    setup: &Setup,
    target: &Target,
    selection: &Selection,
) -> anyhow::Result<Option<Objection>> {
    let divisible = Layout::UNIT_BYTES * jobs.site.options.ranks as u64;
    let typed = |(collective, bytes): Cell| typed(collective, bytes.next_multiple_of(divisible));
    let of_library = matches!(selection, Selection::Settings(_));
    let Some(left) = target.cell().filter(|_| of_library).and_then(typed) else {
        return Ok(None);
    };
    let own = selection.id();
    let key = format!("{label}/datatypes/{}: {own}", target.name());
    let typed = Target { left, ..target.clone() };
    let block = Block {
        id: format!("datatypes: {}", target.name()),
        seed: plan::derived_seed(jobs.run.seed, &key),
        repetitions: Repetitions::fixed(REPETITIONS, BLOCK_SECONDS),
        items: vec![item(&typed, None), item(&typed, Some(selection))],
    };
    let mut session = jobs.session(&key, setup, false)?;
    match session.measure(&block) {
        Ok(outcome) => {
            session.finish()?;
            let fault = outcome
                .failed
                .get(&own)
                .filter(|_| !outcome.failed.contains_key(DEFAULT));
            Ok(fault.map(|fault| Objection {
                what: fault.kind(),
                detail: fault.detail().to_string(),
            }))
        }
        Err(SessionError::Job(failure)) => {
            let is_own = failure.suspect() == Some(own.as_str());
            Ok(is_own.then(|| Objection {
                what: failure.kind(),
                detail: failure.to_string(),
            }))
        }
        Err(other) => Err(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use kilter_model::config::guideline::load_embedded;

    use super::*;

    #[test]
    fn calls_of_other_datatypes_are_those_of_the_guidelines() {
        let text = |collective| typed(collective, 8).map(|subject| subject.text);
        let mut found = 0;
        for guideline in load_embedded().unwrap() {
            let left = guideline
                .expression
                .map(|both| both.left.to_string())
                .unwrap_or_default();
            let Some(argument) = left.strip_prefix("A(n, sendtype=") else {
                continue;
            };
            for collective in guideline.functions {
                assert_eq!(text(collective), Some(format!("{collective}(n, sendtype={argument}")));
                found += 1;
            }
        }
        assert_eq!(found, 4);
        assert_eq!(text(Collective::Reduce), None);
    }
}
