//! `kilter validate-statistics`: error rates, power and cost of the verdicts, on scripted times.

use kilter_validation::{self as validation, Options};

use super::{Status, print};
use crate::cli::{Format, ValidateStatistics};

pub(super) fn run(typed: &ValidateStatistics) -> anyhow::Result<Status> {
    let found = validation::validate(&Options {
        trials: typed.trials as usize,
        seed: typed.seed,
    });
    print(&match typed.format {
        Format::Text => validation::table::text(&found),
        Format::Json => serde_json::to_string_pretty(&found)?,
    })?;
    Ok(if found.passed() {
        Status::Holds
    } else {
        Status::Violations
    })
}
