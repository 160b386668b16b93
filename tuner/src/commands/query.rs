//! `kilter query`: prints rows of the database.

use std::io::{BufWriter, IsTerminal as _};

use kilter_bench::store::Reader;
use kilter_report::query::{Filter, Form, Layout, What, write};

use super::Status;
use crate::cli::{Queried, Query, QueryFormat};
use crate::options;

pub(super) fn run(typed: &Query) -> anyhow::Result<Status> {
    let reader = Reader::open(&options::database::found(typed.db.as_deref())?)?;
    let what = match typed.what {
        Queried::Runs => What::Runs,
        Queried::Launches => What::Launches,
        Queried::Cells => What::Cells,
        Queried::Samples => What::Samples,
        Queried::Learnt => What::Learnt,
    };
    let form = match typed.format {
        QueryFormat::Text => Form::Text,
        QueryFormat::Csv => Form::Csv,
        QueryFormat::Json => Form::Json,
    };
    let filter = Filter {
        runs: typed.run.clone(),
        library: typed.library.clone(),
        guidelines: typed.guidelines.clone(),
        functions: typed.functions.clone(),
        sizes: typed.sizes.clone(),
        ranks: typed.ranks.clone(),
        verdicts: typed.verdict.clone(),
        since: typed.since.clone(),
        until: typed.until.clone(),
        host: typed.host.clone(),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let layout = Layout {
        form,
        columns: typed.columns.clone(),
        width: width_of_terminal(),
    };
    let written = write(&reader, what, &filter, &layout, &mut out)?;
    drop(out);
    if let (Some(width), false) = (layout.width, written.left_out.is_empty()) {
        eprintln!(
            "kilter: no room in {width} columns for: {}; choose with --columns NAMES, or take --format csv or json, or a pipe, which have all",
            written.left_out.join(", ")
        );
    }
    Ok(Status::Holds)
}

/// Columns of the terminal, if standard output is one: COLUMNS, or else the terminal's own number. A pipe or file has
/// no limit.
fn width_of_terminal() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    said.filter(|columns| *columns > 0)
        .or_else(|| terminal_size::terminal_size_of(out).map(|(width, _)| usize::from(width.0)))
        .filter(|columns| *columns > 0)
}
