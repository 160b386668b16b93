//! Evidence that forcing the library's algorithms acts on a cell, or does not.

use std::collections::BTreeSet;

use kilter_model::deployment::Selection;

/// Fewer algorithms may send the same messages (pairwise and linear alltoallv do).
const LEAST_FORCED: usize = 3;
/// Least ranks for a proof: on fewer, trees, chains and direct messages are the same.
const LEAST_RANKS: usize = 4;

/// Evidence that forcing the library's algorithms acts on a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Choosing one changes the messages.
    Acts {
        /// Algorithms that were forced.
        forced: usize,
        /// Number of different message patterns, the default's included.
        kinds: usize,
    },
    /// All algorithms send the same.
    NoEffect {
        /// Algorithms that were forced.
        forced: usize,
    },
    /// It cannot be told; the reason.
    Unknown(String),
}

impl Finding {
    /// The finding from the messages of the default and of each forced algorithm.
    #[must_use]
    pub fn of(default: Option<&str>, forced: &[String], ranks: usize) -> Finding {
        let kinds: BTreeSet<&str> = forced.iter().map(String::as_str).chain(default).collect();
        if forced.is_empty() || default.is_none() {
            return Finding::Unknown("nothing was counted for this cell".to_owned());
        }
        let (forced, kinds) = (forced.len(), kinds.len());
        if kinds > 1 {
            Finding::Acts { forced, kinds }
        } else if forced >= LEAST_FORCED && ranks >= LEAST_RANKS {
            Finding::NoEffect { forced }
        } else {
            Finding::Unknown(format!(
                "{forced} algorithm(s) on {ranks} ranks send the same messages, as they may"
            ))
        }
    }

    /// False for a choice among the library's algorithms if forcing them has no effect.
    #[must_use]
    pub fn credits(&self, selection: &Selection) -> bool {
        !matches!((self, selection), (Finding::NoEffect { .. }, Selection::Settings(_)))
    }

    /// The finding's text in reports.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Finding::Acts { forced, kinds } => format!(
                "proven by messages: the library's {forced} algorithms, forced in turn, and its own choice send {kinds} different \
                 patterns"
            ),
            Finding::NoEffect { forced } => format!(
                "no effect: each of the library's {forced} algorithms, forced in turn, sends the same messages as its own choice, so \
                 something else decides"
            ),
            Finding::Unknown(why) => format!("not proven by messages, only by reading their settings back: {why}"),
        }
    }
}
