//! `explain` as typed.

use clap::Args;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Id of a guideline, such as GL8, or of an overlap target, such as OV_SENDER.
    pub id: String,
}
