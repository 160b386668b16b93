//! Algorithms that are chosen by a variable which the library reads when a job starts: each choice needs a launch, and one launch can
//! try a choice of every collective.

use kilter_algorithms::Collective;
use serde::Deserialize;

use super::{AlgorithmChoice, Algorithms, Library};

/// How a variable that is read at the start says which algorithm, and for which sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtStart {
    /// The form of its value.
    pub form: Form,
    /// What its ranges of sizes compare; without it, one choice is made for all sizes.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// The largest number that the library takes: those without a name in `choices` are candidates like the others.
    #[serde(default)]
    pub last: Option<u64>,
}

/// The form of a variable's value; [`crate::emit::ranged`] writes and reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// `ID:LOW-HIGH;ID:LOW-HIGH`.
    Intel,
    /// `ID:LOW-HIGH,ID:LOW-+`.
    Mvapich2,
}

impl Form {
    /// The number by which the library decides, where there is one: other sizes get it. A variable of either form replaces the library's
    /// choice at every size, on communicators of every size, so that they must get something.
    #[must_use]
    pub fn librarys_own(self) -> Option<u64> {
        match self {
            Form::Intel => Some(0),
            Form::Mvapich2 => None,
        }
    }
}

/// What a range of sizes compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// The bytes of the whole operation, which is what Kilter's volumes are.
    Total,
    /// The bytes of one rank's block.
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

/// More algorithms of a collective than any library has.
const MOST_NUMBERS: u64 = 1000;

impl Algorithms {
    /// Names the numbers up to the last one that have no name.
    ///
    /// # Errors
    /// More than any library has.
    pub(super) fn name_the_nameless(&mut self) -> Result<(), String> {
        let Some(last) = self.at_start.and_then(|at_start| at_start.last) else {
            return Ok(());
        };
        if last > MOST_NUMBERS {
            return Err(format!(
                "algorithms of {}: `at_start.last` is {last}; allowed: up to {MOST_NUMBERS}",
                self.collective
            ));
        }
        for value in 1..=last {
            if !self.choices.iter().any(|choice| choice.value == value) {
                self.choices.push(AlgorithmChoice {
                    value,
                    name: format!("preset {value}"),
                    knobs: Vec::new(),
                    ranks: None,
                    several_nodes: false,
                    even_ranks: false,
                    power_of_two_ranks: false,
                    selection: Vec::new(),
                    kilter: None,
                    verified: None,
                });
            }
        }
        self.choices.sort_by_key(|choice| choice.value);
        Ok(())
    }
}

impl Library {
    /// The algorithms of a collective, where a variable chooses them when a job starts.
    #[must_use]
    pub fn chosen_at_start(&self, collective: Collective) -> Option<(&Algorithms, AtStart)> {
        self.algorithms_of(collective)
            .and_then(|row| Some((row, row.at_start?)))
    }

    /// The collective whose algorithm a variable chooses.
    #[must_use]
    pub fn chosen_by(&self, variable: &str) -> Option<Collective> {
        let row = self.algorithms.iter().find(|row| row.parameter == variable)?;
        row.at_start.map(|_| row.collective)
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

    /// A number with a digit too many would be that many rows.
    #[test]
    fn no_library_has_more_algorithms_than_there_is_memory_for() {
        let line = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1";
        let intel = crate::config::library::find_for(line).unwrap();
        let mut row = intel.algorithms.into_iter().find(|row| row.at_start.is_some()).unwrap();
        row.at_start.as_mut().unwrap().last = Some(u64::MAX);
        let error = row.name_the_nameless().unwrap_err();
        assert!(error.contains("18446744073709551615; allowed: up to 1000"), "{error}");
    }
}
