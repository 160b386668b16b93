//! Scope of a run: functions, their volumes, and how often an application calls each. Pure.

use std::collections::BTreeMap;

use crate::config::mix::{Made, Mix};

/// Functions and their volumes.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Names of functions on left sides; empty for all.
    pub functions: &'a [String],
    /// Volumes in bytes; with a mix, those that stand for a range.
    pub sizes: &'a [u64],
    /// Call mix of an application, if only its calls count.
    pub mix: Option<&'a Mix>,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Its nodes, if they are known.
    pub nodes: Option<usize>,
}

impl Scope<'_> {
    /// Volumes of a function with their calls: one call each without a mix, none if the function is not requested.
    #[must_use]
    pub fn calls(&self, function: &str) -> BTreeMap<u64, Made> {
        let is_named = self.functions.is_empty() || self.functions.iter().any(|name| name == function);
        match self.mix {
            _ if !is_named => BTreeMap::new(),
            None => {
                let one = Made {
                    count: 1.0,
                    ..Made::default()
                };
                self.sizes.iter().map(|size| (*size, one)).collect()
            }
            Some(mix) => mix.of(function, self.ranks, self.nodes, self.sizes),
        }
    }
}
