//! Effect of computing threads on blocking communication: none, a little, or as much as only a scheduler causes.

use std::collections::BTreeMap;

use kilter_render::format;

use super::{Class, Finding, Seen, median};

/// Factor from which on a call has waited for the scheduler.
const PENALTY: f64 = 10.0;
/// Slowdown from which on threads matter.
const DISTURBED: f64 = 1.5;
/// Share of the cells with threads that must show a penalty.
const SHARE: f64 = 0.1;

pub(super) fn of(seen: &[Seen<'_>]) -> Finding {
    let beside: Vec<&Seen<'_>> = seen.iter().filter(|seen| seen.cell.threads > 0).collect();
    let values = |threads: u32| {
        beside
            .iter()
            .filter(move |seen| seen.cell.threads == threads)
            .map(|seen| seen.value)
    };
    let by_threads: BTreeMap<u32, f64> = beside
        .iter()
        .map(|seen| seen.cell.threads)
        .map(|threads| (threads, median(values(threads))))
        .collect();
    let count = |limit: f64| beside.iter().filter(|seen| seen.value >= limit).count();
    let share = |count: usize| count as f64 / beside.len().max(1) as f64;
    let overall = median(beside.iter().map(|seen| seen.value));
    let worst = beside
        .iter()
        .max_by(|a, b| a.value.total_cmp(&b.value))
        .map(|seen| {
            format!(
                "{} with {} at {}",
                format::ratio(seen.value),
                computing(seen.cell.threads),
                format::bytes(seen.cell.bytes)
            )
        })
        .unwrap_or_default();
    let first = |limit: f64| {
        by_threads
            .iter()
            .find(|(_, median)| **median >= limit)
            .map(|(threads, _)| *threads)
    };
    let (class, share, sentence) = if share(count(PENALTY)) >= SHARE {
        let from = first(PENALTY).or_else(|| first(DISTURBED));
        let from = from.map_or_else(
            || "Beside computing threads".to_owned(),
            |threads| format!("With {} or more", computing(threads)),
        );
        (
            Class::SchedulerPenalty,
            share(count(PENALTY)),
            format!("{from} blocking communication waits for time slices of the scheduler."),
        )
    } else if let Some(threads) = first(DISTURBED) {
        let slowdown = format::ratio(by_threads[&threads]);
        (
            Class::ThreadsDisturb,
            share(count(DISTURBED)),
            format!(
                "With {} blocking communication takes {slowdown} times as long.",
                computing(threads)
            ),
        )
    } else {
        (
            Class::ThreadsHarmless,
            1.0 - share(count(DISTURBED)),
            "Computing threads do not delay blocking communication.".to_owned(),
        )
    };
    Finding {
        class,
        sentence,
        evidence: format!(
            "median {}, worst {worst}, {}",
            format::ratio(overall),
            format::count(beside.len(), "cell")
        ),
        share,
        between_bytes: None,
        between_computation_ns: None,
        largest: None,
    }
}

/// `1 computing thread`, `2 computing threads`.
fn computing(threads: u32) -> String {
    format::count(threads as usize, "computing thread")
}
