//! The rows of what is asked for, page by page.

use std::io::Write;

use kilter_bench::store::Reader;
use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::fit::Columns;
use super::output::{Layout, Printer};
use super::what::What;
use super::{Filter, QueryError};

/// Rows read at once. A row of samples may hold thousands of values; they are unpacked one row after the other.
const PAGE: i64 = 250;

/// Account of the rows that were written.
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
