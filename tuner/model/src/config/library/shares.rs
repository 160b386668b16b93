//! Counts how the rows of a description were verified.

use std::collections::BTreeMap;

use super::{AlgorithmChoice, Algorithms, Library, Verified};

/// Number of a description's rows by how they were verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shares {
    /// Rows by how they were verified.
    pub by: BTreeMap<Verified, usize>,
    /// Rows that do not say it.
    pub unsaid: usize,
}

impl Shares {
    /// Number of all rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.by.values().sum::<usize>() + self.unsaid
    }
}

impl Library {
    /// Tells how a choice of an algorithm was verified.
    #[must_use]
    pub fn choice_verified(&self, row: &Algorithms, choice: &AlgorithmChoice) -> Option<Verified> {
        choice
            .verified
            .or(row.verified)
            .or_else(|| self.verified.of(&row.parameter))
    }

    /// Parameters verified in this way, including those that choose algorithms.
    #[must_use]
    pub fn parameters_verified(&self, word: Verified) -> Vec<&str> {
        let choosing = self.algorithms.iter().map(|row| (&row.parameter, row.verified));
        let others = self.parameters.iter().map(|row| (&row.name, row.verified));
        choosing
            .chain(others)
            .filter(|(name, own)| own.or_else(|| self.verified.of(name)) == Some(word))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Counts the rows by how they were verified. A row is a parameter, or a single choice of an algorithm, since a
    /// number may stand for another algorithm than its name says.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let of_choices = self
            .algorithms
            .iter()
            .flat_map(|row| row.choices.iter().map(move |choice| self.choice_verified(row, choice)));
        let of_parameters = self
            .parameters
            .iter()
            .map(|row| row.verified.or_else(|| self.verified.of(&row.name)));
        let mut shares = Shares::default();
        for verified in of_choices.chain(of_parameters) {
            match verified {
                Some(word) => *shares.by.entry(word).or_default() += 1,
                None => shares.unsaid += 1,
            }
        }
        shares
    }
}

/// A mistake in the lists: a name that is no row, or stands in two lists.
pub(super) fn problem(library: &Library) -> Option<String> {
    let mut seen: BTreeMap<&str, Verified> = BTreeMap::new();
    for (word, list) in library.verified.lists() {
        for name in list {
            let is_row = library.parameters.iter().any(|row| row.name == *name)
                || library.algorithms.iter().any(|row| row.parameter == *name);
            if !is_row {
                return Some(format!(
                    "verified.{} names `{name}`, which is no parameter of this description; remove it, or correct its name",
                    word.word()
                ));
            }
            if let Some(other) = seen.insert(name, word) {
                return Some(format!(
                    "verified.{} names `{name}`, which stands in verified.{} as well; remove one",
                    word.word(),
                    other.word()
                ));
            }
        }
    }
    None
}
