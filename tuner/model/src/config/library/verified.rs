//! Records how the rows of a description were verified. A description that was never run must not look like one that
//! was.
//!
//! * `verified = "WORD"` in a row, or in a choice of an algorithm where it differs from its row;
//! * `[verified]` at the top: `rows` is the word of all rows that have none, and a list under each word names rows by their parameter, those
//!   that come from another description among them;
//! * `against` there lists the versions of the real library with which Kilter ran jobs; a description without any was never run.
//!
//! A description that is `like` another one does not take over the word `verified`: the rows were verified with the
//! other library.

use serde::{Deserialize, Serialize};

/// Way in which a row was verified, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// A job ran with it, and what it did was seen.
    Run,
    /// The library prints it: its name, and its default or its values.
    Printed,
    /// Its source was read.
    Source,
    /// Its documentation says so.
    Documentation,
}

impl Verified {
    /// Every way, the strongest first.
    pub const ALL: [Verified; 4] = [
        Verified::Run,
        Verified::Printed,
        Verified::Source,
        Verified::Documentation,
    ];

    /// Word in the description.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verified::Run => "run",
            Verified::Printed => "printed",
            Verified::Source => "source",
            Verified::Documentation => "documentation",
        }
    }
}

/// Verification of the rows that do not say it themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedRows {
    /// Word for all rows that no list names.
    #[serde(default)]
    pub rows: Option<Verified>,
    /// Versions of the real library with which Kilter ran jobs; none if it never did.
    #[serde(default)]
    pub against: Vec<String>,
    /// Names of parameters.
    #[serde(default)]
    pub run: Vec<String>,
    /// Names of parameters.
    #[serde(default)]
    pub printed: Vec<String>,
    /// Names of parameters.
    #[serde(default)]
    pub source: Vec<String>,
    /// Names of parameters.
    #[serde(default)]
    pub documentation: Vec<String>,
}

impl VerifiedRows {
    pub(super) fn lists(&self) -> [(Verified, &[String]); 4] {
        Verified::ALL.map(|word| {
            let list = match word {
                Verified::Run => &self.run,
                Verified::Printed => &self.printed,
                Verified::Source => &self.source,
                Verified::Documentation => &self.documentation,
            };
            (word, list.as_slice())
        })
    }

    /// Verification of a parameter without a word of its own.
    pub(in crate::config) fn of(&self, parameter: &str) -> Option<Verified> {
        self.listed(parameter).or(self.rows)
    }

    /// Verification of a shared transport's parameter, of which its file says `word`: what was printed by the transport's program is no evidence
    /// on a library that was only read about.
    pub(super) fn of_shared(&self, parameter: &str, word: Option<Verified>) -> Option<Verified> {
        self.listed(parameter).or_else(|| word.max(self.rows))
    }

    fn listed(&self, parameter: &str) -> Option<Verified> {
        let named = |(_, list): &(Verified, &[String])| list.iter().any(|name| name == parameter);
        self.lists().into_iter().find(named).map(|(word, _)| word)
    }
}
