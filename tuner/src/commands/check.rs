//! `kilter check`: verify and report, on one layout or on several, one after the other.

use kilter_bench::budget::Budget;
use kilter_model::layout::Layout;
use kilter_model::options::Options;
use kilter_model::report::Report;
use kilter_model::setup::Setup;
use kilter_report::layouts::Index;
use kilter_report::terminal;
use kilter_search::context::Context;
use kilter_search::verification::{Allowance, verify, verify_apart};
use kilter_tune::layouts::turns::Turns;

use super::{Status, layouts, measuring, print};
use crate::options::Checking;
use crate::reporting;
use crate::{cli, options};

const COMMAND: &str = "check";

pub(super) fn run(typed: cli::Check) -> anyhow::Result<Status> {
    let Checking { common, layouts, said } = options::checking(typed)?;
    for line in said {
        eprintln!("kilter: {line}");
    }
    if layouts.is_empty() {
        return measuring::with_report(&common, COMMAND, &[], checked);
    }
    on_layouts(&common, &layouts)
}

/// Verifies, and reports.
pub(crate) fn checked(context: &Context<'_>) -> anyhow::Result<Report> {
    let (jobs, plan, facts) = (&context.jobs, &context.plan, &context.facts);
    let patterns = jobs.site.options.arrivals.len();
    let allowed = Allowance {
        // Each pattern has as much as ranks that come together.
        seconds: if patterns == 0 {
            f64::INFINITY
        } else {
            jobs.budget.left_seconds() / (1 + patterns) as f64
        },
        goes_on: false,
    };
    let verification = verify(jobs, plan, facts, COMMAND, &Setup::default(), allowed)?;
    let label = format!("{COMMAND}/apart");
    let arrivals = verify_apart(jobs, plan, facts, &label, &verification)?;
    let mut report = reporting::of_check(jobs, plan, &context.quarantine, &verification);
    report.arrivals = arrivals;
    Ok(report)
}

/// Verifies each layout, with a report of its own, and writes a page about all of them.
fn on_layouts(common: &Options, options: &[Options]) -> anyhow::Result<Status> {
    if common.dry_run {
        return layouts::dry_run(options, COMMAND);
    }
    measuring::prepare_process()?;
    let found = options.iter().map(measuring::find);
    let found = found.collect::<anyhow::Result<Vec<_>>>()?;
    let store = measuring::open_store(common)?;
    let turns = Turns::new(Budget::new(common.budget_seconds));
    let mut reports: Vec<(Layout, Report)> = Vec::new();
    for (own, found) in options.iter().zip(found) {
        let Some(layout) = own.layout else { continue };
        let context = measuring::begin(own, found, &store, COMMAND, &[])?;
        measuring::ensure_work(&context.plan)?;
        turns.to_verify(&context.jobs.budget, options.len() - reports.len());
        context
            .progress
            .note(&layouts::place_in(layout, reports.len(), options.len()));
        let report = match checked(&context) {
            Ok(report) => report,
            Err(error) => return measuring::failed(&context.jobs, error.context(format!("layout {layout}"))),
        };
        context.jobs.heed_jobs();
        context.progress.finish();
        measuring::write(own, &report)?;
        context.jobs.run.record_report(&report)?;
        context.jobs.run.finish()?;
        if !common.json {
            print(&format!("layout {layout}\n\n{}", terminal::with_tables(&report, false)))?;
        }
        reports.push((layout, report));
    }
    let index = Index::new(&reports, None, Vec::new());
    layouts::write(common, &index)?;
    print(&if common.json { index.to_json()? } else { index.to_text() })?;
    Ok(layouts::status(&reports))
}
