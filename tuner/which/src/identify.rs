//! A call's fingerprint beside those of the library's algorithms, each forced.
//!
//! Functions that all forced algorithms share say nothing, and neither do those that none of them has: other settings of the job reach the
//! algorithm by other functions. What is left tells them apart. Messages are compared as they are.

use std::collections::BTreeSet;

use crate::fingerprint::Fingerprint;

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identified {
    /// Indices of the forced algorithms that fit.
    pub fits: Vec<usize>,
    /// True if call paths tell them from the others.
    pub by_paths: bool,
    /// True if messages do.
    pub by_messages: bool,
    /// True if what the paths say and what the messages say fits no algorithm together: another segment size, or another root.
    pub messages_differ: bool,
    /// The functions of the call that tell algorithms apart.
    pub telling: Vec<String>,
}

/// Fewest forced algorithms that can be told apart.
const LEAST: usize = 2;

/// Least share of the telling functions that a call and a forced algorithm have in common, where none has exactly those of the call.
const SHARED: f64 = 0.5;

/// The algorithms among `forced` that left what `found` has left.
#[must_use]
pub fn identify(found: &Fingerprint, forced: &[Fingerprint]) -> Identified {
    let (by_paths, telling) = of_paths(found, forced);
    let by_messages = of_messages(found, forced);
    let mut identified = Identified {
        telling,
        ..Identified::default()
    };
    match (by_paths, by_messages) {
        (Some(paths), Some(messages)) => {
            let both: Vec<usize> = paths.iter().copied().filter(|one| messages.contains(one)).collect();
            identified.by_paths = paths.len() < forced.len() && !paths.is_empty();
            if both.is_empty() && !paths.is_empty() {
                identified.messages_differ = true;
                identified.fits = paths;
            } else if paths.is_empty() {
                // Functions that no forced algorithm has are another algorithm's, whatever it sends.
                identified.fits = Vec::new();
            } else {
                identified.by_messages = messages.len() < forced.len();
                identified.fits = both;
            }
        }
        (Some(paths), None) => {
            identified.by_paths = !paths.is_empty() && paths.len() < forced.len();
            identified.fits = paths;
        }
        (None, Some(messages)) => {
            identified.by_messages = !messages.is_empty() && messages.len() < forced.len();
            identified.fits = messages;
        }
        (None, None) => {}
    }
    identified
}

/// Algorithms that fit by call paths, and the telling functions of the call; `None` where call paths tell nothing.
fn of_paths(found: &Fingerprint, forced: &[Fingerprint]) -> (Option<Vec<usize>>, Vec<String>) {
    let own = found.functions();
    let sets: Vec<(usize, BTreeSet<&str>)> = forced
        .iter()
        .enumerate()
        .map(|(index, one)| (index, one.functions()))
        .filter(|(_, functions)| !functions.is_empty())
        .collect();
    if own.is_empty() || sets.len() < LEAST {
        return (None, Vec::new());
    }
    let union: BTreeSet<&str> = sets.iter().flat_map(|(_, functions)| functions).copied().collect();
    let telling: BTreeSet<&str> = union
        .into_iter()
        .filter(|function| !sets.iter().all(|(_, functions)| functions.contains(function)))
        .collect();
    if telling.is_empty() {
        // All forced algorithms ran the same code: forcing does not act, or the library has one alone.
        return (None, Vec::new());
    }
    let own: BTreeSet<&str> = own.intersection(&telling).copied().collect();
    let named = own.iter().map(|function| (*function).to_owned()).collect();
    if own.is_empty() {
        return (Some(Vec::new()), named);
    }
    let theirs: Vec<(usize, BTreeSet<&str>)> = sets
        .into_iter()
        .map(|(index, functions)| (index, functions.intersection(&telling).copied().collect()))
        .collect();
    let those = |fits: &dyn Fn(&BTreeSet<&str>) -> bool| -> Vec<usize> {
        let fitting = theirs.iter().filter(|(_, functions)| fits(functions));
        fitting.map(|(index, _)| *index).collect()
    };
    let exact = those(&|functions| *functions == own);
    if !exact.is_empty() {
        return (Some(exact), named);
    }
    // A wait was missed on one of the two sides: the functions count that fewest algorithms have.
    let owners = |function: &str| {
        theirs
            .iter()
            .filter(|(_, functions)| functions.contains(function))
            .count()
    };
    let fewest = own.iter().map(|function| owners(function)).min().unwrap_or(0);
    let rare: BTreeSet<&str> = own.iter().copied().filter(|one| owners(one) == fewest).collect();
    let with_rare = those(&|functions| functions.is_superset(&rare));
    if !with_rare.is_empty() {
        return (Some(with_rare), named);
    }
    // Else those that share most.
    let shared = |functions: &BTreeSet<&str>| {
        functions.intersection(&own).count() as f64 / functions.union(&own).count().max(1) as f64
    };
    let most = theirs
        .iter()
        .map(|(_, functions)| shared(functions))
        .fold(0.0, f64::max);
    if most < SHARED {
        return (Some(Vec::new()), named);
    }
    (Some(those(&|functions| shared(functions) >= most)), named)
}

