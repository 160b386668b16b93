//! Rows for the calls inside rows that are made of collectives, as a profile would have them.

use kilter_algorithms::{Collective, closing, mockup};
use kilter_host::plugins::{Callable, Loaded};
use kilter_host::{Chosen, Deployed};

/// True for a row of Kilter's that is made of collectives.
pub(crate) fn is_composed(id: &str) -> bool {
    mockup::find(id).is_some() || closing::find(id).is_some()
}

/// The plugin's rows that are made of messages, with their default parameters. Volumes take turns among those of a collective.
pub(crate) struct Inside {
    rows: Vec<(&'static Callable, Vec<u64>)>,
}

impl Inside {
    pub(crate) fn of(plugin: &'static Loaded) -> Inside {
        let plain = plugin.rows.iter().filter(|callable| !is_composed(&callable.row.id));
        Inside {
            rows: plain
                .map(|callable| (callable, callable.row.default_parameters()))
                .collect(),
        }
    }
}

impl Deployed for Inside {
    fn row(&self, collective: Collective, bytes: u64) -> Option<Chosen<'_>> {
        let of_collective = || {
            self.rows
                .iter()
                .filter(|(callable, _)| callable.row.collective == collective)
        };
        let turn = bytes.checked_rem(of_collective().count() as u64)?;
        let (callable, parameters) = of_collective().nth(usize::try_from(turn).ok()?)?;
        Some(Chosen {
            callable,
            plugin: 0,
            parameters,
            calls: None,
        })
    }
}
