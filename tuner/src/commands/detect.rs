//! `kilter detect`: collectives that a traced program makes of messages by hand; with `--measure`, beside what would replace them.

use std::path::Path;

use anyhow::{Context as _, ensure};
use kilter_detect::Detection;
use kilter_search::context::Context;
use kilter_tracing::detectable;
use kilter_tracing::trace::Trace as Recorded;

use super::{Status, measuring, print, trace};
use crate::cli::{Detect, DetectFormat};
use crate::{options, proof};

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
    let answer = Rendering {
        recorded: &recorded,
        trace: &trace,
        format: typed.measure.job.format,
        output: typed.output.as_deref(),
    };
    if !typed.is_measured || detection.findings.is_empty() {
        return answer.show(&detection);
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
        answer.show(&detection)
    })
}

/// A trace, and how what is found in it is shown.
struct Rendering<'a> {
    recorded: &'a Recorded,
    trace: &'a kilter_detect::Trace,
    format: DetectFormat,
    output: Option<&'a Path>,
}

impl Rendering<'_> {
    fn show(&self, detection: &Detection) -> anyhow::Result<Status> {
        let rendered = self.rendered(detection)?;
        match self.output {
            Some(file) => std::fs::write(file, rendered)
                .with_context(|| format!("--output: `{}` cannot be written", file.display()))?,
            None => print(&rendered)?,
        }
        Ok(if detection.findings.is_empty() {
            Status::Holds
        } else {
            Status::Violations
        })
    }

    fn rendered(&self, detection: &Detection) -> anyhow::Result<String> {
        let ends = self
            .recorded
            .ranks
            .iter()
            .filter_map(|rank| Some(rank.end_ns?.saturating_sub(rank.begin_ns)));
        let run_seconds = ends.max().unwrap_or(0) as f64 * 1e-9;
        let command = &self.recorded.job.command;
        Ok(match self.format {
            DetectFormat::Text => kilter_detect::text::text(detection, self.trace, run_seconds),
            DetectFormat::Html => kilter_detect::html::render(detection, self.trace, command, run_seconds)?,
            DetectFormat::Json => kilter_detect::json::render(detection, self.trace, command)?,
        })
    }
}
