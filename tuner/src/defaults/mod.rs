//! Defaults of options that a site and a user state in files `kilter.toml`.
//!
//! ```toml
//! [options]            # for every command that has the option
//! launcher = "slurm"
//! env = ["UCX_NET_DEVICES=mlx5_0:1"]
//!
//! [tune]               # for one command, and wins there
//! budget = 1800
//! ```
//!
//! * [`mod@places`]: where files are looked for, and which of them wins.
//! * [`mod@file`]: a file as its settings, each with its line.
//! * [`applied`]: a setting of a file becomes a default of the command line's definition, which checks it as what is typed.
//!
//! The command line wins over the environment, and that over files. Nothing behind the command line knows that there are files.

mod applied;
mod error;
mod file;
mod places;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::cli::Cli;

pub use applied::{Applied, all, apply};
pub use error::DefaultsError;
pub use file::{File, Set};
pub use places::{Place, places};

/// Files, read: the later one wins.
///
/// # Errors
/// A file that cannot be read, may be written by others, or is no TOML of this form.
pub fn read(places: &[Place]) -> Result<Vec<File>, DefaultsError> {
    places.iter().filter(|place| place.is_there()).map(File::read).collect()
}

/// The command line with the defaults of files, and what these are for the command that was typed.
///
/// # Errors
/// A file that cannot be followed. What is wrong with the command line ends the program as clap does.
pub fn parse(arguments: Vec<OsString>) -> Result<(Cli, Vec<Applied>), DefaultsError> {
    let files = read(&places())?;
    let (command, applied) = apply(Cli::command(), &files, &arguments)?;
    let matches = command.get_matches_from(arguments);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    Ok((cli, applied))
}
