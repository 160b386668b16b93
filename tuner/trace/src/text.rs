//! A summary for a terminal. Nothing is cut off.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kilter_render::format::{bytes, count, seconds};
use kilter_render::table::{plain, printable, trimmed};

use crate::summary::{Counts, OfRank, Summary};

/// The whole text.
#[must_use]
pub fn text(summary: &Summary) -> String {
    let mut out = head(summary);
    let mut section = |title: &str, body: String| {
        let _ = write!(out, "\n{title}\n\n{body}\n");
    };
    section("Ranks", ranks(summary));
    section("Communicators", communicators(summary));
    section("Calls by function and place, all ranks together", sites(summary));
    out.push_str(&foot(summary));
    out
}

fn head(summary: &Summary) -> String {
    let mut out = String::new();
    if !summary.command.is_empty() {
        let _ = writeln!(out, "{}", printable(&summary.command));
    }
    let longest = summary.ranks.iter().map(|rank| rank.seconds).fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "{}, {}, {}",
        // Some libraries say behind a comma how they were built.
        printable(summary.library.split(',').next().unwrap_or_default()),
        count(summary.world as usize, "rank"),
        seconds(longest)
    );
    let _ = write!(out, "{} from send to receive", count(summary.matched, "message"));
    if summary.unmatched_sends > 0 {
        let _ = write!(out, ", {} without a receive", count(summary.unmatched_sends, "send"));
    }
    if summary.unmatched_receives > 0 {
        let _ = write!(out, ", {} without a send", count(summary.unmatched_receives, "receive"));
    }
    out.push('\n');
    out.push_str(&clocks(summary));
    out
}

/// Source of the one time of several nodes; nothing for one clock.
fn clocks(summary: &Summary) -> String {
    let nodes: BTreeSet<&str> = summary.ranks.iter().map(|rank| rank.host.as_str()).collect();
    match summary.common_clock {
        Some(common) if common.clocks > 1 => format!(
            "times of {} clocks made one, wrong by {} at most when the program began and ended\n",
            common.clocks,
            seconds(common.bound_ns as f64 * 1e-9)
        ),
        None if nodes.len() > 1 => format!(
            "times of {} nodes put together by their clocks of the day: arrows between them may go backwards\n",
            nodes.len()
        ),
        _ => String::new(),
    }
}

/// The columns of [`Counts`].
const COUNTS: [&str; 7] = [
    "calls",
    "polls",
    "sent",
    "sent bytes",
    "received",
    "received bytes",
    "collectives",
];

fn fields(counts: &Counts) -> [String; 7] {
    [
        counts.calls.to_string(),
        counts.polls.to_string(),
        counts.sent.to_string(),
        bytes(counts.sent_bytes),
        counts.received.to_string(),
        bytes(counts.received_bytes),
        counts.collectives.to_string(),
    ]
}

fn table(names: &[&str], rows: impl Iterator<Item = (Vec<String>, Counts, Vec<String>)>, last: &[&str]) -> String {
    let heads = [names, &COUNTS, last].concat();
    let numeric: Vec<usize> = (names.len()..names.len() + COUNTS.len()).collect();
    let mut table = plain(&heads, &numeric);
    for (names, counts, last) in rows {
        let names = names.iter().map(|name| printable(name));
        table.add_row(
            names
                .chain(fields(&counts))
                .chain(last.iter().map(|text| printable(text))),
        );
    }
    trimmed(&table)
}

fn ranks(summary: &Summary) -> String {
    let row = |rank: &OfRank| {
        (
            vec![rank.rank.to_string(), rank.host.clone(), seconds(rank.seconds)],
            rank.counts,
            vec![end(rank).to_owned()],
        )
    };
    table(&["rank", "node", "time"], summary.ranks.iter().map(row), &["end"])
}

/// The end of a rank in a word.
fn end(rank: &OfRank) -> &'static str {
    match (rank.finalized, rank.killed) {
        (true, _) => "finalized",
        (false, true) => "killed",
        (false, false) => "exit",
    }
}

