//! A summary for a terminal. Nothing is cut off but the matrix of many ranks.

use std::fmt::Write as _;

use kilter_protocol::functions::Function;
use kilter_render::format::{bytes, count, percent, seconds};
use kilter_render::table::{plain, printable, trimmed};

use crate::summary::{OfKind, Summary, Total};

/// Most ranks whose matrix of messages is shown.
const MATRIX_RANKS: u32 = 16;
/// Characters of a place.
const PLACE: usize = 36;

/// The whole text.
#[must_use]
pub fn text(summary: &Summary) -> String {
    let mut out = head(summary);
    out.push_str(&section("Ranks", &ranks(summary)));
    out.push_str(&section("Functions, all ranks together", &functions(summary)));
    out.push_str(&section("Communicators", &communicators(summary)));
    out.push_str(&section(
        "Calls by communicator, function, size and place",
        &calls(summary),
    ));
    if summary.calls.iter().any(|one| one.total.sampled > 0) {
        out.push_str(&section(
            "Waiting and transfer of sampled collectives",
            &sampled(summary),
        ));
    }
    if !summary.received.is_empty() {
        out.push_str(&section(
            "Receives and probes by sender, rank and place",
            &received(summary),
        ));
    }
    if !summary.messages.is_empty() {
        out.push_str(&section("Bytes sent, from (rows) to (columns)", &messages(summary)));
    }
    out.push_str(&foot(summary));
    out
}

fn section(title: &str, body: &str) -> String {
    format!("\n{title}\n\n{body}\n")
}

fn head(summary: &Summary) -> String {
    let mut out = format!(
        "{}\n{}, {} on {}, {}\n",
        printable(&summary.command),
        printable(&summary.library),
        count(summary.ranks as usize, "rank"),
        count(summary.nodes, "node"),
        seconds(summary.seconds)
    );
    if let Some(found) = summary.efficiencies {
        let _ = writeln!(
            out,
            "parallel efficiency {} = load balance {} x communication {} (serialisation {} x transfer {})",
            percent(found.parallel),
            percent(found.load_balance),
            percent(found.communication),
            percent(found.serialisation),
            percent(found.transfer)
        );
    }
    out
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        percent(part / whole)
    } else {
        "-".to_owned()
    }
}

fn ranks(summary: &Summary) -> String {
    let mut table = plain(
        &[
            "rank", "node", "time", "MPI", "share", "waiting", "calls", "sent", "bytes",
        ],
        &[0, 2, 3, 4, 5, 6, 7, 8],
    );
    for rank in &summary.per_rank {
        table.add_row(vec![
            rank.rank.to_string(),
            printable(&rank.host),
            seconds(rank.seconds),
            seconds(rank.mpi),
            share(rank.mpi, rank.seconds),
            seconds(rank.waiting),
            rank.calls.to_string(),
            rank.messages.to_string(),
            bytes(rank.bytes),
        ]);
    }
    trimmed(&table)
}

/// True if calls of the function of this name have a number of bytes.
pub(crate) fn has_bytes(function: &str) -> bool {
    Function::named(function).is_some_and(Function::has_bytes)
}

/// Bytes or requests of calls; `-` for functions that have neither.
pub(crate) fn amount(total: &Total) -> String {
    if total.requests > 0 {
        format!("{} req", total.requests)
    } else if has_bytes(&total.function) {
        bytes(total.bytes)
    } else {
        "-".to_owned()
    }
}

fn functions(summary: &Summary) -> String {
    let all: f64 = summary.functions.iter().map(|one| one.seconds).sum();
    let mut table = plain(
        &[
            "function",
            "calls",
            "time",
            "share",
            "waiting",
            "least rank",
            "most rank",
            "bytes",
        ],
        &[1, 2, 3, 4, 5, 6, 7],
    );
    for one in &summary.functions {
        table.add_row(vec![
            one.function.clone(),
            one.calls.to_string(),
            seconds(one.seconds),
            share(one.seconds, all),
            seconds(one.waiting),
            seconds(one.least),
            seconds(one.most),
            amount(one),
        ]);
    }
    trimmed(&table)
}

fn communicators(summary: &Summary) -> String {
    let mut table = plain(
        &["name", "label", "ranks", "nodes x ranks", "calls", "time", "waiting"],
        &[2, 3, 4, 5, 6],
    );
    for one in &summary.communicators {
        let layout = if one.nodes == 0 {
            "?".to_owned()
        } else {
            format!("{} x {}", one.nodes, one.ranks_per_node)
        };
        table.add_row(vec![
            one.name.clone(),
            shortened(&one.label, PLACE / 2),
            one.ranks.to_string(),
            layout,
            one.calls.to_string(),
            seconds(one.seconds),
            seconds(one.waiting),
        ]);
    }
    trimmed(&table)
}

