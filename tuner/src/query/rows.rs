//! What can be asked for, and the rows of it, page by page.

use std::io::Write;

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::fit::Columns;
use super::output::{Layout, Printer};
use super::{Filter, QueryError};
use crate::store::Reader;

/// Rows read at once. A row of samples may hold thousands of values; they are unpacked one row after the other.
const PAGE: i64 = 250;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A line per run.
    Runs,
    /// A line per launch.
    Launches,
    /// A line per cell and phase.
    Cells,
    /// A line per repetition.
    Samples,
}

/// Columns of samples; the last is unpacked into two, `repetition` (from 1) and `seconds`.
const SAMPLE_COLUMNS: [&str; 13] = [
    "run", "launch", "key", "attempt", "time", "library", "ranks", "seed", "block", "item", "function", "bytes",
    "seconds",
];

impl What {
    /// As it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            What::Runs => "runs",
            What::Launches => "launches",
            What::Cells => "cells",
            What::Samples => "samples",
        }
    }

    fn view(self) -> &'static str {
        match self {
            What::Runs => "runs_view",
            What::Launches => "launches_view",
            What::Cells => "verdicts_view",
            What::Samples => "samples_view",
        }
    }

    /// The columns that a narrow terminal does without, the first of them first; of the others the last go first.
    fn least_important(self) -> &'static [&'static str] {
        match self {
            What::Runs => &[
                "command_line",
                "library_string",
                "library",
                "kilter_version",
                "seed",
                "hosts",
                "samples",
                "finished",
            ],
            What::Launches => &[
                "command_line",
                "environment",
                "parameters",
                "library",
                "clock_tick_seconds",
                "seed",
                "hosts",
                "ranks",
                "started",
                "attempt",
            ],
            What::Cells => &[
                "library",
                "started",
                "right_launches",
                "kind",
                "p",
                "right_bytes",
                "launches",
                "ranks",
                "function",
                "fix",
                "run",
                "right_seconds",
                "seconds",
                "p_adjusted",
                "ratio_high",
                "ratio_low",
                "phase",
            ],
            What::Samples => &[
                "library", "seed", "time", "key", "attempt", "block", "ranks", "run", "launch", "function", "bytes",
            ],
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            What::Runs => &[
                "id",
                "started",
                "finished",
                "command",
                "library",
                "library_string",
                "hosts",
                "ranks",
                "seed",
                "launches",
                "samples",
                "cells",
                "kilter_version",
                "command_line",
            ],
            What::Launches => &[
                "id",
                "run",
                "key",
                "attempt",
                "outcome",
                "started",
                "seconds",
                "library",
                "hosts",
                "ranks",
                "seed",
                "parameters",
                "environment",
                "clock_tick_seconds",
                "command_line",
            ],
            What::Cells => &[
                "run",
                "started",
                "library",
                "ranks",
                "phase",
                "guideline",
                "expression",
                "kind",
                "function",
                "bytes",
                "right_bytes",
                "verdict",
                "ratio",
                "ratio_low",
                "ratio_high",
                "p",
                "p_adjusted",
                "seconds",
                "right_seconds",
                "launches",
                "right_launches",
                "fix",
            ],
            What::Samples => &SAMPLE_COLUMNS,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Rows, or repetitions.
    pub lines: u64,
    /// Columns for which a line had no room.
    pub left_out: Vec<String>,
}

/// Writes every row that passes the filter.
///
/// # Errors
/// A filter or column that is refused, the database, the output.
pub fn write(
    reader: &Reader,
    what: What,
    filter: &Filter,
    layout: &Layout,
    out: &mut dyn Write,
) -> Result<Written, QueryError> {
    let conditions = filter.conditions(what, reader)?;
    let columns = what.columns();
    let sql = format!(
        "SELECT id, {} FROM {} WHERE id > ?{} ORDER BY id LIMIT {PAGE}",
        columns.join(", "),
        what.view(),
        conditions.sql,
    );
    let mut heads: Vec<&str> = columns.to_vec();
    if what == What::Samples {
        heads.insert(heads.len() - 1, "repetition");
    }
    let shown = Columns::of(what, &heads, &layout.columns, layout.width)?;
    let mut printer = Printer::new(layout.form, heads, shown, what.least_important(), out);
    printer.begin()?;
    let mut after = 0_i64;
    let mut lines = 0_u64;
    let mut rows = Vec::new();
    loop {
        let page = page(reader, &sql, after, &conditions.values, columns.len())?;
        let Some((last, _)) = page.last() else { break };
        if *last <= after {
            // Each page would come for ever.
            return Err(reader.damaged(format!("row {last} comes after row {after}")).into());
        }
        after = *last;
        if what == What::Samples {
            printer.foresee(page.iter().map(|(_, row)| &row[..row.len() - 1]));
        }
        for (id, mut row) in page {
            lines += match (what, row.last()) {
                (What::Samples, Some(Value::Blob(bytes))) => {
                    let seconds = reader.unpack(bytes, format_args!("samples.seconds of row {id}"))?;
                    row.pop();
                    printer.repetitions(&row, &seconds)?;
                    seconds.len() as u64
                }
                _ => {
                    rows.push(row);
                    1
                }
            };
        }
        printer.page(&rows)?;
        rows.clear();
    }
    let left_out = printer.end()?;
    Ok(Written { lines, left_out })
}

type Row = Vec<Value>;

fn page(
    reader: &Reader,
    sql: &str,
    after: i64,
    values: &[Value],
    columns: usize,
) -> Result<Vec<(i64, Row)>, QueryError> {
    let context = || reader.context("read rows");
    let mut statement = reader.connection().prepare_cached(sql).map_err(context())?;
    let parameters = std::iter::once(Value::from(after)).chain(values.iter().cloned());
    let rows = statement
        .query_map(params_from_iter(parameters), |row| {
            let values: Result<Row, _> = (1..=columns).map(|column| row.get(column)).collect();
            Ok((row.get(0)?, values?))
        })
        .and_then(Iterator::collect)
        .map_err(context())?;
    Ok(rows)
}
