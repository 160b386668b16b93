//! `config` as typed.

use clap::Args;

/// Options of `config`.
#[derive(Debug, Args)]
pub struct Config {
    /// The command whose options are printed: `tune`, `profile show`. Without it, what files set for any command.
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = super::Format::Text)]
    pub format: super::Format,
}
