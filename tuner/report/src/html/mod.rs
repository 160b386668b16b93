//! `report.html`: one file that an administrator can open anywhere, mail, print and archive.
//!
//! The views in [`view`] and [`matrix`] turn a [`Report`] into text; `templates/report.html` lays it out and escapes every
//! word (askama's default). Only [`figure`] writes markup itself, and escapes what it is given.

mod cells;
mod contest;
mod figure;
mod matrix;
mod provenance;
mod view;
mod words;

use std::path::Path;

use askama::Template;
use kilter_model::report::Report;
use kilter_model::survey::Survey;
use kilter_overlap::html::in_report;
use kilter_overlap::json;
use thiserror::Error;

/// Why the page could not be made.
#[derive(Debug, Error)]
#[error("the HTML report could not be rendered; report.json has the same content: {source}")]
pub struct HtmlError {
    #[from]
    source: askama::Error,
}

/// Renders a report as one self-contained page: styles, script and figures are inside, nothing is fetched.
///
/// # Errors
///
/// If the template fails to write, which no content of a report causes.
pub fn render(report: &Report) -> Result<String, HtmlError> {
    render_with(report, None)
}

/// The same for a report that lies in `directory`, with the maps of the survey of overlap that lies beside it.
///
/// # Errors
///
/// As [`render`].
pub fn render_in(report: &Report, directory: &Path) -> Result<String, HtmlError> {
    let library = format!("{} {}", report.library.name, report.library.version);
    render_with(report, json::beside(directory, &library, report.ranks).as_ref())
}

fn render_with(report: &Report, survey: Option<&Survey>) -> Result<String, HtmlError> {
    let overlap = in_report(report.overlap.as_ref(), survey)?;
    Ok(view::Page::of(report, overlap).render()?)
}

#[cfg(test)]
mod tests;
