//! The answer for each layout and call: the choice, its status, and the layouts that it follows from.

use kilter_algorithms::Collective;
use kilter_model::layout::Layout;

use crate::{Call, Implementation, Kind};

/// Time of an implementation on a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The implementation.
    pub implementation: Implementation,
    /// Measured or predicted, in seconds.
    pub seconds: f64,
    /// Lower end of the interval that holds the time with 95 %, in seconds.
    pub low: f64,
    /// Upper end, in seconds.
    pub high: f64,
}

/// A call on a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Nodes, and ranks on each.
    pub layout: Layout,
    /// The call.
    pub call: Call,
    /// The implementation to deploy: the default, unless the choice was measured or confirmed.
    pub choice: Implementation,
    /// Reason of the choice.
    pub status: Status,
    /// Times of all implementations that can run there, the fastest first.
    pub candidates: Vec<Estimate>,
    /// Expected loss of the best decision on what is known, as a share of the optimum's time: 0 if the decision is certain.
    pub regret: f64,
}

/// Reason of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Measured on this layout.
    Measured,
    /// Predicted, and confirmed by measurements that the prediction did not know.
    Confirmed {
        /// Layouts that the prediction follows from.
        from: Vec<Layout>,
        /// Layouts between these that were predicted without being known, and confirmed the prediction.
        confirmed_by: Vec<Layout>,
    },
    /// The default stays.
    Default(Why),
}

/// Reason why the default stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Nothing is predicted to be faster by more than the floor.
    #[error("nothing is predicted to be worth a change")]
    NothingFaster,
    /// The layout does not lie between measured ones.
    #[error("it does not lie between measured layouts")]
    NotBetween,
    /// No layout between its neighbours was measured, of its kind if it is no power of two.
    #[error("no measured layout between {below} and {above} could confirm a prediction{}", if *.odd { "; one whose ranks or nodes are no power of two is needed" } else { "" })]
    NoWitness {
        /// Measured layout below.
        below: Layout,
        /// Measured layout above.
        above: Layout,
        /// True if the layout is no power of two, and none that could confirm it was either.
        odd: bool,
    },
    /// A layout that was held out was predicted wrongly.
    #[error("the prediction failed on {at}, which was held out: {chosen} {}", .percent.map_or("was not measured there".to_owned(), |percent| format!("took {percent} % more than the default there")))]
    Refuted {
        /// The layout.
        at: Layout,
        /// Predicted choice there.
        chosen: Box<Implementation>,
        /// Its measured time over the default's there, less 1, in percent; `None` if it did not run there.
        percent: Option<u64>,
    },
    /// The choice is slower than the default on a measured layout nearby.
    #[error("{chosen} is slower than the default on {at}")]
    SlowerNearby {
        /// The measured layout.
        at: Layout,
        /// The predicted choice.
        chosen: Box<Implementation>,
    },
    /// The choice gains nothing on the neighbours, nor on what was held out.
    #[error("{chosen} was not measured to be faster than the default on any layout nearby")]
    NoGainNearby {
        /// The predicted choice.
        chosen: Box<Implementation>,
    },
}

/// The model that predicts a collective, and what each would have lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The collective.
    pub collective: Collective,
    /// The model in use.
    pub model: Kind,
    /// Mean regret of each model where layouts were held out; `None` if none lies between others.
    pub regrets: Vec<(Kind, Option<f64>)>,
}

/// Answers for layouts, measured or not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The model of each collective.
    pub models: Vec<Chosen>,
    /// Cells in the order of layouts as they were asked for, then by call.
    pub cells: Vec<Cell>,
}

impl Map {
    /// The cell of a layout and call.
    #[must_use]
    pub fn get(&self, layout: Layout, call: Call) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.layout == layout && cell.call == call)
    }
}
