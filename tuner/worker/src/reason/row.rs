//! Reasons why a row does not solve a problem.

use std::path::PathBuf;
use std::sync::Arc;

use kilter_algorithms::{Collective, registry};
use kilter_host::plugins::LoadError;
use kilter_protocol::task::Task;

impl NoRow {
    /// Kilter has no row of this id, and these for the collective.
    pub(crate) fn of_kilter(id: &str, collective: Collective) -> NoRow {
        NoRow::UnknownOfKilter {
            id: id.to_owned(),
            collective,
            known: registry::by_collective(collective).map(|row| row.id).collect(),
        }
    }
}

/// Reason why a row, an algorithm or a mock-up of Kilter's own or a plugin's, does not solve a problem.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoRow {
    /// Kilter has no algorithm for what is no collective.
    #[error("no algorithm of Kilter's does {0}")]
    OfKilter(Task),
    /// Plugins have no row for what is no collective.
    #[error("no row of a plugin does {0}")]
    OfPlugin(Task),
    /// Simulated ranks are threads of one process.
    #[error("a simulated rank loads no plugin: all ranks are in one process")]
    Simulated,
    /// The plugin is not used.
    #[error(transparent)]
    Plugin(#[from] Arc<LoadError>),
    /// The plugin has no such row.
    #[error("`{}` has no row `{id}`; it has {}", file.display(), known.join(", "))]
    UnknownOfPlugin {
        file: PathBuf,
        id: String,
        known: Vec<String>,
    },
    /// Kilter has no such row.
    #[error("`{id}` is not a registered algorithm; those of {collective}: {}", known.join(", "))]
    UnknownOfKilter {
        id: String,
        collective: Collective,
        known: Vec<&'static str>,
    },
    /// The row is of another collective.
    #[error("row `{id}` implements {implements}, not {wanted}")]
    OtherCollective {
        id: String,
        implements: Collective,
        wanted: Collective,
    },
    /// The row needs other ranks or another volume.
    #[error("row `{id}` does not run here: {need}")]
    Need { id: String, need: &'static str },
    /// Too many or too few parameters.
    #[error("row `{id}` takes {} parameters ({}), and {given} are given", names.len(), names.join(", "))]
    Parameters {
        id: String,
        names: Vec<String>,
        given: usize,
    },
    /// A parameter's value is none of its own.
    #[error("row `{id}`: {name} = {value} is outside {min} to {max}")]
    Outside {
        id: String,
        name: String,
        value: u64,
        min: u64,
        max: u64,
    },
}
