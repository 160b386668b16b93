//! The matrix's result for a row: the numbers of runs compared, skipped and wrong.

use std::collections::BTreeMap;

use kilter_protocol::verifying::Bits;
use serde::Serialize;

/// A run that was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The case.
    pub case: String,
    /// The fault, and its rank.
    pub reason: String,
}

/// A row on a number of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The row's id.
    pub row: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Runs that were compared with the reference; one that ended its job was.
    pub cases: u64,
    /// Number of wrong runs among these.
    pub failed: u64,
    /// Planned runs that were not made, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first failures.
    pub failures: Vec<Failure>,
    /// Runs on random doubles.
    pub bits: Bits,
}

/// The judgement of a row by its [`Outcome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// At least one run was compared, and none was wrong.
    Passed,
    /// No run was compared: nothing is known.
    NothingCompared,
    /// A run was wrong.
    Failed,
}

impl Judgement {
    /// Judges by the numbers of runs.
    #[must_use]
    pub fn of(compared: u64, failed: u64) -> Judgement {
        match (compared, failed) {
            (_, 1..) => Judgement::Failed,
            (0, 0) => Judgement::NothingCompared,
            (1.., 0) => Judgement::Passed,
        }
    }

    /// The judgement's text for people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Judgement::Passed => "passed",
            Judgement::NothingCompared => "nothing compared",
            Judgement::Failed => "failed",
        }
    }
}

impl Outcome {
    /// The judgement of the row.
    #[must_use]
    pub fn judgement(&self) -> Judgement {
        Judgement::of(self.cases, self.failed)
    }
}

/// Runs that were not made, for people: `12 (no data is moved), 3 (its operator must commute)`.
#[must_use]
pub fn skipped_text(skipped: &BTreeMap<String, u64>) -> String {
    let of = |(reason, runs): (&String, &u64)| format!("{runs} ({reason})");
    skipped.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// The result on random doubles, for people: `equal`, or the number that left other bits; `-` if nothing is combined.
#[must_use]
pub fn bits_text(bits: &Bits) -> String {
    match (bits.compared, bits.other) {
        (0, _) => "-".to_owned(),
        (_, 0) => "equal".to_owned(),
        (compared, other) => format!("other in {other} of {compared}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Judgement;

    #[test]
    fn a_row_of_which_nothing_was_compared_has_not_passed() {
        assert_eq!(Judgement::of(0, 0), Judgement::NothingCompared);
        assert_eq!(Judgement::of(3, 0), Judgement::Passed);
        assert_eq!(Judgement::of(3, 1), Judgement::Failed);
    }
}
