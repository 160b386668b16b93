//! A row of the matrix: the values that it is run with, and counts of its runs.

use std::collections::BTreeMap;

use kilter_host::plugins::Callable;
use kilter_protocol::row::Row;
use kilter_protocol::verifying::Bits;

use crate::case::{Case, Values, values};

/// Failures of a row after which it is not run any more.
pub(super) const ENOUGH: u64 = 10;

/// A row with the values that it is run with beside its defaults.
pub(crate) struct Chosen<'a> {
    pub(crate) callable: &'a Callable,
    pub(crate) further: Vec<Vec<u64>>,
}

impl Chosen<'_> {
    pub(super) fn row(&self) -> &Row {
        &self.callable.row
    }
}

/// Counts of a row's runs by outcome.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Runs compared with the reference.
    pub(super) compared: u64,
    /// Runs with wrong results.
    pub(super) failed: u64,
    /// Runs that were not made, by reason.
    pub(super) skipped: BTreeMap<&'static str, u64>,
    /// Runs on random doubles.
    pub(super) bits: Bits,
}

impl Tally {
    pub(super) fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }
}

/// The settings of a row in a case.
pub(super) fn of_row(case: &Case, chosen: &Chosen<'_>) -> Vec<Values> {
    values(case, !chosen.row().parameters.is_empty(), &chosen.further)
}
