//! The index of the layouts' reports: a page, the same as JSON, and lines for a terminal.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::config::mix::Application;
use kilter_model::layout::Layout;
use kilter_model::report::{Library, Report};
use kilter_render::format;
use serde::{Deserialize, Serialize};

use crate::html::HtmlError;
use crate::summary::{Standing, Summary};

mod map;

pub use map::{CallMap, MachineMap, MapCell, Standing as HowKnown};

/// Version of `layouts.json`.
const SCHEMA: u32 = 1;

/// The index.
#[derive(Debug, Clone, PartialEq, Serialize, Template)]
#[template(path = "layouts.html")]
pub struct Index {
    /// Version of the format.
    pub schema: u32,
    /// The library.
    pub library: Library,
    /// The layouts, in the order in which they were asked for.
    pub layouts: Vec<Entry>,
    /// The directory of the merged files, relative to the index; `None` where nothing is deployed.
    pub emitted: Option<String>,
    /// True if something was searched that could be deployed.
    #[serde(skip)]
    pub is_tuned: bool,
    /// Choices of some layout that the merged files leave out, a line each.
    pub left_out: Vec<String>,
    /// Choices over the layouts of a whole machine; absent where layouts were listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MachineMap>,
    /// The application's run in which its calls were counted, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    #[serde(skip)]
    version: &'static str,
}

/// A layout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Nodes by ranks per node.
    pub layout: String,
    /// Ranks of the job.
    pub ranks: usize,
    /// Cells that were judged.
    pub cells: usize,
    /// Cells that the untouched library violates.
    pub violated_before: usize,
    /// Cells that are violated with the merged files.
    pub violated_after: usize,
    /// Cells that were violated before and hold with the merged files.
    pub fixed: usize,
    /// The answer in one line.
    pub headline: String,
    /// Seconds that an application should save on communicators of this layout; absent without its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_seconds: Option<f64>,
    /// The layout's report, relative to the index.
    pub report: String,
}

impl Index {
    /// Name of the JSON in the directory of a run.
    pub const FILE: &str = "layouts.json";

    /// The layouts that a `layouts.json` names.
    ///
    /// # Errors
    /// It is no such file.
    pub fn layouts_in(text: &str) -> Result<Vec<Layout>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Named {
            layout: String,
        }
        #[derive(Deserialize)]
        struct Names {
            layouts: Vec<Named>,
        }
        let names: Names = serde_json::from_str(text)?;
        let parsed = names.layouts.iter().map(|named| named.layout.parse());
        parsed.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
    }

    /// The page of reports that were verified with the merged files; `left_out` has a line for each choice that is not among them.
    #[must_use]
    pub fn new(reports: &[(Layout, Report)], emitted: Option<String>, left_out: Vec<String>) -> Index {
        let library = reports.first().map(|(_, report)| report.library.clone());
        Index {
            schema: SCHEMA,
            library: library.unwrap_or_else(|| Library {
                name: String::new(),
                version: String::new(),
            }),
            layouts: reports.iter().map(|(layout, report)| entry(*layout, report)).collect(),
            emitted,
            is_tuned: reports.iter().any(|(_, report)| report.command == "tune"),
            left_out,
            map: None,
            application: reports.iter().find_map(|(_, report)| report.application.clone()),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The page with a map of the machine.
    #[must_use]
    pub fn with_map(self, map: Option<MachineMap>) -> Index {
        Index { map, ..self }
    }

    /// The page.
    ///
    /// # Errors
    /// If the template fails to write, which no content causes.
    pub fn to_html(&self) -> Result<String, HtmlError> {
        Ok(self.render()?)
    }

    /// `layouts.json`.
    ///
    /// # Errors
    /// If serialisation fails, which no content causes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        kilter_render::json::text(self)
    }

    /// Seconds that an application should save on all layouts together, in words; `None` without its calls.
    fn saved(&self) -> Option<String> {
        let of_layouts: Vec<f64> = self.layouts.iter().filter_map(|entry| entry.saved_seconds).collect();
        if of_layouts.is_empty() {
            return None;
        }
        let saved: f64 = of_layouts.iter().sum();
        let of_run = self.application.as_ref().map_or_else(String::new, |run| {
            let share = format::percent(saved / run.seconds);
            format!(" of its {} ({share})", format::seconds(run.seconds))
        });
        Some(format!(
            "The application should save {}{of_run}.",
            format::signed_seconds(saved)
        ))
    }

    /// A line for each layout.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{} {}\n", self.library.name, self.library.version);
        for entry in &self.layouts {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{:>8}  {}  ({})", entry.layout, entry.headline, entry.report);
        }
        if let Some(saved) = self.saved() {
            let _ = writeln!(text, "{saved}");
        }
        for line in &self.left_out {
            let _ = writeln!(text, "left out: {line}");
        }
        if let Some(map) = &self.map {
            text.push_str(&map.to_text());
        }
        match &self.emitted {
            Some(directory) => {
                let _ = writeln!(text, "files of all layouts: {directory}");
            }
            None if self.is_tuned => text.push_str("nothing is deployed\n"),
            None => {}
        }
        text
    }
}

