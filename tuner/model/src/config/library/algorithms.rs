//! Algorithms of a library's collectives, as a description has them: the choosing parameter, the choices, and their
//! knobs.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use serde::Deserialize;

use super::{AtStart, Library, Placement, Scale, Verified};

/// The algorithms of one collective.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithms {
    /// The collective.
    #[serde(deserialize_with = "crate::config::collective_name::deserialize")]
    pub collective: Collective,
    /// The parameter that chooses; knobs are `<parameter>_<knob>`.
    pub parameter: String,
    /// Number of the collective in a rules file, if the library has such files.
    #[serde(default)]
    pub rules_id: Option<u64>,
    /// True if rules may switch it on message size. If not, that would take ranks apart or compare another quantity.
    #[serde(default)]
    pub size_switch: bool,
    /// Test of a selection file that compares the volume, if the library has such files and may switch on size.
    #[serde(default)]
    pub size_test: Option<String>,
    /// True if no running job can write the parameter, which could be read when a job starts alone.
    #[serde(default)]
    pub constant: bool,
    /// Syntax of the variable, if the library reads it when a job starts.
    #[serde(default)]
    pub at_start: Option<AtStart>,
    /// Settings made along with it, without which the library does not ask for the choice.
    #[serde(default)]
    pub together: BTreeMap<String, String>,
    /// Placement of ranks in which it acts; without one it always acts.
    #[serde(default)]
    pub placement: Option<Placement>,
    /// Verification of its choices, if it differs from that of all rows.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// The values.
    #[serde(default)]
    pub choices: Vec<AlgorithmChoice>,
    /// Every knob.
    #[serde(default)]
    pub knobs: BTreeMap<String, Knob>,
}

/// One value of an algorithm parameter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmChoice {
    /// The number.
    pub value: u64,
    /// The library's name for it.
    pub name: String,
    /// The knobs it listens to.
    #[serde(default)]
    pub knobs: Vec<String>,
    /// Only number of ranks on which it runs.
    #[serde(default)]
    pub ranks: Option<usize>,
    /// True if it runs only on several nodes, some of them with several ranks.
    #[serde(default)]
    pub several_nodes: bool,
    /// True if it runs only on an even number of ranks.
    #[serde(default)]
    pub even_ranks: bool,
    /// True if it runs only on a power of two of ranks.
    #[serde(default)]
    pub power_of_two_ranks: bool,
    /// True if it combines in another order than that of the ranks, and the library runs it for any operator that a program has: for one that does not
    /// commute, its results are wrong.
    #[serde(default)]
    pub commutative: bool,
    /// Parameters that a selection file must give with it, because the library would take them as 0.
    #[serde(default)]
    pub selection: Vec<String>,
    /// Kilter's row of the same algorithm, with which `kilter benchmark --same` compares it.
    #[serde(default)]
    pub kilter: Option<String>,
    /// Verification of the choice, if it differs from that of its row.
    #[serde(default)]
    pub verified: Option<Verified>,
}

/// An ordered knob of an algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// The library's default.
    pub default: u64,
    /// Smallest value worth trying.
    pub min: u64,
    /// Largest value worth trying.
    pub max: u64,
    /// Spacing.
    pub scale: Scale,
    /// Unit.
    pub unit: String,
    /// Column of the rules file that carries it; without one it acts on every size at once and is not searched.
    #[serde(default)]
    pub column: Option<Column>,
}

/// A column of a rules file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// Bytes of a segment.
    Segment,
    /// Fan-out of a tree, or number of chains.
    Fan,
    /// Requests in flight at most; only some releases have it, see [`RulesFile`](super::RulesFile).
    Requests,
}

impl Algorithms {
    /// The choices that can be made and run on this number of ranks.
    pub fn choices_on(&self, ranks: usize) -> impl Iterator<Item = &AlgorithmChoice> {
        self.choices.iter().filter(move |choice| {
            !self.constant
                && choice.ranks.is_none_or(|only| only == ranks)
                && (!choice.even_ranks || ranks.is_multiple_of(2))
                && (!choice.power_of_two_ranks || ranks.is_power_of_two())
        })
    }

    /// Settings that make a choice.
    #[must_use]
    pub fn settings(&self, choice: &AlgorithmChoice) -> Vec<(String, String)> {
        let own = std::iter::once((self.parameter.clone(), choice.value.to_string()));
        own.chain(self.together.clone()).collect()
    }
}

/// Limit of numbers, above every library's.
const MOST_NUMBERS: u64 = 1000;

/// More numbers than any library has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("algorithms of {collective}: `at_start.last` is {last}; allowed: up to {MOST_NUMBERS}")]
pub(super) struct ManyNumbers {
    collective: Collective,
    last: u64,
}

impl Algorithms {
    /// Names the unnamed numbers up to the last one. An error if there are more than any library has.
    pub(super) fn name_the_nameless(&mut self) -> Result<(), ManyNumbers> {
        let Some(last) = self.at_start.and_then(|at_start| at_start.last) else {
            return Ok(());
        };
        if last > MOST_NUMBERS {
            let collective = self.collective;
            return Err(ManyNumbers { collective, last });
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
                    commutative: false,
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
    /// The algorithm that a selection's settings choose for a collective.
    #[must_use]
    pub fn choice_of(&self, collective: Collective, settings: &[(String, String)]) -> Option<&AlgorithmChoice> {
        let row = self.algorithms_of(collective)?;
        let value = settings.iter().find(|(name, _)| *name == row.parameter)?.1.parse();
        let value: u64 = value.ok()?;
        row.choices.iter().find(|choice| choice.value == value)
    }

    /// Forgets the algorithms that are wrong for operators that do not commute.
    pub fn keep_those_for_any_operator(&mut self) {
        for row in &mut self.algorithms {
            row.choices.retain(|choice| !choice.commutative);
        }
    }

    /// Algorithms of a collective, if a variable chooses them when a job starts.
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
    /// A mistyped number with one digit too many would otherwise make that many rows.
    #[test]
    fn no_library_has_more_algorithms_than_there_is_memory_for() {
        let line = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1";
        let intel = crate::config::library::find_for(line).unwrap();
        let mut row = intel.algorithms.into_iter().find(|row| row.at_start.is_some()).unwrap();
        row.at_start.as_mut().unwrap().last = Some(u64::MAX);
        let error = row.name_the_nameless().unwrap_err();
        assert!(error.to_string().ends_with("18446744073709551615; allowed: up to 1000"));
    }
}
