//! `kilter detect`: collectives that a traced program makes of messages by hand.

use kilter_tracing::detectable;
use serde::Serialize;

use super::{Status, print, trace};
use crate::cli::{Detect, Format};

/// The answer as JSON: the findings name communicators and call sites by their places in these lists.
#[derive(Serialize)]
struct Answer<'a> {
    command: &'a str,
    communicators: &'a [kilter_detect::model::trace::Communicator],
    sites: &'a [kilter_detect::model::trace::Site],
    #[serde(flatten)]
    detection: &'a kilter_detect::Detection,
}

pub(super) fn run(typed: &Detect) -> anyhow::Result<Status> {
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
    let ends = recorded
        .ranks
        .iter()
        .filter_map(|rank| Some(rank.end_ns?.saturating_sub(rank.begin_ns)));
    let run_seconds = ends.max().unwrap_or(0) as f64 * 1e-9;
    print(&match typed.format {
        Format::Text => kilter_detect::text::text(&detection, &trace, run_seconds),
        Format::Json => {
            let answer = Answer {
                command: &recorded.job.command,
                communicators: &trace.communicators,
                sites: &trace.sites,
                detection: &detection,
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
