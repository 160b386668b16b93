//! Steps that the commands on several layouts share.

use kilter_model::layout::Layout;
use kilter_model::options::Options;
use kilter_model::plan::Plan;
use kilter_model::report::Report;
use kilter_report::layouts::Index;
use kilter_tune::layouts::turns::PROOF_SHARE;

use super::{Status, dry_run, measuring, print};
use crate::reporting;

/// Prints the plan of each layout.
pub(super) fn dry_run(options: &[Options], command: &str) -> anyhow::Result<Status> {
    for own in options {
        let found = measuring::find(own)?;
        let plan = Plan::within(found.guidelines(), &own.scope(), own.place());
        let layout = own
            .layout
            .map(|layout| format!("layout {layout}\n\n"))
            .unwrap_or_default();
        print(&format!("{layout}{}", dry_run::text(own, command, &plan)))?;
    }
    if command == "tune" && !options.is_empty() {
        let seconds: f64 = options.iter().map(|own| own.budget_seconds).sum();
        let proof = seconds * PROOF_SHARE / (1.0 - PROOF_SHARE);
        print(&format!(
            "The files of all layouts are proven in {proof:.0} s, and in what the layouts leave."
        ))?;
    }
    Ok(Status::Holds)
}

/// A layout's place among all that are measured, in words.
pub(super) fn place_in(layout: Layout, done: usize, all: usize) -> String {
    format!("layout {layout} ({} of {all}): {} ranks", done + 1, layout.ranks())
}

/// Writes the page about all layouts, and its JSON.
pub(super) fn write(common: &Options, index: &Index) -> anyhow::Result<()> {
    reporting::write(common, "report.html", &index.to_html()?)?;
    reporting::write(common, Index::FILE, &index.to_json()?)
}

/// Violations if any layout has them.
pub(super) fn status(reports: &[(Layout, Report)]) -> Status {
    let mut statuses = reports.iter().map(|(_, report)| Status::of(report));
    if statuses.any(|status| status == Status::Violations) {
        Status::Violations
    } else {
        Status::Holds
    }
}
