//! `kilter report`: renders a stored report again.

use std::path::Path;

use anyhow::Context as _;
use kilter_model::report::Report;
use kilter_report::{html, terminal};

use super::{Status, print};
use crate::cli::Render;

pub(super) fn run(typed: &Render, verbose: bool) -> anyhow::Result<Status> {
    let text =
        std::fs::read_to_string(&typed.file).with_context(|| format!("`{}` cannot be read", typed.file.display()))?;
    let report: Report = serde_json::from_str(&text)
        .with_context(|| format!("`{}` is no report of this version", typed.file.display()))?;
    match &typed.html {
        Some(path) => {
            let directory = typed.file.parent().unwrap_or(Path::new(""));
            std::fs::write(path, html::render_in(&report, directory)?)
                .with_context(|| format!("`{}` cannot be written", path.display()))?;
        }
        None => print(&terminal::with_tables(&report, verbose))?,
    }
    Ok(Status::of(&report))
}