fn communicators(summary: &Summary) -> String {
    let rows = summary.communicators.iter().map(|one| {
        (
            vec![one.name.clone(), one.label.clone(), one.members.to_string()],
            one.counts,
            vec![],
        )
    });
    table(&["name", "label", "ranks"], rows, &[])
}

fn sites(summary: &Summary) -> String {
    let rows = summary.sites.iter().map(|one| {
        (
            vec![
                one.function.clone(),
                one.ranks.to_string(),
                seconds(one.nanoseconds as f64 * 1e-9),
            ],
            one.counts,
            vec![one.place.clone()],
        )
    });
    table(&["function", "ranks", "time"], rows, &["place"])
}

fn foot(summary: &Summary) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    for rank in summary.ranks.iter().filter(|rank| rank.lost_calls > 0) {
        let which = if rank.when_full == "ring" { "oldest" } else { "latest" };
        line(format!(
            "rank {}: {} lost, the {which} ones: the file has its {} (--limit MIB)",
            rank.rank,
            count(usize::try_from(rank.lost_calls).unwrap_or(usize::MAX), "call"),
            bytes(rank.limit)
        ));
    }
    let named = |is: fn(&OfRank) -> bool| {
        let all: Vec<String> = summary
            .ranks
            .iter()
            .filter(|rank| is(rank))
            .map(|rank| rank.rank.to_string())
            .collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    if let Some(ranks) = named(|rank| rank.lost_definitions > 0) {
        line(format!(
            "call sites or communicators are lost, for which there was no space: rank {ranks}"
        ));
    }
    if let Some(ranks) = named(|rank| rank.lost_parts > 0) {
        line(format!("some calls are told in part: rank {ranks}"));
    }
    if let Some(ranks) = named(|rank| rank.failed_calls > 0) {
        line(format!(
            "calls that returned an error are not in the trace: rank {ranks}"
        ));
    }
    if let Some(ranks) = named(|rank| rank.killed) {
        line(format!(
            "killed before the end: rank {ranks}; all calls that had returned are in the trace"
        ));
    }
    if !summary.missing.is_empty() {
        let missing: Vec<String> = summary.missing.iter().map(u32::to_string).collect();
        line(format!("no file: rank {}", missing.join(", ")));
    }
    if summary.different > 0 {
        line(format!(
            "{} whose sides differ: calls are missing, or a buffer was changed while it was in use",
            count(summary.different, "message")
        ));
    }
    if summary.status != 0 {
        line(format!("the command ended with status {}", summary.status));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::matching::matches;
    use crate::summary;

    fn shown(trace: &crate::trace::Trace) -> String {
        text(&summary::of(trace, &matches(trace)))
    }

    #[test]
    fn counts_stand_in_tables() {
        let text = shown(&fixture::trace());
        assert!(text.starts_with("Some MPI, 2 ranks, "), "{text}");
        assert!(text.contains("\n1 message from send to receive\n"), "{text}");
        assert!(text.contains("finalized") && text.contains("main (solver)"), "{text}");
        assert!(!text.contains("lost") && !text.contains("differ"), "{text}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut trace = fixture::trace();
        trace.ranks[0].lost_calls = 3;
        trace.ranks[0].end_ns = None;
        trace.ranks[0].finalized = false;
        trace.ranks[1].failed_calls = 1;
        trace.ranks[1].events[0].parts[0].plain.crc = 1;
        trace.world = 3;
        trace.job.status = 137;
        let text = shown(&trace);
        for part in [
            "rank 0: 3 calls lost, the latest ones",
            "killed before the end: rank 0",
            "an error are not in the trace: rank 1",
            "no file: rank 2",
            "1 message whose sides differ",
            "status 137",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn json_has_the_same() {
        let trace = fixture::trace();
        let summary = summary::of(&trace, &matches(&trace));
        let json: serde_json::Value = serde_json::from_str(&kilter_render::json::text(&summary).unwrap()).unwrap();
        assert_eq!(json["ranks"][0]["sent_bytes"], 24);
        assert_eq!(json["sites"][0]["module"], "/opt/solver");
        assert_eq!(json["matched"], 1);
    }
}
