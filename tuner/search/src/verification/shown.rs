//! One launch that shows that files load: settings read back, and the drop-in tells what it ran. Nothing in it is judged.

use std::collections::BTreeSet;

use kilter_model::plan::{self, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::plan::Repetitions;

use super::Verification;
use super::launches::launch;
use crate::context::Jobs;

/// Repetitions of each subject, and the seconds that they may take.
const FEW: Repetitions = Repetitions::fixed(3, 0.1);

/// Launches `subjects` once under `setup`.
///
/// # Errors
/// A launch that failed, or a setting that did not take effect.
pub fn show(
    jobs: &Jobs<'_>,
    (label, setup): (&str, &Setup),
    subjects: &BTreeSet<Subject>,
) -> anyhow::Result<Verification> {
    let mut shown = Verification::default();
    let blocks = plan::blocks(subjects, jobs.run.seed, label, FEW);
    launch(jobs, label, setup, blocks, &mut shown, None)?;
    Ok(shown)
}
