//! `kilter detect`: collectives that a traced program makes of messages by hand; with `--measure`, beside what would replace them.

use anyhow::ensure;
use kilter_detect::Detection;
use kilter_search::context::Context;
use kilter_tracing::detectable;
use kilter_tracing::trace::Trace as Recorded;
use serde::Serialize;

use super::{Status, measuring, print, trace};
use crate::cli::{Detect, Format};
use crate::{options, proof};

/// The answer as JSON: the findings name communicators and call sites by their places in these lists.
#[derive(Serialize)]
struct Answer<'a> {
    command: &'a str,
    communicators: &'a [kilter_detect::model::trace::Communicator],
    sites: &'a [kilter_detect::model::trace::Site],
    #[serde(flatten)]
    detection: &'a kilter_detect::Detection,
}

pub(super) fn run(typed: Detect) -> anyhow::Result<Status> {
    let recorded = trace::read(&typed.directory)?;
    for rank in &recorded.ranks {
        let lost = rank.lost_calls + rank.lost_parts;
        if lost > 0 {
            eprintln!(
                "kilter: warning: rank {} lost {lost} calls or parts of them, so that collectives may be missed; record again with a larger --limit",
                rank.rank
            );
        }
    }
    let trace = detectable::of(&recorded);
    let detection = kilter_detect::detect(&trace);
    let format = typed.measure.job.format;
    if !typed.is_measured || detection.findings.is_empty() {
        return show(&recorded, &trace, &detection, format);
    }
    let mut measure = typed.measure;
    let ranks = *measure.ranks.get_or_insert(trace.ranks);
    ensure!(
        ranks == trace.ranks,
        "--ranks: `{ranks}` is not the number of ranks of `{}`, whose messages are between {}; leave it out",
        typed.directory.display(),
        trace.ranks
    );
    let options = options::measuring(measure)?;
    // Another trace is another run.
    let further = [serde_json::to_string(&detection)?];
    let work = |context: &Context<'_>| {
        let mut detection = detection.clone();
        proof::prove(&context.jobs, &trace, &mut detection)?;
        Ok(detection)
    };
    measuring::with_context(&options, "detect", &further, work, |context, detection| {
        context.jobs.run.finish()?;
        show(&recorded, &trace, &detection, format)
    })
}

fn show(
    recorded: &Recorded,
    trace: &kilter_detect::Trace,
    detection: &Detection,
    format: Format,
) -> anyhow::Result<Status> {
    let ends = recorded
        .ranks
        .iter()
        .filter_map(|rank| Some(rank.end_ns?.saturating_sub(rank.begin_ns)));
    let run_seconds = ends.max().unwrap_or(0) as f64 * 1e-9;
    print(&match format {
        Format::Text => kilter_detect::text::text(detection, trace, run_seconds),
        Format::Json => {
            let answer = Answer {
                command: &recorded.job.command,
                communicators: &trace.communicators,
                sites: &trace.sites,
                detection,
            };
            serde_json::to_string_pretty(&answer)? + "\n"
        }
    })?;
    Ok(if detection.findings.is_empty() {
        Status::Holds
    } else {
        Status::Violations
    })
}
