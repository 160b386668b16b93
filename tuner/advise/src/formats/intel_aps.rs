//! Charts of Intel's Application Performance Snapshot, as `aps-report` prints them.
//!
//! A chart is a title behind a bar, a head of columns between two rules, rows, and sums behind bars. Read are the function summary
//! (`-f`, `-u`), the MPI time per rank (`-t`), the message sizes (`-m`), and the function summary of single ranks (`-D`, `-R`). Counters
//! are named `FUNCTION.COLUMN` without `MPI_`, such as `Barrier.time`, `.idle`, `.calls`, `.transfers`, `.volume`, `.time share`; those of a rank
//! `lifetime` and `mpi time`; those of sizes `262144 B.transfers`. Megabytes become bytes, percentages shares. Charts leave out
//! rows below a share of 1 % and all but five rows, unless they are told otherwise.

use super::Format;
use crate::listing::{ALL_RANKS, Found, Unit, number};

/// Bytes of the printed megabyte: `aps-report` prints 7.62939e-06 MB for 8 bytes.
const MEGABYTE: f64 = 1_048_576.0;

pub(super) static FORMAT: Format = Format {
    id: "intel-aps",
    title: "charts of Intel's Application Performance Snapshot",
    made_by: "`aps-report aps_result_DATE -f -T 0 -V 0 -N 1000` and `aps-report aps_result_DATE -t`, after `mpirun -n N aps PROGRAM`",
    source: "Intel, Application Performance Snapshot User Guide for Linux, 2023.0 to 2025.0, \"Analysis Charts\"",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| {
        line.trim_start().starts_with('|') && (Chart::of(title(line)).is_some() || title(line).starts_with("RANK "))
    },
    read,
};

/// Charts that are read, by what a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chart {
    Functions,
    Ranks,
    Sizes,
}

impl Chart {
    /// The chart of a title.
    fn of(title: &str) -> Option<Chart> {
        let title = title.to_ascii_lowercase();
        match title.as_str() {
            "function summary" | "function summary for all ranks" => Some(Chart::Functions),
            "mpi time per rank" => Some(Chart::Ranks),
            "message sizes summary for all ranks" => Some(Chart::Sizes),
            _ => None,
        }
    }

    /// First word of the head.
    fn first(self) -> &'static str {
        match self {
            Chart::Functions => "Function",
            Chart::Ranks => "Rank",
            Chart::Sizes => "Message",
        }
    }
}

/// A value's column: its name in counters, its factor and unit.
#[derive(Debug, Clone, Copy)]
struct Column(&'static str, f64, Unit);

/// The column of a head's word; `None` for columns that no counter has.
fn column(head: &str) -> Option<Column> {
    Some(match head {
        "Time(sec)" => Column("time", 1.0, Unit::Seconds),
        "Time(%)" => Column("time share", 0.01, Unit::Share),
        "Idle(sec)" => Column("idle", 1.0, Unit::Seconds),
        "Idle(%)" => Column("idle share", 0.01, Unit::Share),
        "Volume(MB)" => Column("volume", MEGABYTE, Unit::Bytes),
        "Calls" => Column("calls", 1.0, Unit::Count),
        "Transfers" => Column("transfers", 1.0, Unit::Count),
        "LifeTime(sec)" => Column("lifetime", 1.0, Unit::Seconds),
        "MPITime(sec)" => Column("mpi time", 1.0, Unit::Seconds),
        _ => return None,
    })
}

/// The words of a line without its bar.
fn title(line: &str) -> &str {
    line.trim().trim_start_matches('|').trim()
}

fn read(text: &str, found: &mut Found) {
    let mut rank: Option<u32> = None;
    let mut chart = None;
    let mut columns: Vec<Option<Column>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = title(line);
        if let Some(next) = Chart::of(words) {
            chart = Some(next);
            columns.clear();
            if words.ends_with("for all ranks") {
                rank = None;
            }
            continue;
        }
        let has_bar = line.trim_start().starts_with('|');
        if has_bar {
            if let Some(number) = words.strip_prefix("RANK ") {
                rank = number.trim().parse().ok();
                chart = None;
            } else if words.starts_with("TOTAL") || words.starts_with('=') {
                chart = None;
            } else if chart.is_some_and(|chart| words.starts_with(chart.first())) {
                // A second head below one title is of a chart that is not read.
                if !columns.is_empty() {
                    chart = None;
                }
                columns = words
                    .split_whitespace()
                    .filter(|word| is_value(word))
                    .map(column)
                    .collect();
            }
            continue;
        }
        if let (Some(chart), false) = (chart, columns.is_empty()) {
            row(words, chart, rank, &columns, index + 1, found);
        }
    }
}

/// True for a head's word that names a column of values, not the column of names.
fn is_value(word: &str) -> bool {
    !["Function", "Rank", "Message", "size(B)"].contains(&word)
}

/// Adds the values of a row, which is its name and a number for each column.
fn row(words: &str, chart: Chart, rank: Option<u32>, columns: &[Option<Column>], line: usize, found: &mut Found) {
    let mut tokens = words.split_whitespace();
    let Some(name) = tokens.next() else {
        return;
    };
    let Some(values) = tokens.map(number).collect::<Option<Vec<f64>>>() else {
        return;
    };
    if values.len() != columns.len() {
        return;
    }
    let (process, name) = match (chart, name.parse::<u32>()) {
        (Chart::Functions, _) => {
            let process = rank.map_or_else(|| ALL_RANKS.to_owned(), |rank| format!("rank {rank}"));
            (process, format!("{}.", name.strip_prefix("MPI_").unwrap_or(name)))
        }
        (Chart::Ranks, Ok(rank)) => (format!("rank {rank}"), String::new()),
        (Chart::Sizes, Ok(bytes)) => (ALL_RANKS.to_owned(), format!("{bytes} B.")),
        _ => return,
    };
    let process = found.process(&process);
    for (column, value) in columns.iter().zip(values) {
        if let Some(Column(label, factor, unit)) = column {
            found.push(process, &format!("{name}{label}"), value * factor, *unit, line);
        }
    }
}
