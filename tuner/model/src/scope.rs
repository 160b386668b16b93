//! Scope of a run: functions, their volumes, and how often an application calls each. Pure.

use std::collections::BTreeMap;

use crate::config::mix::Mix;

/// Functions and their volumes.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Names of functions on left sides; empty for all.
    pub functions: &'a [String],
    /// Volumes in bytes; with a mix those that stand for a range.
    pub sizes: &'a [u64],
    /// The calls of an application, where only they count.
    pub mix: Option<&'a Mix>,
    /// Ranks of the communicator.
    pub ranks: usize,
}

impl Scope<'_> {
    /// The volumes of a function with their calls: one each where there is no mix, none where the function is not asked for.
    #[must_use]
    pub fn calls(&self, function: &str) -> BTreeMap<u64, f64> {
        let is_named = self.functions.is_empty() || self.functions.iter().any(|name| name == function);
        match self.mix {
            _ if !is_named => BTreeMap::new(),
            None => self.sizes.iter().map(|size| (*size, 1.0)).collect(),
            Some(mix) => mix.of(function, self.ranks, self.sizes),
        }
    }
}
