//! A guideline at one size: the two sides that are compared.

use kilter_algorithms::Collective;

use super::subject::Subject;
use crate::config::guideline::Kind;

/// One guideline at one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCell {
    /// Guideline id.
    pub guideline: String,
    /// Its kind.
    pub kind: Kind,
    /// The function that the left side is named after, such as `reduce` or `isend`.
    pub function: String,
    /// The guideline for this cell, as text.
    pub expression: String,
    /// Requested volume in bytes.
    pub bytes: u64,
    /// The side that should not be slower.
    pub left: Subject,
    /// The side that bounds it.
    pub right: Subject,
}

impl PlannedCell {
    /// Name for people: `GL8 reduce 4096`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.guideline, self.target())
    }

    /// The call that has to become faster if the cell is violated: `reduce 4096`.
    #[must_use]
    pub fn target(&self) -> String {
        target_name(&self.function, self.left.bytes)
    }
}

/// Name for people of a function at a total volume in bytes: `reduce 4096`.
#[must_use]
pub fn target_name(function: &str, bytes: u64) -> String {
    format!("{function} {bytes}")
}

/// A monotony cell: a function at one volume against itself at a larger one.
#[must_use]
pub fn monotony_cell(guideline: &str, collective: Collective, small: u64, large: u64) -> PlannedCell {
    PlannedCell {
        guideline: guideline.to_owned(),
        kind: Kind::Monotony,
        function: collective.name().to_owned(),
        expression: format!("{collective}({small}) <= {collective}({large})"),
        bytes: small,
        left: Subject::library(collective, small),
        right: Subject::library(collective, large),
    }
}

/// A split cell: `left(n)` against `k` calls of `m` bytes.
#[must_use]
pub fn split_cell(guideline: &str, collective: Collective, n_bytes: u64, m_bytes: u64) -> PlannedCell {
    let k = n_bytes.div_ceil(m_bytes);
    PlannedCell {
        guideline: guideline.to_owned(),
        kind: Kind::Split,
        function: collective.name().to_owned(),
        expression: format!("{collective}({n_bytes}) <= {k} * {collective}({m_bytes})"),
        bytes: n_bytes,
        left: Subject::library(collective, n_bytes),
        right: Subject {
            task: collective.into(),
            text: format!("{k} * {collective}(n)"),
            bytes: m_bytes,
        },
    }
}
