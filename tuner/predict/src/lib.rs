//! Choices for layouts that were not measured, from those that were.
//!
//! Times of implementations on some layouts (nodes, and ranks on each) go in. For every other layout come out the predicted times, the
//! choice, and its status: a prediction is deployed only where a layout that was held out confirmed it, and the default stays elsewhere. The
//! layout to measure next is the one whose decisions are least certain. It never measures, and knows no library.
//!
//! Entry: [`predict`], [`next_layout`].

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
    let predictors = Predictor::all(observations, rules)?;
    let cells = layouts
        .iter()
        .flat_map(|layout| predictors.iter().flat_map(|predictor| predictor.cells(*layout)));
    Ok(Map {
        models: predictors.iter().map(Predictor::chosen).collect(),
        cells: cells.collect(),
    })
}
