//! Measured times, as predictions are made from them.

use std::fmt;

use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;

/// A collective at one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Volume of all ranks together, in bytes.
    pub bytes: u64,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.collective.name(), self.bytes)
    }
}

/// An implementation of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Implementation {
    /// The library as it is.
    Default,
    /// An algorithm of the library, of Kilter or of a plugin, or a mock-up.
    Selected(Selection),
}

impl fmt::Display for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Implementation::Default => f.write_str("default"),
            Implementation::Selected(selection) => f.write_str(&selection.id()),
        }
    }
}

/// Time of one implementation of a call on one layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Nodes, and ranks on each.
    pub layout: Layout,
    /// The call.
    pub call: Call,
    /// The implementation that ran.
    pub implementation: Implementation,
    /// Median, in seconds; more than 0.
    pub seconds: f64,
    /// Half the width of the median's interval as a share of the median; 0 where times are exact.
    pub noise: f64,
}

/// Error: an observation from which nothing can be predicted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadObservation {
    /// A time that is no time.
    #[error("{call} by {implementation} on {layout}: {seconds} s is no time; allowed: more than 0 s; measure it again")]
    Seconds {
        /// The layout on which it was measured.
        layout: Layout,
        /// The call.
        call: Call,
        /// The implementation.
        implementation: Box<Implementation>,
        /// The value that was given.
        seconds: f64,
    },
    /// An uncertainty that is none.
    #[error(
        "{call} by {implementation} on {layout}: {noise} is no noise; allowed: 0 and more, as a share of the median"
    )]
    Noise {
        /// The layout on which it was measured.
        layout: Layout,
        /// The call.
        call: Call,
        /// The implementation.
        implementation: Box<Implementation>,
        /// The value that was given.
        noise: f64,
    },
    /// Two times of one implementation.
    #[error("{call} by {implementation} on {layout} is given twice; give the median of all its times once")]
    Twice {
        /// The layout on which it was measured.
        layout: Layout,
        /// The call.
        call: Call,
        /// The implementation.
        implementation: Box<Implementation>,
    },
}
