//! How a row is carried out.

use kilter_algorithms::mockup::Mockup;
use kilter_algorithms::{Collective, Entry};
use kilter_mpi::{OverMpi, Pipeline};

/// How a row is carried out; what [`kilter_abi::Algorithm::data`] points to.
pub(crate) enum Row {
    /// Over point-to-point messages.
    Algorithm(Entry<OverMpi>),
    /// By calls of the library's collectives.
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

    /// What it implements.
    pub(crate) fn collective(&self) -> Collective {
        match self {
            Row::Algorithm(entry) => entry.row().collective,
            Row::Mockup(_, pipeline) => pipeline.target(),
        }
    }
}
