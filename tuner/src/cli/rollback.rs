//! `rollback` as typed.

use clap::Args;

use super::Place;

/// Options of `rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    /// Place of installation.
    #[command(flatten)]
    pub place: Place,
}
