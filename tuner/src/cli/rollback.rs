//! `rollback` as typed.

use clap::Args;

use super::Place;

/// Options of `rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    /// For whom.
    #[command(flatten)]
    pub place: Place,
}
