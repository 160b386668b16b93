//! Results that equal the default's bit by bit, which `--reproducible` demands of the whole deployment.
//!
//! Launches of the untouched library give the right results ([`Reference`](kilter_bench::reference::Reference)). One launch under the emitted
//! files shows if the whole deployment leaves the same.

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

/// Learns the results of the untouched library, if the options demand the same.
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

/// Subjects whose results under `staged`, the emitted files, differ in bits from the untouched library's, each with the reason; none if the
/// options do not ask for equal bits.
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

/// Runs everything that combines data in one launch; returns the failures by item.
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
        let is_of_bits = |(_, fault): &(_, Fault)| !matches!(fault, Fault::EndedTheJob { .. });
        failed.extend(outcome.failed.into_iter().filter(is_of_bits));
    }
    let start = session.start()?;
    jobs.site.confirm(&setup, &start)?;
    session.finish()?;
    Ok(failed)
}
