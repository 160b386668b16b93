//! The standing of a cell, and its verdicts in words.

use kilter_model::report::Cell;
use kilter_stats::verdict::{Comparison, Outcome};

/// Standing of a cell at the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Violated, and nothing deployed has changed that.
    Violated,
    /// Violated by what is deployed, not by the untouched library.
    Introduced,
    /// Violated before; with what is deployed the samples do not decide.
    Unproven,
    /// Violated before, holds with what is deployed.
    Fixed,
    /// The samples do not decide.
    Undecided,
    /// The machine changed while it was measured.
    Unstable,
    /// Looked at in the screening alone.
    Screened,
    /// Not measured with what is deployed, which may act on it.
    NotAgain,
    /// Holds.
    Holds,
}

impl Standing {
    /// Standing of a cell.
    pub fn of(cell: &Cell) -> Self {
        if cell.not_measured_again.is_some() {
            return Self::NotAgain;
        }
        let before = cell.before.verdict;
        let after = cell.after.as_ref().map(|after| after.verdict);
        match (before, after) {
            (Outcome::Violated, None | Some(Outcome::Violated)) => Self::Violated,
            (_, Some(Outcome::Violated)) => Self::Introduced,
            (Outcome::Violated, Some(Outcome::Holds)) => Self::Fixed,
            (Outcome::Violated, Some(_)) => Self::Unproven,
            _ => match after.unwrap_or(before) {
                Outcome::Holds => Self::Holds,
                Outcome::Undecided => Self::Undecided,
                Outcome::Unstable => Self::Unstable,
                Outcome::Screened => Self::Screened,
                Outcome::Violated => Self::Violated,
            },
        }
    }

    /// One character for tables; each is distinct without colour.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Violated => "●",
            Self::Introduced => "▲",
            Self::Unproven => "◐",
            Self::Fixed => "○",
            Self::Undecided => "?",
            Self::Unstable => "~",
            Self::Screened => "-",
            Self::NotAgain => "◌",
            Self::Holds => "·",
        }
    }

    /// The state in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Introduced => "violated only after tuning",
            Self::Unproven => "violated before, undecided after",
            Self::Fixed => "violated before, holds after",
            Self::Undecided => "undecided",
            Self::Unstable => "unstable",
            Self::Screened => "screened, not confirmed",
            Self::NotAgain => "not measured again",
            Self::Holds => "holds",
        }
    }

    /// True if the cell is violated with what is deployed, or with the untouched library if nothing is.
    pub fn remains(self) -> bool {
        matches!(self, Self::Violated | Self::Introduced)
    }
}

/// A verdict in the words of `report.json`.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Violated => "violated",
        Outcome::Undecided => "undecided",
        Outcome::Unstable => "unstable",
        Outcome::Screened => "screened",
    }
}

/// Nothing is known of a cell that was not measured again, neither a verdict nor a number.
static NOT_KNOWN: Comparison = Comparison {
    verdict: Outcome::Screened,
    ratio: f64::NAN,
    ratio_ci: (f64::NAN, f64::NAN),
    p: f64::NAN,
    p_adjusted: f64::NAN,
    seconds: f64::NAN,
    right_seconds: f64::NAN,
    left_medians: Vec::new(),
    right_medians: Vec::new(),
};

/// The comparison that describes the cell now: after tuning if there is one, and before it if nothing that is deployed acts on the cell.
pub fn current(cell: &Cell) -> &Comparison {
    match (&cell.after, &cell.not_measured_again) {
        (Some(after), _) => after,
        (None, Some(_)) => &NOT_KNOWN,
        (None, None) => &cell.before,
    }
}

/// True if the cell was violated, and was not measured again although what is deployed may act on it.
pub fn is_left(cell: &Cell) -> bool {
    cell.not_measured_again.is_some() && cell.before.verdict == Outcome::Violated
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn every_pair_of_verdicts_has_one_standing() {
        use Outcome::{Holds, Undecided, Unstable, Violated};
        let report = fixture::tuned();
        let mut cell = report.cells[0].clone();
        let mut standing = |before, after: Option<Outcome>| {
            cell.before.verdict = before;
            cell.after = after.map(|verdict| Comparison {
                verdict,
                ..cell.before.clone()
            });
            Standing::of(&cell)
        };
        assert_eq!(standing(Violated, None), Standing::Violated);
        assert_eq!(standing(Violated, Some(Violated)), Standing::Violated);
        assert_eq!(standing(Holds, Some(Violated)), Standing::Introduced);
        assert_eq!(standing(Undecided, Some(Violated)), Standing::Introduced);
        assert_eq!(standing(Violated, Some(Holds)), Standing::Fixed);
        assert_eq!(standing(Violated, Some(Unstable)), Standing::Unproven);
        assert_eq!(standing(Undecided, None), Standing::Undecided);
        assert_eq!(standing(Undecided, Some(Holds)), Standing::Holds);
        assert_eq!(standing(Holds, Some(Unstable)), Standing::Unstable);
        cell.not_measured_again = Some("the budget ended".to_owned());
        for before in [Violated, Holds] {
            (cell.before.verdict, cell.after) = (before, None);
            assert_eq!(Standing::of(&cell), Standing::NotAgain);
            assert_eq!(current(&cell).verdict, Outcome::Screened, "neither violated nor held");
            assert_eq!(is_left(&cell), before == Violated);
        }
    }
}
