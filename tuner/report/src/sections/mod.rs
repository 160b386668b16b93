//! Sections of a report: each says the same in HTML, as text and as Markdown, and which part of the model is its own. A section is a file
//! here and a row of [`SECTIONS`].

mod answer;
mod arrivals;
mod cells;
mod changes;
mod contests;
mod cost_model;
mod figures;
mod gains;
mod guidelines;
mod looked_better;
mod maps;
mod matrix;
mod method;
mod not_verified;
mod one_table;
mod provenance;
mod quarantined;
mod savings;
mod targets;
#[cfg(test)]
mod tests;
mod unfixed;
mod violations;
mod warnings;

use kilter_model::report::Report;
use kilter_model::survey::Survey;

use crate::summary::Summary;

/// A section and its places. The page has the sections in the order of the table.
struct Row {
    /// The section.
    section: &'static Section,
    /// Its place among the sections of the text.
    text: u8,
    /// Its place among the sections of the Markdown.
    markdown: u8,
}

/// All sections, in the order of the page. Text and Markdown begin with the result of the run and explain it later, so they have orders of their
/// own. Places are counted in tens to leave room.
static SECTIONS: &[Row] = &[
    row(&answer::SECTION, 10, 10),
    row(&gains::SECTION, 12, 12),
    row(&warnings::SECTION, 130, 110),
    row(&not_verified::SECTION, 120, 100),
    row(&changes::SECTION, 30, 20),
    row(&savings::SECTION, 40, 30),
    row(&targets::SECTION, 50, 40),
    row(&arrivals::SECTION, 55, 45),
    row(&maps::SECTION, 0, 0),
    row(&violations::SECTION, 20, 60),
    row(&figures::SECTION, 0, 0),
    row(&matrix::SECTION, 0, 0),
    row(&guidelines::SECTION, 0, 0),
    row(&contests::SECTION, 70, 70),
    row(&looked_better::SECTION, 60, 50),
    row(&unfixed::SECTION, 80, 80),
    row(&quarantined::SECTION, 90, 90),
    row(&cells::SECTION, 100, 0),
    row(&provenance::SECTION, 0, 120),
    row(&method::SECTION, 0, 0),
    #[cfg(test)]
    row(&tests::notes::SECTION, 15, 15),
];

const fn row(section: &'static Section, text: u8, markdown: u8) -> Row {
    Row {
        section,
        text,
        markdown,
    }
}

/// A section of a report.
pub(crate) struct Section {
    /// Its id in the page.
    pub(crate) id: &'static str,
    /// The words that lead to it in the page's navigation, where they shall.
    pub(crate) navigation: Option<&'static str>,
    /// Fields of the report's model that it shows: its part of `report.json`.
    pub(crate) fields: &'static [&'static str],
    /// Its markup, `<section id="...">` and all; empty where there is nothing to say.
    pub(crate) html: fn(&View<'_>) -> askama::Result<String>,
    /// Its lines on a terminal; empty where there is nothing to say.
    pub(crate) text: fn(&View<'_>) -> String,
    /// Its Markdown; empty where there is nothing to say.
    pub(crate) markdown: fn(&View<'_>) -> String,
}

/// A report as sections see it.
pub(crate) struct View<'a> {
    /// The report.
    pub(crate) report: &'a Report,
    /// The report in numbers.
    pub(crate) summary: Summary<'a>,
    /// The survey of overlap that lies beside the report.
    pub(crate) survey: Option<&'a Survey>,
    /// True if long tables of details are counted and not printed.
    pub(crate) is_brief: bool,
}

impl<'a> View<'a> {
    /// A report, with the survey that lies beside it.
    pub(crate) fn of(report: &'a Report, survey: Option<&'a Survey>) -> View<'a> {
        View {
            report,
            summary: Summary::of(report),
            survey,
            is_brief: false,
        }
    }

    /// The same with long tables of details counted, if `is_brief`.
    pub(crate) fn brief(self, is_brief: bool) -> View<'a> {
        View { is_brief, ..self }
    }

    /// True if any cell was measured again with what is deployed, or should have been.
    fn tuned(&self) -> bool {
        self.summary.after.is_some()
    }
}

/// A rendering that a section does not have.
fn nothing(_: &View<'_>) -> String {
    String::new()
}

/// The part of `report.json` that a section shows; `None` where no section has this id.
#[must_use]
pub fn json(report: &Report, id: &str) -> Option<serde_json::Map<String, serde_json::Value>> {
    let row = SECTIONS.iter().find(|row| row.section.id == id)?;
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::to_value(report) else {
        return None;
    };
    fields.retain(|name, _| row.section.fields.contains(&name.as_str()));
    Some(fields)
}

/// The page's sections: id, words of the navigation, markup. Sections without markup are left out.
pub(crate) fn html(view: &View<'_>) -> askama::Result<Vec<(&'static str, Option<&'static str>, String)>> {
    let mut parts = Vec::new();
    for Row { section, .. } in SECTIONS {
        let markup = (section.html)(view)?;
        if !markup.is_empty() {
            parts.push((section.id, section.navigation, markup));
        }
    }
    Ok(parts)
}

/// All sections as text.
pub(crate) fn text(view: &View<'_>) -> String {
    let mut rows: Vec<&Row> = SECTIONS.iter().collect();
    rows.sort_by_key(|row| row.text);
    rows.iter().map(|row| (row.section.text)(view)).collect()
}

/// All sections as Markdown.
pub(crate) fn markdown(view: &View<'_>) -> String {
    let mut rows: Vec<&Row> = SECTIONS.iter().collect();
    rows.sort_by_key(|row| row.markdown);
    rows.iter().map(|row| (row.section.markdown)(view)).collect()
}
