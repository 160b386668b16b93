//! `report.html`: one file that an administrator can open anywhere, mail, print and archive.
//!
//! `templates/report.html` is the frame around the sections. Templates escape every word (askama's default); only figures are
//! markup that is written by hand, and escape what they are given.

use std::path::Path;

use askama::Template;
use kilter_model::report::Report;
use kilter_model::survey::Survey;
use kilter_overlap::json;
use thiserror::Error;

use crate::sections::{self, View};

/// The reason why the page could not be made.
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

/// Renders a report that lies in `directory`, with the maps of the survey of overlap beside it.
///
/// # Errors
///
/// As [`render`].
pub fn render_in(report: &Report, directory: &Path) -> Result<String, HtmlError> {
    let library = format!("{} {}", report.library.name, report.library.version);
    render_with(report, json::beside(directory, &library, report.ranks).as_ref())
}

/// The page.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    report: &'a Report,
    headline: String,
    /// Id and words of what the navigation leads to.
    navigation: Vec<(&'static str, &'static str)>,
    /// Markup.
    sections: Vec<String>,
}

fn render_with(report: &Report, survey: Option<&Survey>) -> Result<String, HtmlError> {
    let view = View::of(report, survey);
    let parts = sections::html(&view)?;
    let page = Page {
        report,
        headline: view.summary.headline(),
        navigation: parts
            .iter()
            .filter_map(|(id, words, _)| Some((*id, (*words)?)))
            .collect(),
        sections: parts.into_iter().map(|(_, _, markup)| markup).collect(),
    };
    Ok(page.render()?)
}

#[cfg(test)]
mod tests;
