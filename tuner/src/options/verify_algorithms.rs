//! Validated options of `verify-algorithms`.

use std::path::PathBuf;

use clap::{Args as _, FromArgMatches as _};
use kilter_model::options::{OptionError, Options, absolute, wrong};
use kilter_protocol::verifying::{Depth, Wanted};

use super::measuring;
use crate::cli;

/// Options of `verify-algorithms`.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// Options of launching, output and database.
    pub common: Options,
    /// Numbers of ranks, ascending, each once.
    pub ranks: Vec<usize>,
    /// Rows; empty for all.
    pub rows: Vec<Wanted>,
    /// The plugin; `None` for Kilter's own.
    pub plugin: Option<PathBuf>,
    /// The only case.
    pub case: Option<String>,
    /// Extent of the matrix.
    pub depth: Depth,
}

impl VerifyOptions {
    /// Validates the options.
    pub fn new(typed: cli::VerifyAlgorithms) -> Result<VerifyOptions, OptionError> {
        let mut ranks = typed.ranks;
        ranks.sort_unstable();
        ranks.dedup();
        if ranks.first() == Some(&0) {
            return Err(wrong("--ranks", "`0` is not a number of ranks; give at least 1"));
        }
        let rows = typed.only.iter().map(|text| wanted(text)).collect::<Result<_, _>>()?;
        let measure = cli::Measure {
            job: typed.job,
            ranks: Some(ranks.last().copied().unwrap_or(1)),
            ..defaults()?
        };
        Ok(VerifyOptions {
            common: measuring(measure)?,
            ranks,
            rows,
            plugin: typed.plugin.map(|plugin| absolute("--plugin", &plugin)).transpose()?,
            case: typed.case,
            depth: if typed.reduced { Depth::Reduced } else { Depth::Full },
        })
    }
}

/// Reads `ID`, `COLLECTIVE` or `ID@VALUE/VALUE`.
fn wanted(text: &str) -> Result<Wanted, OptionError> {
    let (name, values) = text.split_once('@').unwrap_or((text, ""));
    let values = values
        .split('/')
        .filter(|value| !value.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>();
    Ok(Wanted {
        name: name.to_owned(),
        values: values.map_err(|_| {
            let allowed = "is not ID, COLLECTIVE or ID@VALUES, such as bcast.pipelined_chain@8192";
            wrong("--only", format!("`{text}` {allowed}"))
        })?,
    })
}

/// Options of a measuring command without arguments.
fn defaults() -> Result<cli::Measure, OptionError> {
    let command = <cli::Measure>::augment_args(clap::Command::new("kilter"));
    command
        .try_get_matches_from(["kilter"])
        .and_then(|matches| <cli::Measure>::from_arg_matches(&matches))
        .map_err(|error| wrong("environment", error.to_string()))
}
