//! `kilter explain`: the meaning of a guideline or a target.

use kilter_model::config::{guideline, target};

use super::{Status, print};
use crate::cli::Explain;

pub(super) fn run(typed: &Explain) -> anyhow::Result<Status> {
    let targets = target::load_embedded()?;
    if let Some(target) = targets.iter().find(|target| target.id == typed.id) {
        print(&target::explain(target))?;
        return Ok(Status::Holds);
    }
    let all = guideline::load_embedded()?;
    let chosen = guideline::select(&all, std::slice::from_ref(&typed.id))?;
    print(&chosen.iter().map(guideline::explain).collect::<Vec<_>>().join("\n"))?;
    Ok(Status::Holds)
}
