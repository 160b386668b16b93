//! Choices for layouts that were not measured, from those that were.
//!
//! Times of implementations on some layouts (nodes, and ranks on each) go in. For every other layout come out the predicted times, the
//! choice, and its status: a prediction is deployed only where a layout that was held out confirmed it, and the default stays elsewhere. The
//! layout to measure next is the one whose decisions are least certain. It never measures, and knows no library.
//!
//! Entry: [`predict`], [`next_layout`]; [`Measured`] for several predictions from the same times.

mod between;
mod candidates;
mod decide;
mod held_out;
mod kriging;
mod least_squares;
mod map;
mod models;
mod next;
mod observation;
mod predictor;
mod proof;
mod schedules;
mod table;
mod terms;

pub use map::{Cell, Chosen, Estimate, Map, Status, Why};
pub use models::Kind;
pub use next::{Next, next_layout};
pub use observation::{BadObservation, Call, Implementation, Observation};

use kilter_model::layout::Layout;

use predictor::Predictor;
use table::Table;

/// Rules of a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// A difference of times below this share is none.
    pub floor: f64,
    /// The model; `None` takes for each collective the one that loses least where layouts are held out.
    pub model: Option<Kind>,
    /// True if choices are deployed without a proof: for comparisons, never for a site.
    pub unproven: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            floor: 0.05,
            model: None,
            unproven: false,
        }
    }
}

impl Rules {
    /// The naive rule, with which prediction is compared: what is best on the measured layout with the next smaller number of ranks.
    #[must_use]
    pub fn naive(floor: f64) -> Rules {
        Rules {
            floor,
            model: Some(Kind::Nearest),
            unproven: true,
        }
    }
}

/// Choices for `layouts`, measured ones among them or not, for every call that was observed anywhere and whose default was.
pub fn predict(observations: &[Observation], layouts: &[Layout], rules: &Rules) -> Result<Map, BadObservation> {
    Ok(Measured::of(observations, layouts)?.predict(rules))
}

/// Observations, and what predictions by any rules from them have in common: schedules, which take longest to go through.
pub struct Measured {
    tables: Vec<Table>,
    layouts: Vec<Layout>,
}

impl Measured {
    /// Observations for choices on `layouts`.
    pub fn of(observations: &[Observation], layouts: &[Layout]) -> Result<Measured, BadObservation> {
        Ok(Measured {
            tables: Table::all(observations, layouts)?,
            layouts: layouts.to_vec(),
        })
    }

    /// As [`predict`] by some rules.
    #[must_use]
    pub fn predict(&self, rules: &Rules) -> Map {
        let predictors = Predictor::all(&self.tables, rules);
        let layouts = self.layouts.iter();
        let cells = layouts.flat_map(|layout| predictors.iter().flat_map(|predictor| predictor.cells(*layout)));
        Map {
            cells: cells.collect(),
            models: predictors.iter().map(Predictor::chosen).collect(),
        }
    }
}