/// The end of a text that is too long: there the file and line are.
fn shortened(text: &str, most: usize) -> String {
    let text = printable(text);
    let length = text.chars().count();
    if length <= most {
        return text;
    }
    format!("...{}", text.chars().skip(length - (most - 3)).collect::<String>())
}

/// Sizes of a call: one number if all are equal, else the bucket.
pub(crate) fn size(one: &OfKind) -> String {
    let function = &one.total.function;
    if !has_bytes(function) {
        return "-".to_owned();
    }
    let (low, high) = one.bucket;
    let mean = one.total.bytes / one.total.calls.max(1);
    if low == high || mean * one.total.calls == one.total.bytes {
        bytes(mean)
    } else {
        format!("{}..", bytes(low))
    }
}

/// Operator and class of the datatype.
pub(crate) fn types(one: &OfKind) -> String {
    let operator = one.operator.trim_start_matches("MPI_").to_ascii_lowercase();
    match (one.datatype.as_str(), operator.as_str()) {
        (datatype, "") => datatype.to_owned(),
        (datatype, operator) => format!("{operator} {datatype}"),
    }
}

fn calls(summary: &Summary) -> String {
    let mut table = plain(
        &["comm", "function", "size", "type", "calls", "time", "waiting", "place"],
        &[2, 4, 5, 6],
    );
    for one in &summary.calls {
        table.add_row(vec![
            if one.communicator.is_empty() {
                "-".to_owned()
            } else {
                shortened(&one.communicator, 16)
            },
            one.total.function.trim_start_matches("MPI_").to_owned(),
            size(one),
            types(one),
            one.total.calls.to_string(),
            seconds(one.total.seconds),
            seconds(one.total.waiting),
            shortened(&one.place, PLACE),
        ]);
    }
    trimmed(&table)
}

/// The rank for which the others waited longest, with its share of the sampled calls; `-` where nobody waited.
pub(crate) fn comes_last(one: &OfKind) -> String {
    let calls: u64 = one.last.iter().map(|last| last.calls).sum();
    one.last.first().filter(|last| last.caused > 0.0).map_or_else(
        || "-".to_owned(),
        |last| format!("{} ({})", last.rank, share(last.calls as f64, calls as f64)),
    )
}

fn sampled(summary: &Summary) -> String {
    let mut table = plain(
        &[
            "comm", "function", "size", "sampled", "waiting", "transfer", "last", "place",
        ],
        &[2, 3, 4, 5, 6],
    );
    for one in summary.calls.iter().filter(|one| one.total.sampled > 0) {
        table.add_row(vec![
            shortened(&one.communicator, 16),
            one.total.function.trim_start_matches("MPI_").to_owned(),
            size(one),
            one.total.sampled.to_string(),
            seconds(one.total.waiting),
            seconds(one.total.transfer),
            comes_last(one),
            shortened(&one.place, PLACE),
        ]);
    }
    trimmed(&table)
}

fn received(summary: &Summary) -> String {
    let mut table = plain(
        &["from", "to", "function", "calls", "time", "bytes", "place"],
        &[0, 1, 3, 4, 5],
    );
    for one in &summary.received {
        table.add_row(vec![
            one.from.to_string(),
            one.to.to_string(),
            one.function.trim_start_matches("MPI_").to_owned(),
            one.calls.to_string(),
            seconds(one.seconds),
            bytes(one.bytes),
            shortened(&one.place, PLACE),
        ]);
    }
    trimmed(&table)
}

fn messages(summary: &Summary) -> String {
    if summary.ranks > MATRIX_RANKS {
        let sent: u64 = summary.messages.iter().map(|line| line.messages).sum();
        let total = summary
            .messages
            .iter()
            .fold(0_u64, |sum, line| sum.saturating_add(line.bytes));
        return format!(
            "{sent} messages, {} between {}; the matrix of {} ranks is in the JSON and in the file",
            bytes(total),
            count(summary.messages.len(), "pair"),
            summary.ranks
        );
    }
    let head: Vec<String> = std::iter::once(String::new())
        .chain((0..summary.ranks).map(|to| to.to_string()))
        .collect();
    let words: Vec<&str> = head.iter().map(String::as_str).collect();
    let numeric: Vec<usize> = (0..head.len()).collect();
    let mut table = plain(&words, &numeric);
    for from in 0..summary.ranks {
        let cell = |to: u32| {
            let mut all = summary.messages.iter();
            all.find(|line| line.from == from && line.to == to)
                .map_or_else(|| "-".to_owned(), |line| bytes(line.bytes))
        };
        table.add_row(
            std::iter::once(from.to_string())
                .chain((0..summary.ranks).map(cell))
                .collect::<Vec<_>>(),
        );
    }
    trimmed(&table)
}

