//! `kilter query`: what the database has.

use std::io::BufWriter;

use super::Status;
use crate::cli::{Queried, Query, QueryFormat};
use crate::query::{Filter, Form, What, write};
use crate::store::Reader;

pub(super) fn run(typed: &Query) -> anyhow::Result<Status> {
    let reader = Reader::open(&typed.db)?;
    let what = match typed.what {
        Queried::Runs => What::Runs,
        Queried::Launches => What::Launches,
        Queried::Cells => What::Cells,
        Queried::Samples => What::Samples,
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
    write(&reader, what, &filter, form, &mut out)?;
    Ok(Status::Holds)
}