fn entry(layout: Layout, report: &Report) -> Entry {
    let summary = Summary::of(report);
    Entry {
        layout: layout.to_string(),
        ranks: layout.ranks(),
        cells: report.cells.len(),
        violated_before: summary.before.violated,
        violated_after: summary.remaining,
        fixed: report
            .cells
            .iter()
            .filter(|cell| Standing::of(cell) == Standing::Fixed)
            .count(),
        headline: summary.one_line(),
        saved_seconds: (!report.savings.is_empty())
            .then(|| report.savings.iter().map(|saving| saving.saved_seconds).sum()),
        report: format!("{layout}/report.html"),
    }
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_model::report::Saving;

    use super::*;

    fn index() -> Index {
        let reports = ["1x2", "8x16"].map(|layout| (layout.parse().unwrap(), fixture::tuned()));
        let left_out = "`btl_tcp_eager_limit=<131072>`, chosen for 8x16: it slows 1x2";
        Index::new(&reports, Some("emit".to_owned()), vec![left_out.to_owned()])
    }

    #[test]
    fn the_page_leads_to_every_report() {
        let page = index().to_html().unwrap();
        for part in [
            "href=\"1x2/report.html\"",
            "href=\"8x16/report.html\"",
            "&#60;131072&#62;",
            "emit",
        ] {
            assert!(page.contains(part), "`{part}` is missing: {page}");
        }
    }

    #[test]
    fn a_line_for_each_layout() {
        insta::assert_snapshot!(index().to_text(), @r"
        Open MPI 4.1.4
             1x2  5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); none became slower; 10 violations before, 1 after, 1 undecided  (1x2/report.html)
            8x16  5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); none became slower; 10 violations before, 1 after, 1 undecided  (8x16/report.html)
        left out: `btl_tcp_eager_limit=<131072>`, chosen for 8x16: it slows 1x2
        files of all layouts: emit
        ");
    }

    #[test]
    fn what_an_application_should_save_is_summed_up() {
        let saving = Saving {
            function: "reduce".to_owned(),
            bytes: 4096,
            calls: 1000.0,
            seconds_before: 2e-3,
            seconds_after: 1e-3,
            saved_seconds: 1.0,
            certain: true,
        };
        let mut report = fixture::tuned();
        report.savings = vec![saving];
        report.application = Some(Application {
            command: String::new(),
            seconds: 40.0,
        });
        let reports = ["1x2", "8x16"].map(|layout| (layout.parse().unwrap(), report.clone()));
        let index = Index::new(&reports, None, Vec::new());
        let said = "The application should save 2.00 s of its 40.0 s (5 %).";
        assert!(index.to_text().contains(said), "{}", index.to_text());
        assert!(index.to_html().unwrap().contains(said));
        let layouts = Index::layouts_in(&index.to_json().unwrap()).unwrap();
        assert_eq!(
            layouts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["1x2", "8x16"]
        );
        assert!(Index::layouts_in("{\"layouts\": [{\"layout\": \"8 x\"}]}").is_err());
    }
}
