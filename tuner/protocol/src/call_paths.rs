//! Functions of libraries on the stacks of ranks that waited within a call of an item: the code that carried it out.
//!
//! A rank that waits stays in the functions of the algorithm, and only the innermost ones, which poll, come and go. Ranks report the part of
//! their stacks that stayed, from the outermost function inward ([`stable`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Name of the paths ([`CallPaths`], as JSON) among what is said of an item beside its settings.
pub const CALL_PATHS: &str = "call paths";

/// Fewest samples of a wait that say anything.
const FEWEST: usize = 3;

/// Share of a wait's samples that a function is in, if it stays.
const STAYS: f64 = 0.7;

/// A function of a shared object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Function {
    /// The shared object's file.
    pub file: String,
    /// Offset of the function's first instruction.
    pub offset: u64,
    /// Its name, if the object exports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Paths of calls, outermost function first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallPaths {
    /// The functions, each once.
    pub functions: Vec<Function>,
    /// Paths as indices of functions, each once.
    pub paths: Vec<Vec<usize>>,
}

crate::json_line::json_lines![CallPaths];

impl CallPaths {
    /// Adds a path, unless it is there.
    pub fn add(&mut self, path: Vec<Function>) {
        let mut indices = Vec::with_capacity(path.len());
        for function in path {
            let known = self.functions.iter().position(|one| *one == function);
            indices.push(known.unwrap_or_else(|| {
                self.functions.push(function);
                self.functions.len() - 1
            }));
        }
        if !indices.is_empty() && !self.paths.contains(&indices) {
            self.paths.push(indices);
        }
    }

    /// Adds the paths of another rank.
    pub fn merge(&mut self, other: &CallPaths) {
        for path in other.each() {
            self.add(path.cloned().collect());
        }
    }

    /// The paths; an index that no function has is left out.
    pub fn each(&self) -> impl Iterator<Item = impl Iterator<Item = &Function>> {
        self.paths
            .iter()
            .map(|path| path.iter().filter_map(|index| self.functions.get(*index)))
    }
}

/// The part of the stacks, outermost function first, in which a wait stayed. Empty if there are too few samples.
#[must_use]
pub fn stable<T: Clone + Ord>(samples: &[Vec<T>]) -> Vec<T> {
    let mut path = Vec::new();
    if samples.len() < FEWEST {
        return path;
    }
    let mut left: Vec<&Vec<T>> = samples.iter().collect();
    loop {
        let mut next: BTreeMap<&T, usize> = BTreeMap::new();
        for function in left.iter().filter_map(|stack| stack.get(path.len())) {
            *next.entry(function).or_default() += 1;
        }
        let most = next.into_iter().max_by_key(|(_, count)| *count);
        let Some((function, _)) = most.filter(|(_, count)| *count as f64 >= STAYS * samples.len() as f64) else {
            return path;
        };
        let function = function.clone();
        left.retain(|stack| stack.get(path.len()) == Some(&function));
        path.push(function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Function {
        Function {
            file: "libmpi.so".to_owned(),
            offset: name.len() as u64,
            name: Some(name.to_owned()),
        }
    }

    #[test]
    fn a_wait_stays_in_the_algorithm_and_not_in_what_polls() {
        let polls = ["progress", "poll_a", "progress", "poll_b", "poll_c"];
        let samples: Vec<Vec<&str>> = polls
            .iter()
            .map(|poll| vec!["reduce", "binomial", "wait", poll])
            .collect();
        assert_eq!(stable(&samples), ["reduce", "binomial", "wait"]);
        // Samples from after the wait are fewer than those of the wait.
        let after = [samples.clone(), vec![vec!["reduce", "copy"]]].concat();
        assert_eq!(stable(&after), ["reduce", "binomial", "wait"]);
        assert!(stable(&samples[..2]).is_empty());
        assert!(stable::<&str>(&[]).is_empty());
    }

    #[test]
    fn paths_of_ranks_are_kept_once() {
        let mut all = CallPaths::default();
        all.add(vec![function("a"), function("bb")]);
        let mut other = CallPaths::default();
        other.add(vec![function("bb")]);
        other.add(vec![function("a"), function("bb")]);
        all.merge(&other);
        assert_eq!(all.paths, [vec![0, 1], vec![1]]);
        let names = |path: Vec<&Function>| path.iter().filter_map(|one| one.name.clone()).collect::<Vec<_>>();
        let each: Vec<Vec<String>> = all.each().map(|path| names(path.collect())).collect();
        assert_eq!(each, [vec!["a", "bb"], vec!["bb"]]);
    }
}
