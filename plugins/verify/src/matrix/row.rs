//! A row of the matrix: the values that it is run with, and counts of its runs.

use std::collections::BTreeMap;

use kilter_host::plugins::Callable;
use kilter_protocol::row::Row;
use kilter_protocol::verifying::Bits;

use super::Place;
use super::calls::Posed;
use crate::case::{Case, Values, values};
use crate::inside;
use crate::operators::OPERATORS;

/// Failures of a row after which it is not run any more.
const ENOUGH: u64 = 10;

/// A row with the values that it is run with beside its defaults.
pub(crate) struct Chosen<'a> {
    pub(crate) callable: &'a Callable,
    pub(crate) further: Vec<Vec<u64>>,
}

impl Chosen<'_> {
    pub(super) fn row(&self) -> &Row {
        &self.callable.row
    }

    /// Reason why the row cannot run the case on any rank.
    pub(super) fn exclusion(&self, case: &Case) -> Option<&'static str> {
        let commutes = case.op.is_none_or(|op| OPERATORS[op].operator.is_commutative());
        (self.row().needs.commutative && !commutes).then_some("its operator must commute")
    }

    /// Reason why a drop-in would not call the row on this rank. The halves of a split decide each for themselves.
    pub(super) fn obstacle(&self, posed: &Posed<'_>, place: &Place) -> Option<&'static str> {
        let Posed {
            collective,
            case,
            problem,
            ..
        } = *posed;
        let (needs, p) = (self.row().needs, place.size);
        let is_the_programs = case.op.is_some_and(|op| !OPERATORS[op].predefined);
        if problem.volume == Some(0) && collective.has_data() {
            Some("no data is moved")
        } else if needs.power_of_two_ranks && !p.is_power_of_two() {
            Some("its number of ranks must be a power of two")
        } else if needs.even_ranks && !p.is_multiple_of(2) {
            Some("its number of ranks must be even")
        } else if needs.predefined_operator && is_the_programs && !case.count.is_multiple_of(p) {
            Some("it pads, which an operator of the program's must not see")
        } else if needs.one_node && !place.one_node {
            Some("all ranks must be on one node")
        } else {
            None
        }
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
    /// Reason why the row is not run any more.
    pub(super) fn exhaustion(&self) -> Option<&'static str> {
        (self.failed >= ENOUGH).then_some("it had failed often enough")
    }

    pub(super) fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }
}

/// The runs of a row in a case: with each of its settings, and of one that is made of collectives with rows inside as well.
pub(super) fn runs_of(case: &Case, chosen: &Chosen<'_>) -> Vec<Case> {
    let settings = values(case, !chosen.row().parameters.is_empty(), &chosen.further);
    let of_setting = |values: Values| Case { values, ..case.clone() };
    let mut runs: Vec<Case> = settings.into_iter().map(of_setting).collect();
    if inside::is_composed(&chosen.row().id) && !case.inside && !case.random {
        let with_rows = runs.clone().into_iter().map(|run| Case { inside: true, ..run });
        runs.extend(with_rows);
    }
    runs
}
