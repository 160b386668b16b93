//! Models of times over layouts and volumes, a file each, and their table.

use kilter_model::layout::Layout;

use crate::table::Table;

mod cost;
mod nearest;
mod ratios;
mod simulated;
mod trees;

/// Predicted time of an implementation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Guess {
    /// Index in the table.
    pub(crate) implementation: usize,
    /// Logarithm of the seconds.
    pub(crate) log: f64,
    /// Its standard deviation.
    pub(crate) deviation: f64,
}

/// A model that has seen a table.
pub(crate) trait Fitted {
    /// Times of those implementations of which it can say one.
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess>;
}

/// A way to predict times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Recorded schedules, timed at prices that all of them share, with residuals.
    Simulated,
    /// Ratios to the best time, averaged over near layouts.
    Ratios,
    /// Counts of messages and bytes at fitted prices, with residuals.
    Cost,
    /// Boosted regression trees.
    Trees,
    /// The times of the next smaller layout.
    Nearest,
}

impl Kind {
    /// All of them, those that ask for less first.
    pub const ALL: &'static [Kind] = &[Kind::Simulated, Kind::Ratios, Kind::Cost, Kind::Trees, Kind::Nearest];

    /// Name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Cost => "cost model",
            Kind::Simulated => "simulated schedules",
            Kind::Ratios => "ratios of neighbours",
            Kind::Trees => "boosted trees",
            Kind::Nearest => "nearest smaller",
        }
    }

    /// True if it can say anything: schedules are known of rows of the registry alone.
    pub(crate) fn applies(self, table: &Table) -> bool {
        self != Kind::Simulated || table.rows.iter().any(Option::is_some)
    }

    pub(crate) fn fit(self, table: &Table) -> Box<dyn Fitted> {
        match self {
            Kind::Cost => cost::fit(table),
            Kind::Simulated => simulated::fit(table),
            Kind::Ratios => ratios::fit(table),
            Kind::Trees => trees::fit(table),
            Kind::Nearest => nearest::fit(table),
        }
    }
}
