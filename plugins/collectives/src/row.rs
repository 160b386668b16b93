//! The rows of this plugin: algorithms and mock-ups.

use kilter_algorithms::mockup::Mockup;
use kilter_algorithms::{Collective, Entry};
use kilter_mpi::{OverMpi, Pipeline};

/// The implementation behind a row. [`kilter_abi::Algorithm::data`] points to it.
pub(crate) enum Row {
    /// An algorithm over point-to-point messages.
    Algorithm(Entry<OverMpi>),
    /// A mock-up: calls of the library's collectives.
    Mockup(&'static Mockup, Pipeline),
}

impl Row {
    /// Its id in profiles.
    pub(crate) fn id(&self) -> &'static str {
        match self {
            Row::Algorithm(entry) => entry.row().id,
            Row::Mockup(mockup, _) => mockup.id,
        }
    }

    /// The collective that it implements.
    pub(crate) fn collective(&self) -> Collective {
        match self {
            Row::Algorithm(entry) => entry.row().collective,
            Row::Mockup(_, pipeline) => pipeline.target(),
        }
    }
}
