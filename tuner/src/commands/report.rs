//! `kilter report`: renders a stored report again.

use std::path::Path;

use anyhow::Context as _;
use kilter_report::compare::operand;
use kilter_report::{html, terminal};

use super::{Status, print};
use crate::cli::Render;
use crate::options;

pub(super) fn run(typed: &Render, verbose: bool) -> anyhow::Result<Status> {
    let file = options::database::of_run(&typed.file, typed.db.as_deref())?;
    let report = operand::read(&file)?;
    match &typed.html {
        Some(path) => {
            let directory = file.parent().unwrap_or(Path::new(""));
            std::fs::write(path, html::render_in(&report, directory)?)
                .with_context(|| format!("`{}` cannot be written", path.display()))?;
        }
        None => print(&terminal::with_tables(&report, verbose))?,
    }
    Ok(Status::of(&report))
}
