//! Results that are the default's bit by bit: what `--reproducible` asks of everything that is deployed.
//!
//! Launches of the untouched library say what is right ([`Reference`](kilter_bench::reference::Reference)). One launch under the emitted files
//! says whether all of it together leaves the same.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::plan::{self, Plan, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::Repetitions;

use crate::context::Jobs;

/// Longest time of a block, in seconds; nothing in it is used as a time.
const BLOCK_SECONDS: f64 = 1.0;

/// Launches of the untouched library.
const UNTOUCHED_LAUNCHES: usize = 2;

/// Finds out what the untouched library leaves, where the options ask for the same.
///
/// # Errors
/// A failure of the library itself.
pub fn learn(jobs: &Jobs<'_>, plan: &Plan) -> anyhow::Result<()> {
    for number in 0..UNTOUCHED_LAUNCHES {
        let label = format!("bits of the untouched library/{number}");
        compared(jobs, plan, &label, &Setup::default())?;
    }
    Ok(())
}

/// What leaves other bits under `staged`, the emitted files, than the untouched library, with the reason; nothing where the options do not ask
/// for the same.
///
/// # Errors
/// A failure of a launch.
pub fn different(jobs: &Jobs<'_>, plan: &Plan, label: &str, staged: &Setup) -> anyhow::Result<Vec<(Subject, String)>> {
    let mut failed = compared(jobs, plan, &format!("{label}/bits"), staged)?;
    let all = plan.library_subjects().into_iter();
    let different = all.filter_map(|subject| {
        failed
            .remove(&subject.item_id())
            .map(|fault| (subject, fault.to_string()))
    });
    Ok(different.collect())
}

/// Everything that combines data in one launch: what failed, by item.
fn compared(jobs: &Jobs<'_>, plan: &Plan, label: &str, setup: &Setup) -> anyhow::Result<BTreeMap<String, Fault>> {
    let mut failed = BTreeMap::new();
    if !jobs.site.options.limits.reproducible {
        return Ok(failed);
    }
    let mut subjects = plan.library_subjects();
    subjects.retain(|subject| subject.collective().is_some_and(Collective::has_operator));
    let blocks = plan::blocks(&subjects, jobs.run.seed, label, Repetitions::fixed(1, BLOCK_SECONDS));
    let setup = setup.clone().comparing_bits();
    let mut session = jobs.session(label, &setup, false)?;
    for outcome in session.measure_all(&blocks, &mut |_| ())? {
        failed.extend(outcome.failed);
    }
    let start = session.start()?;
    jobs.site.confirm(&setup, &start)?;
    session.finish()?;
    Ok(failed)
}
