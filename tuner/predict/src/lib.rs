//! Choices for layouts that were not measured, from those that were.
//!
//! Times of implementations on some layouts (nodes, and ranks on each) go in. For every other layout come out the predicted times, the
//! choice, and its status: a prediction is deployed only where a layout that was held out confirmed it, and the default stays elsewhere. The
//! layout to measure next is the one whose decisions are least certain. It never measures, and knows no library.
//!
//! Entry: [`predict`], [`next_layout`].

mod map;
mod observation;

pub use map::{Cell, Estimate, Map, Status, Why};
pub use observation::{BadObservation, Call, Implementation, Observation};

use kilter_model::layout::Layout;

/// Rules of a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// A difference of times below this share is none.
    pub floor: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { floor: 0.05 }
    }
}

/// Choices for `layouts`, measured ones among them or not, for every call that was observed anywhere.
pub fn predict(observations: &[Observation], layouts: &[Layout], rules: &Rules) -> Result<Map, BadObservation> {
    let _ = (observations, layouts, rules);
    Ok(Map::default())
}

/// A layout to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// The layout.
    pub layout: Layout,
    /// Expected loss of the decisions there without measuring it: the mean over calls, as a share of the optimum's time.
    pub regret: f64,
}

/// The layout among `allowed` whose decisions are least certain; those that were measured are left out. `None` if all were.
pub fn next_layout(
    observations: &[Observation],
    allowed: &[Layout],
    rules: &Rules,
) -> Result<Option<Next>, BadObservation> {
    let _ = rules;
    let is_measured = |layout: &Layout| observations.iter().any(|observation| observation.layout == *layout);
    let next = allowed.iter().copied().find(|layout| !is_measured(layout));
    Ok(next.map(|layout| Next { layout, regret: 0.0 }))
}
