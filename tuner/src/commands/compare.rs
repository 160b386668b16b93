//! `kilter compare`: runs side by side.

use anyhow::Context as _;
use kilter_report::compare::operand::Operand;
use kilter_report::compare::{Compared, export, html, text};

use super::{Status, print};
use crate::cli::{Compare, CompareFormat, Stage};
use crate::options;

pub(super) fn run(typed: &Compare) -> anyhow::Result<Status> {
    if let Some(tolerance) = typed.tolerance {
        anyhow::ensure!(
            (0.0..=10.0).contains(&tolerance),
            "--tolerance: `{tolerance}` is no fraction from 0 to 10, such as 0.05"
        );
    }
    let sides = std::iter::once(&typed.base)
        .chain(&typed.others)
        .enumerate()
        .map(|(index, path)| {
            let path = options::database::of_run(path, typed.db.as_deref())?;
            Ok(Operand::load(&path, index, typed.stage == Stage::Before)?)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let compared = Compared::new(sides, typed.tolerance);
    if let Some(path) = &typed.html {
        std::fs::write(path, html::render(&compared)?)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    print(&match typed.format {
        CompareFormat::Text => text::to_text(&compared),
        CompareFormat::Json => export::to_json(&compared)?,
        CompareFormat::Csv => export::to_csv(&compared),
        CompareFormat::Markdown => text::to_markdown(&compared),
    })?;
    Ok(if compared.has_regressions() {
        Status::Violations
    } else {
        Status::Holds
    })
}
