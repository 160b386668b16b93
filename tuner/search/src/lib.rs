//! The search: it verifies guidelines, proposes candidates, measures them on a bench, and says which to deploy and why. It writes no files and
//! renders nothing.

pub mod arrivals;
mod by_itself;
pub mod choose;
pub mod context;
pub mod correctness;
pub mod cost_model;
pub mod decision;
pub mod findings;
pub mod guide;
pub mod heard;
pub mod in_job_search;
pub mod joint;
pub mod ordered;
pub mod plugins;
pub mod pricing;
pub mod proof;
pub mod proofs;
pub mod quarantine;
pub mod ranking;
pub mod reasons;
pub mod repetition;
pub mod reproducibility;
pub mod runners_up;
pub mod savings;
pub mod settings;
pub mod shared_launches;
pub mod space;
pub mod startup_algorithms;
pub mod target;
pub mod trials;
pub mod verification;

/// A smaller slowdown, as a fraction, does not take a fix back: launches of the same library on a shared machine differ by
/// about as much.
pub const DAMAGE_FLOOR: f64 = 0.1;

/// Launches that prove a deployment, unless fewer are asked for.
pub(crate) const PROOF_LAUNCHES: usize = 10;

/// Fewest launches of a proof of each side: by fewer pairs no test decides anything.
pub const FEWEST_OF_PROOF: usize = 5;
