//! Words and numbers that several sections have.

use kilter_model::report::{Cell, FixKind};
use kilter_render::format;
use kilter_stats::verdict::Comparison;

use crate::summary::Standing;

/// A time for the page.
pub(crate) fn time(seconds: f64) -> String {
    format::seconds(seconds).replace("us", "µs")
}

/// A guideline's text for the page.
pub(crate) fn typeset(expression: &str) -> String {
    expression.replace("<=", "⪯")
}

/// The kind of a change or candidate, in words.
pub(crate) fn kind_words(kind: FixKind) -> &'static str {
    match kind {
        FixKind::Parameter => "parameter",
        FixKind::Mockup => "mock-up",
        FixKind::Algorithm => "algorithm",
    }
}

/// The parts of an id, each cut behind its equals sign, where a narrow page may break the line.
pub(crate) fn settings(id: &str) -> Vec<(String, String)> {
    id.split_whitespace()
        .map(|part| part.split_at(part.find('=').map_or(part.len(), |at| at + 1)))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The size, and that of the right side where it differs.
pub(crate) fn sizes(cell: &Cell) -> String {
    match cell.right_bytes {
        Some(right) => format!("{} : {}", format::bytes(cell.bytes), format::bytes(right)),
        None => format::bytes(cell.bytes),
    }
}

/// A ratio with its interval.
pub(crate) fn effect(comparison: &Comparison) -> String {
    format!(
        "{} {}",
        format::ratio(comparison.ratio),
        format::interval(comparison.ratio_ci)
    )
}

/// Words for a cell that has no comparison after.
pub(crate) fn unmeasured(cell: &Cell) -> &'static str {
    match cell.not_measured_again {
        Some(_) => Standing::NotAgain.words(),
        None => "not measured",
    }
}

/// `MPI_Reduce of 4 KiB`.
pub(crate) fn call_at(function: &str, bytes: u64) -> String {
    format!("{} of {}", format::function(function), format::bytes(bytes))
}

/// A factor for a sentence: `3.8`, and two decimals where the first one says nothing: `1.07`.
pub(crate) fn factor(factor: f64) -> String {
    if (1.2..9.95).contains(&factor) {
        format!("{factor:.1}")
    } else {
        format::ratio(factor)
    }
}
