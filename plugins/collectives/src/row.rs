//! The rows of this plugin: algorithms, mock-ups, and calls at another volume.

use kilter_algorithms::closing::Closing;
use kilter_algorithms::mockup::Mockup;
use kilter_algorithms::{Collective, Entry};
use kilter_mpi::{OverMpi, Pipeline};

/// The implementation behind a row. [`kilter_abi::Algorithm::data`] points to it.
pub(crate) enum Row {
    /// An algorithm over point-to-point messages.
    Algorithm(Entry<OverMpi>),
    /// A mock-up: calls of other collectives.
    Mockup(&'static Mockup, Pipeline),
    /// Calls of the same collective at another volume.
    Closing(&'static Closing),
}

impl Row {
    /// Its id in profiles.
    pub(crate) fn id(&self) -> &'static str {
        match self {
            Row::Algorithm(entry) => entry.row().id,
            Row::Mockup(mockup, _) => mockup.id,
            Row::Closing(closing) => closing.id,
        }
    }

    /// The collective that it implements.
    pub(crate) fn collective(&self) -> Collective {
        match self {
            Row::Algorithm(entry) => entry.row().collective,
            Row::Mockup(_, pipeline) => pipeline.target(),
            Row::Closing(closing) => closing.collective,
        }
    }
}
