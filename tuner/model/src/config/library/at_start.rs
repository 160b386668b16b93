//! Algorithms chosen by a variable that the library reads when a job starts. Each choice needs a launch, and one launch
//! can try a choice for every collective.

use serde::Deserialize;

/// Syntax in which a variable that is read at the start names algorithms and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtStart {
    /// The form of its value.
    pub form: Form,
    /// Unit of its ranges of sizes; without one, a single choice holds for all sizes.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// Largest number that the library takes. Numbers without a name in `choices` are candidates like the others.
    #[serde(default)]
    pub last: Option<u64>,
}

/// The form of a variable's value; [`crate::ranged`] writes and reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// `ID:LOW-HIGH;ID:LOW-HIGH`.
    Intel,
    /// `ID:LOW-HIGH,ID:LOW-+`.
    Mvapich2,
}

impl Form {
    /// Number that leaves the decision to the library, if there is one; other sizes get it. A variable of either form
    /// replaces the library's choice at every size, on communicators of every size, so that the other sizes need a
    /// number, too.
    #[must_use]
    pub fn librarys_own(self) -> Option<u64> {
        match self {
            Form::Intel => Some(0),
            Form::Mvapich2 => None,
        }
    }
}

/// Unit of a range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes of the whole operation, as Kilter's volumes.
    Total,
    /// Bytes of one rank's block.
    PerRank,
}

impl Unit {
    /// The range of the library's sizes for a range of volumes in bytes, both ends included.
    #[must_use]
    pub fn range(self, (low, high): (u64, u64), ranks: u64) -> (u64, u64) {
        match self {
            Unit::Total => (low, high),
            Unit::PerRank => {
                let low = low.div_ceil(ranks);
                (low, (high / ranks).max(low))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_ranks_share_of_the_volume() {
        assert_eq!(Unit::Total.range((91, 5792), 4), (91, 5792));
        assert_eq!(Unit::PerRank.range((91, 5792), 4), (23, 1448));
        // The measured volume itself stays inside where the range holds nothing else.
        assert_eq!(Unit::PerRank.range((8, 8), 4), (2, 2));
        assert_eq!(Unit::PerRank.range((5, 5), 4), (2, 2));
    }
}
