//! Parts of a run that the steps of a search read together.

use kilter_bench::store::Store;
use kilter_model::plan::Plan;

use super::facts::Facts;
use super::jobs::Jobs;
use crate::plugins::Plugin;
use crate::proofs::Proofs;
use crate::quarantine::Quarantine;

/// Parts that a search over launches reads. Its candidates are settings of whole launches.
#[derive(Clone, Copy)]
pub struct LaunchSearch<'s, 'a> {
    /// The jobs; they know their site.
    pub jobs: &'s Jobs<'a>,
    /// The guidelines' cells, which launches measure beside their targets.
    pub plan: &'s Plan,
    /// Facts about the machine.
    pub facts: &'s Facts,
    /// Candidates never to be proposed again.
    pub quarantine: &'s Quarantine,
}

/// Parts that a search inside running jobs reads. Its candidates are switched from call to call.
#[derive(Clone, Copy)]
pub struct InJobSearch<'s, 'a> {
    /// The jobs; they know their site.
    pub jobs: &'s Jobs<'a>,
    /// Facts about the machine.
    pub facts: &'s Facts,
    /// Candidates never to be proposed again.
    pub quarantine: &'s Quarantine,
    /// Evidence that candidates ran.
    pub proofs: &'s Proofs,
    /// Plugins of the user, whose rows compete.
    pub plugins: &'s [Plugin],
    /// Samples of all runs, and what the correctness matrix found in them.
    pub store: &'s Store,
}