/// Calls and time that are not in the numbers.
pub(crate) fn foot(summary: &Summary) -> String {
    let mut out = String::new();
    if let Some(sampling) = summary.sampling {
        let _ = match sampling.interval {
            1 => write!(out, "waiting was measured in every blocking collective"),
            interval => write!(out, "waiting was measured in one of {interval} blocking collectives"),
        };
        if sampling.clocks > 1 {
            let bound = seconds(sampling.bound);
            let _ = write!(out, ", on {} clocks made one within {bound}", sampling.clocks);
        }
        if sampling.unmatched > 0 {
            let _ = write!(out, "; {} of them lack a rank", sampling.unmatched);
        }
        out.push('\n');
    }
    let list = |ranks: &[u32]| {
        let some: Vec<String> = ranks.iter().take(8).map(ToString::to_string).collect();
        let more = if ranks.len() > some.len() { ", ..." } else { "" };
        format!("{} ({}{more})", count(ranks.len(), "rank"), some.join(", "))
    };
    if !summary.missing_ranks.is_empty() {
        let _ = writeln!(
            out,
            "no counts of {}: killed, or without the tracer",
            list(&summary.missing_ranks)
        );
    }
    if !summary.unfinished_ranks.is_empty() {
        let _ = writeln!(out, "ended without MPI_Finalize: {}", list(&summary.unfinished_ranks));
    }
    if summary.lost_calls > 0 {
        let _ = writeln!(
            out,
            "{} calls are in no line: the tracer's memory did not reach for their kinds (--memory MIB)",
            summary.lost_calls
        );
    }
    if summary.lost_messages > 0 {
        let _ = writeln!(out, "{} messages are not in the matrix", summary.lost_messages);
    }
    if summary.lost_receives > 0 {
        let _ = writeln!(
            out,
            "{} receives are in no pair's time: the tracer's memory did not reach (--memory MIB)",
            summary.lost_receives
        );
    }
    if summary.failed_calls > 0 {
        let _ = writeln!(out, "{} calls returned an error", summary.failed_calls);
    }
    if summary.status != 0 {
        let _ = writeln!(out, "the command ended with status {}", summary.status);
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, summary};

    #[test]
    fn a_profile_fits_a_terminal() {
        let text = text(&summary::of(&fixture::profile()));
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        for part in [
            "mpirun -n 2 solver\nOpen MPI v4.1.4, 2 ranks on 2 nodes, 10.0 s\n",
            "parallel efficiency 65 % = load balance 81.",
            " x communication 80 % (serialisation ",
            "world",
            "2 x 1",
            "solver+0x1234",
            "sum real",
            "20 KiB",
            "Receives and probes by sender",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn samples_say_who_comes_last() {
        let mut profile = fixture::profile();
        profile.sampling.interval = 8;
        profile.sampling.clocks = 2;
        profile.sampling.bound_ns = 1500;
        profile.sampling.unmatched = 3;
        for calls in profile
            .calls
            .iter_mut()
            .filter(|calls| calls.function == "MPI_Allreduce")
        {
            let late = calls.rank == 0;
            calls.measured = crate::split::Measured {
                calls: 10,
                waiting: if late { 0.0 } else { 0.3 },
                transfer: 0.1,
                last: if late { 9 } else { 1 },
                caused: if late { 0.3 } else { 0.0 },
            };
        }
        let summary = summary::of(&profile);
        let text = text(&summary);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = text.lines().map(words).collect();
        let row = "world Allreduce 8 B 20 3.00 s 2.00 s 0 (90 %) solver+0x1234";
        assert!(rows.iter().any(|found| found == row), "{text}");
        let said = "one of 8 blocking collectives, on 2 clocks made one within 1.50 us; 3 of them lack a rank\n";
        assert!(text.contains(said), "{text}");
        let world = &summary.communicators[0];
        assert_eq!((world.sampled, world.last[0].rank, world.last[0].calls), (20, 0, 9));
        assert!(!super::text(&summary::of(&fixture::profile())).contains("sampled"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut profile = fixture::profile();
        profile.world = 4;
        profile.status = 3;
        profile.ranks[0].finalized = false;
        profile.ranks[1].missing.lost_calls = 7;
        profile.ranks[1].missing.lost_receives = 9;
        let text = text(&summary::of(&profile));
        for part in [
            "no counts of 2 ranks (2, 3)",
            "without MPI_Finalize: 1 rank (0)",
            "7 calls are in no line",
            "9 receives are in no pair",
            "status 3",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_large_matrix_is_summed_up() {
        let mut profile = fixture::profile();
        profile.world = 100;
        let text = text(&summary::of(&profile));
        assert!(text.contains("5 messages, 20 KiB between 1 pair"), "{text}");
    }
}
