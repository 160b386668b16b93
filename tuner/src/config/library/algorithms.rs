//! The algorithms of a library's collectives, as a description has them: what chooses, what can be chosen, which knobs it has.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use serde::Deserialize;

use super::{AtStart, Placement, Scale, Verified};

/// The algorithms of one collective.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithms {
    /// The collective.
    #[serde(deserialize_with = "crate::config::collective_name::deserialize")]
    pub collective: Collective,
    /// The parameter that chooses; knobs are `<parameter>_<knob>`.
    pub parameter: String,
    /// The collective's number in a rules file, where the library has such files.
    #[serde(default)]
    pub rules_id: Option<u64>,
    /// Whether rules may switch it on message size without taking ranks apart or comparing something else.
    #[serde(default)]
    pub size_switch: bool,
    /// The test of a selection file that compares the volume, where the library has such files and may switch on size.
    #[serde(default)]
    pub size_test: Option<String>,
    /// The variable is read when a job starts, and in this form.
    #[serde(default)]
    pub at_start: Option<AtStart>,
    /// What must be set along with it so that the choice is asked for at all.
    #[serde(default)]
    pub together: BTreeMap<String, String>,
    /// Where the ranks must lie for it to act; everywhere if it does not say.
    #[serde(default)]
    pub placement: Option<Placement>,
    /// How its choices were verified, where the description does not say it for all.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// The values.
    #[serde(default)]
    pub choices: Vec<AlgorithmChoice>,
    /// All knobs there are.
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
    /// It runs on exactly this number of ranks.
    #[serde(default)]
    pub ranks: Option<usize>,
    /// It runs where ranks are on several nodes, some of them with several ranks.
    #[serde(default)]
    pub several_nodes: bool,
    /// It runs on an even number of ranks.
    #[serde(default)]
    pub even_ranks: bool,
    /// It runs on a power of two of ranks.
    #[serde(default)]
    pub power_of_two_ranks: bool,
    /// What a selection file must say with it: parameters that the library would take as 0 else.
    #[serde(default)]
    pub selection: Vec<String>,
    /// Kilter's row of the same algorithm: `kilter benchmark --same` compares the two.
    #[serde(default)]
    pub kilter: Option<String>,
    /// How it was verified, where it was otherwise than its row.
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
    /// Requests in flight at most; not every release has it, see [`RulesFile`](super::RulesFile).
    Requests,
}

impl Algorithms {
    /// The choices that run on this number of ranks.
    pub fn choices_on(&self, ranks: usize) -> impl Iterator<Item = &AlgorithmChoice> {
        self.choices.iter().filter(move |choice| {
            choice.ranks.is_none_or(|only| only == ranks)
                && (!choice.even_ranks || ranks.is_multiple_of(2))
                && (!choice.power_of_two_ranks || ranks.is_power_of_two())
        })
    }

    /// What must be set for a choice.
    #[must_use]
    pub fn settings(&self, choice: &AlgorithmChoice) -> Vec<(String, String)> {
        let own = std::iter::once((self.parameter.clone(), choice.value.to_string()));
        own.chain(self.together.clone()).collect()
    }
}