/// Algorithms that fit by messages; `None` where messages tell nothing.
fn of_messages(found: &Fingerprint, forced: &[Fingerprint]) -> Option<Vec<usize>> {
    let own = found.messages.as_ref()?;
    let theirs: Vec<(usize, &String)> = forced
        .iter()
        .enumerate()
        .filter_map(|(index, one)| Some((index, one.messages.as_ref()?)))
        .collect();
    let is_one = theirs.iter().all(|(_, messages)| *messages == theirs[0].1);
    if theirs.len() < LEAST || is_one && theirs.first().is_some_and(|(_, messages)| *messages == own) {
        return None;
    }
    Some(
        theirs
            .into_iter()
            .filter(|(_, messages)| *messages == own)
            .map(|(index, _)| index)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(functions: &str, messages: &str) -> Fingerprint {
        let path: Vec<String> = functions.split_whitespace().map(str::to_owned).collect();
        Fingerprint {
            paths: if path.is_empty() { Vec::new() } else { vec![path] },
            messages: (!messages.is_empty()).then(|| messages.to_owned()),
        }
    }

    #[test]
    fn functions_of_one_algorithm_alone_name_it() {
        let forced = [
            print("reduce forced linear wait", ""),
            print("reduce forced tree wait", ""),
        ];
        let found = identify(&print("reduce own tree wait", ""), &forced);
        assert_eq!((found.fits, found.by_paths, found.by_messages), (vec![1], true, false));
        assert_eq!(found.telling, ["tree"]);
    }

    #[test]
    fn code_that_no_forced_algorithm_has_is_none_of_them() {
        let forced = [print("reduce linear wait", "0>1:1"), print("reduce tree wait", "0>1:2")];
        let found = identify(&print("reduce han wait", "0>1:1"), &forced);
        assert!(found.fits.is_empty() && !found.by_messages);
    }

    #[test]
    fn where_forcing_does_not_act_nothing_is_told() {
        let forced = vec![print("reduce han wait", "0>1:1"); 5];
        let found = identify(&print("reduce han wait", "0>1:1"), &forced);
        assert_eq!(found, Identified::default());
    }

    #[test]
    fn messages_tell_algorithms_of_one_function_apart_and_alike_ones_are_all_named() {
        let forced = [
            print("reduce generic", "0>1:1 1>2:1"),
            print("reduce generic", "0>1:1 0>2:1"),
            print("reduce generic", "0>1:1 0>2:1"),
        ];
        let found = identify(&print("reduce generic", "0>1:1 0>2:1"), &forced);
        assert_eq!(
            (found.fits, found.by_paths, found.by_messages),
            (vec![1, 2], false, true)
        );
    }

    #[test]
    fn other_segments_do_not_hide_an_algorithm() {
        let forced = [print("reduce pipeline", "0>1:1"), print("reduce tree", "0>1:2")];
        let found = identify(&print("reduce pipeline", "0>1:8"), &forced);
        assert_eq!((found.fits, found.messages_differ), (vec![0], true));
    }

    #[test]
    fn a_wait_that_was_missed_does_not_hide_an_algorithm() {
        let forced = [print("reduce scatter gather", ""), print("reduce tree", "")];
        assert_eq!(identify(&print("reduce scatter", ""), &forced).fits, [0]);
        let forced = [print("reduce scatter", ""), print("reduce tree", "")];
        assert_eq!(
            identify(&print("reduce scatter tree_of_it scatter", ""), &forced).fits,
            [0]
        );
    }
}
