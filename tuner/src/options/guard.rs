//! Validated options of `guard`.

use std::path::PathBuf;

use kilter_model::options::{OptionError, Options, absolute, wrong};

use super::measuring;
use crate::cli;
use crate::guard::Asked;

/// Launches of all watched calls in a night, unless the user says otherwise.
const LAUNCHES: usize = 5;

/// Fewest launches whose medians say anything.
const FEWEST_LAUNCHES: usize = 3;

/// Options of `guard`.
#[derive(Debug, Clone)]
pub struct Guarding {
    /// Options of the measurement.
    pub common: Options,
    /// Tonight's task.
    pub asked: Asked,
    /// File for JUnit's form.
    pub junit: Option<PathBuf>,
    /// File for the page.
    pub html: Option<PathBuf>,
    /// Directory of the files that call the command.
    pub hints: Option<PathBuf>,
}

/// Validates the options.
pub fn guarding(typed: cli::Guard) -> Result<Guarding, OptionError> {
    if typed.measure.platform.is_some() {
        return Err(wrong(
            "--platform",
            "a simulated machine is the same every night; leave it out",
        ));
    }
    let launches = typed.measure.launches.unwrap_or(LAUNCHES);
    if launches < FEWEST_LAUNCHES {
        return Err(wrong(
            "--launches",
            format!("`{launches}` launches tell no night from another; give at least {FEWEST_LAUNCHES}"),
        ));
    }
    let common = measuring(typed.measure)?;
    let path = |option: &'static str, path: Option<PathBuf>| path.map(|path| absolute(option, &path)).transpose();
    Ok(Guarding {
        junit: path("--junit", typed.junit)?,
        html: path("--html", typed.html)?,
        hints: path("--install-hints", typed.install_hints)?,
        asked: Asked {
            accepts: typed.accept,
            per_node: typed.per_node,
            launches,
        },
        common: Options {
            // The measurements of another night say nothing of this one.
            fresh: true,
            json: common.json || typed.json,
            ..common
        },
    })
}
