//! `kilter explain`: what a guideline means.

use super::{Status, print};
use crate::cli::Explain;
use crate::config::guideline;

pub(super) fn run(typed: &Explain) -> anyhow::Result<Status> {
    let all = guideline::load_embedded()?;
    let chosen = guideline::select(&all, std::slice::from_ref(&typed.id))?;
    print(&chosen.iter().map(guideline::explain).collect::<Vec<_>>().join("\n"))?;
    Ok(Status::Holds)
}
