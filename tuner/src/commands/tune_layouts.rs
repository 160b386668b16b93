//! `kilter tune --layouts`: the loop for each layout, then one staging directory for all of them, verified on each.

use std::collections::BTreeMap;

use kilter_bench::budget::Budget;
use kilter_emit::decisions::Selections;
use kilter_model::layout::Layout;
use kilter_model::options::TuneOptions;
use kilter_model::report::Report;
use kilter_predict::{Call, Map};
use kilter_report::layouts::Index;
use kilter_report::terminal;
use kilter_search::context::Context;
use kilter_tune::layouts::merge::LeftOut;
use kilter_tune::layouts::prove::{Member, prove};
use kilter_tune::layouts::turns::Turns;

use super::layouts::{dry_run, place_in, status, write};
use super::{Status, measuring, print, tune_loop};
use crate::{machine_map, reporting};

pub(super) fn run(options: &TuneOptions, own_options: String) -> anyhow::Result<Status> {
    if options.common.dry_run {
        return dry_run(&options.layouts, "tune");
    }
    measuring::prepare_process()?;
    // Before anything is measured.
    kilter_emit::staging::check(&options.common.out.join("emit"))?;
    let layouts: Vec<Layout> = options.layouts.iter().filter_map(|own| own.layout).collect();
    let names: Vec<String> = layouts.iter().map(ToString::to_string).collect();
    // The final verification covers all layouts, so that a run with other layouts is another run.
    let further = [own_options, format!("layouts {}", names.join(","))];
    let found = options.layouts.iter().map(measuring::find);
    let found = found.collect::<anyhow::Result<Vec<_>>>()?;
    let store = measuring::open_store(&options.common)?;
    let contexts = options.layouts.iter().zip(found);
    let contexts = contexts
        .map(|(own, found)| measuring::begin(own, found, &store, "tune", &further))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for context in &contexts {
        measuring::ensure_work(&context.plan)?;
    }
    let turns = Turns::new(Budget::new(options.common.budget_seconds));
    let mut members = Vec::new();
    for (layout, context) in layouts.iter().zip(&contexts) {
        context.progress.note(&place_in(*layout, members.len(), layouts.len()));
        turns.to_tune(&context.jobs.budget, layouts.len() - members.len());
        match tune_loop::tuned(context, options) {
            Ok(tuned) => {
                context.progress.finish();
                // Until all layouts are verified together: what its own files bring about.
                measuring::write(
                    context.site.options,
                    &reporting::of_tune(&context.jobs, &context.plan, &context.quarantine, &tuned),
                )?;
                members.push(Member {
                    layout: *layout,
                    context,
                    tuned,
                });
            }
            Err(error) => return measuring::failed(&context.jobs, error.context(format!("layout {layout}"))),
        }
    }
    proven(
        options,
        &mut members,
        &turns,
        &Over {
            map: None,
            is_complete: true,
        },
    )
}

/// Knowledge of a command beyond the layouts that it tuned.
pub(super) struct Over<'m> {
    /// Predictions for the layouts of a machine, which the report draws.
    pub(super) map: Option<&'m Map>,
    /// True if the runs are finished; else the same command goes on with them.
    pub(super) is_complete: bool,
}

/// Proves the files of all layouts, and writes the reports.
pub(super) fn proven(
    options: &TuneOptions,
    members: &mut [Member<'_, '_>],
    turns: &Turns,
    over: &Over<'_>,
) -> anyhow::Result<Status> {
    let proven = match prove(members, &options.common.out.join("emit"), turns, over.map) {
        Ok(proven) => proven,
        Err(error) => {
            // The error names the layout's launch; none may replay it.
            let error = error.context("verifying the files of all layouts");
            let contexts: Vec<&Context<'_>> = members.iter().map(|member| member.context).collect();
            return measuring::failed_together(&contexts, error);
        }
    };
    let emitted = proven.emitted.as_ref().map(|_| "emit".to_owned());
    let left_out = proven.merged.left_out.iter().map(LeftOut::line).collect();
    reported(options, members, (emitted, left_out), over, &proven.merged.predicted)
}

/// Writes the reports of the layouts and the index, and prints them.
pub(super) fn reported(
    options: &TuneOptions,
    members: &[Member<'_, '_>],
    (emitted, left_out): (Option<String>, Vec<String>),
    over: &Over<'_>,
    predicted: &BTreeMap<Layout, Selections>,
) -> anyhow::Result<Status> {
    let mut reports: Vec<(Layout, Report)> = Vec::new();
    for member in members {
        let report = reporting::of_tune(
            &member.context.jobs,
            &member.context.plan,
            &member.context.quarantine,
            &member.tuned,
        );
        measuring::write(member.context.site.options, &report)?;
        member.context.jobs.run.record_report(&report)?;
        reports.push((member.layout, report));
    }
    let deployed = |layout: Layout, call: Call| {
        let member = members.iter().find(|member| member.layout == layout);
        let own = member.map(|member| &member.tuned.deployment.selections);
        let selections = own.or_else(|| predicted.get(&layout))?;
        selections.get(&(call.collective, call.bytes)).cloned()
    };
    let map = over.map.and_then(|map| machine_map::of(map, deployed));
    let index = Index::new(&reports, emitted, left_out).with_map(map);
    write(&options.common, &index)?;
    // Together, and only now: until here the same command resumes every layout.
    for member in members.iter().filter(|_| over.is_complete) {
        member.context.jobs.run.finish()?;
    }
    if options.common.json {
        print(&index.to_json()?)?;
    } else {
        for (layout, report) in &reports {
            print(&format!("layout {layout}\n\n{}", terminal::with_tables(report, false)))?;
        }
        print(&index.to_text())?;
    }
    Ok(status(&reports))
}
