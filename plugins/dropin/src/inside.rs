//! The profile's choices for calls inside the implementations that are made of collectives.

use kilter_algorithms::Collective;
use kilter_host::{Chosen, Deployed};
use kilter_profile::Table;

use crate::rules::Action;

/// The rules for a communicator. What is tried while the program runs is no part of them.
pub(crate) struct Inside(pub(crate) Table<Action>);

impl Deployed for Inside {
    fn row(&self, collective: Collective, bytes: u64) -> Option<Chosen<'_>> {
        let Action {
            implementation,
            parameters,
        } = self.0.lookup(collective, bytes)?;
        Some(Chosen {
            callable: &implementation.callable,
            plugin: implementation.plugin,
            parameters,
            calls: Some(&implementation.inside),
        })
    }
}
