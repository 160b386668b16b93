//! A survey as CSV and as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use kilter_model::reading::{self, Quantity, read};
use kilter_model::survey::{Cell, Map, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_render::format;
use kilter_render::quoting::field;
use kilter_render::table::trimmed;

const HEAD: &str = "benchmark,bytes,computation_ns,threads,communication_seconds,computation_seconds,overlapped_seconds,overlapped_low,\
                    overlapped_high,noise_seconds,quantity,value,value_low,value_high,repetitions,disturbed,inferred,failed\r\n";

/// Most columns of a text table. Of more, every second or third one is shown.
const MOST_COLUMNS: usize = 14;

/// Mark of a cell that would be noise.
const MASKED: &str = ".";

/// Mark of a cell that could not be measured.
const FAILED: &str = "!";

/// A line per cell (RFC 4180) with times in seconds; the ratio or slowdown is empty if it would be noise. Then a line
/// per cell that could not be measured, with the reason.
#[must_use]
pub fn csv(survey: &Survey) -> String {
    let mut out = HEAD.to_owned();
    for map in &survey.maps {
        let name = map.benchmark.name();
        for cell in &map.cells {
            let [low, high] = cell.overlapped_interval_seconds;
            let _ = write!(out, "{name},{},{},{}", cell.bytes, cell.computation_ns, cell.threads);
            for seconds in [
                cell.communication_seconds,
                cell.computation_seconds,
                cell.overlapped_seconds,
                low,
                high,
                cell.noise_seconds,
            ] {
                let _ = write!(out, ",{seconds:e}");
            }
            let _ = write!(out, ",{}", Quantity::of(map.benchmark).name());
            match read(map.benchmark, cell) {
                Some(reading) => {
                    let [low, high] = reading.interval;
                    let _ = write!(out, ",{:e},{low:e},{high:e}", reading.value);
                }
                None => out.push_str(",,,"),
            }
            let _ = write!(out, ",{},{},{},\r\n", cell.repetitions, cell.disturbed, cell.inferred);
        }
        for failed in &map.failed {
            let place = format!("{name},{},{},{}", failed.bytes, failed.computation_ns, failed.threads);
            let _ = write!(out, "{place},,,,,,,,,,,,,,{}\r\n", field(&failed.reason));
        }
    }
    out
}

/// A table per benchmark: a row per size, a column per computation time or number of threads.
#[must_use]
pub fn text(survey: &Survey) -> String {
    let mut text = format!(
        "Overlap of communication and computation: {}, {} ranks, {}\n",
        survey.library, survey.ranks, survey.transport
    );
    for map in &survey.maps {
        text.push('\n');
        text.push_str(&table(map));
    }
    text.push_str(
        "\nratio: 0 perfect overlap, 1 one after the other, above that slower still; slowdown: times as long as without threads.\n\
         `.` would be noise, `~` filled in from measured neighbours, `!` could not be measured.\n",
    );
    text
}

fn table(map: &Map) -> String {
    let row = |cell: &Cell| reading::row(map.benchmark, cell.computation_ns, cell.threads);
    let mut cells: BTreeMap<(u64, u64), String> = BTreeMap::new();
    for cell in &map.cells {
        cells.insert((cell.bytes, row(cell)), shown(map.benchmark, cell));
    }
    for failed in &map.failed {
        let row = reading::row(map.benchmark, failed.computation_ns, failed.threads);
        cells.insert((failed.bytes, row), FAILED.to_owned());
    }
    let distinct = |of: fn(&(u64, u64)) -> u64| {
        let mut values: Vec<u64> = cells.keys().map(of).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (sizes, all) = (distinct(|(bytes, _)| *bytes), distinct(|(_, row)| *row));
    let step = all.len().div_ceil(MOST_COLUMNS).max(1);
    // Counted from the longest, which matters most.
    let columns: Vec<u64> = all.iter().rev().step_by(step).rev().copied().collect();
    let quantity = Quantity::of(map.benchmark);
    let head = |value: &u64| match quantity {
        Quantity::Ratio => format::seconds(*value as f64 * 1e-9),
        Quantity::Slowdown => value.to_string(),
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(std::iter::once("size".to_owned()).chain(columns.iter().map(head)));
    for size in &sizes {
        let fields = columns
            .iter()
            .map(|column| cells.get(&(*size, *column)).cloned().unwrap_or_default());
        table.add_row(std::iter::once(format::bytes(*size)).chain(fields));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let across = match quantity {
        Quantity::Ratio => "computation",
        Quantity::Slowdown => "computing threads",
    };
    let mut text = format!(
        "{}: {} by {across}\n{}\n",
        map.benchmark.name(),
        quantity.name(),
        trimmed(&table)
    );
    let _ = writeln!(text, "{}", counted(map, columns.len() < all.len()));
    for (reason, count) in reasons(map) {
        let _ = writeln!(text, "{}: {reason}", format::count(count, "cell"));
    }
    text
}

/// Counts a map's cells by their kind, in words.
fn counted(map: &Map, thinned: bool) -> String {
    let inferred = map.cells.iter().filter(|cell| cell.inferred).count();
    let masked = map
        .cells
        .iter()
        .filter(|cell| read(map.benchmark, cell).is_none())
        .count();
    let mut text = format!(
        "{}: {} measured",
        format::count(map.cells.len(), "cell"),
        map.cells.len() - inferred
    );
    for (count, what) in [
        (inferred, "filled in"),
        (masked, "noise"),
        (map.failed.len(), "not measured"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if thinned {
        text.push_str("; columns in between are in overlap.csv");
    }
    text
}

/// Reasons of failures by their first lines, with the number of cells.
fn reasons(map: &Map) -> BTreeMap<&str, usize> {
    let mut reasons = BTreeMap::new();
    for failed in &map.failed {
        let first = failed.reason.lines().next().unwrap_or_default();
        *reasons.entry(first).or_default() += 1;
    }
    reasons
}

fn shown(benchmark: Benchmark, cell: &Cell) -> String {
    let Some(reading) = read(benchmark, cell) else {
        return MASKED.to_owned();
    };
    let mark = if cell.inferred { "~" } else { "" };
    // A difference of the last digit is no minus.
    let value = if reading.value.abs() < 0.005 {
        0.0
    } else {
        reading.value
    };
    if value.abs() < 9.995 {
        format!("{mark}{value:.2}")
    } else {
        format!("{mark}{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;
    use kilter_model::survey::Failed;

    use super::*;

    fn small() -> Survey {
        let mut receiver = fixture::map_of_steps(Benchmark::Receiver, 5, fixture::rendezvous);
        receiver.cells[2].noise_seconds = 1.0;
        receiver.cells[5].inferred = true;
        receiver.cells[7].overlapped_seconds += 12.0 * receiver.cells[7].serialised_overhead_seconds();
        receiver.cells.truncate(9);
        receiver.failed.push(Failed {
            bytes: 1 << 20,
            computation_ns: 1_024_000,
            threads: 1,
            reason: "the job ended before it was done (exit status: 1)\nand, \"quoted\"".to_owned(),
        });
        let mut threads = fixture::thread_load(|_, threads| f64::from(threads).max(1.0));
        threads.cells.retain(|cell| cell.bytes >= 1 << 19 && cell.threads < 3);
        fixture::survey(vec![receiver, threads])
    }

    #[test]
    fn a_table_of_every_map() {
        insta::assert_snapshot!(text(&small()), @r"
        Overlap of communication and computation: Open MPI v4.1.4, 2 ranks, vader, cma

        receiver: ratio by computation
          size  1.00 us  32.0 us  1.02 ms
           8 B     0.08     0.08        .
         256 B     0.08     0.08    ~0.08
         8 KiB     0.08       12     0.08
         1 MiB                          !
        9 cells: 8 measured, 1 filled in, 1 noise, 1 not measured
        1 cell: the job ended before it was done (exit status: 1)

        thread-load: slowdown by computing threads
            size     0     1     2
         512 KiB  1.00  1.00  2.00
           2 MiB  1.00  1.00  2.00
        6 cells: 6 measured

        ratio: 0 perfect overlap, 1 one after the other, above that slower still; slowdown: times as long as without threads.
        `.` would be noise, `~` filled in from measured neighbours, `!` could not be measured.
        ");
    }

    #[test]
    fn of_many_columns_the_longest_and_every_other_are_shown() {
        let survey = fixture::survey(vec![fixture::map(Benchmark::Sender, fixture::serial)]);
        let text = text(&survey);
        let head = text
            .lines()
            .find(|line| line.contains("size"))
            .unwrap_or_default()
            .to_owned();
        assert!(head.contains("16.4 ms") && !head.contains("8.19 ms"), "{head}");
        assert!(text.contains("columns in between are in overlap.csv"), "{text}");
    }

    #[test]
    fn every_line_has_every_field() {
        let text = csv(&small());
        let columns = HEAD.trim_end().split(',').count();
        let mut rows = 0;
        for line in text.split("\r\n").filter(|line| !line.is_empty()) {
            let mut quoted = false;
            let commas = line.chars().filter(|c| {
                quoted ^= *c == '"';
                *c == ',' && !quoted
            });
            assert_eq!(commas.count() + 1, columns, "{line}");
            rows += 1;
        }
        assert_eq!(rows, 1 + 9 + 1 + 2 * 3);
        // Masked: the times are there, the ratio is not.
        assert!(text.contains(",1e0,ratio,,,,50,0,false,\r\n"), "{text}");
        assert!(
            text.contains("receiver,1048576,1024000,1,,,,,,,,,,,,,,\"the job ended"),
            "{text}"
        );
    }
}
