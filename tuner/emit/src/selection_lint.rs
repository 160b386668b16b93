//! Mistakes that MPICH answers with an abort, or takes for something else without a word, found before it reads the file.
//!
//! The library reads a selection file in `MPI_Init` and has an assertion, not a message, for an unknown test, an unknown algorithm,
//! an object without an end; and another one, in the middle of the application, for a call that finds no algorithm or meets a test
//! that is not made for its collective.

use std::collections::{BTreeMap, BTreeSet};

use super::selection::{ALGORITHM, LARGEST, Tree, is_any};
use super::selection_parameters::{self, Silent};

/// A mistake, and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("selection file, at {path}: {mistake}")]
pub struct LintError {
    /// Tests on the way, with ` / ` between.
    pub path: String,
    /// The mistake.
    pub mistake: Mistake,
}

/// A mistake in a selection file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// A key has two values, of which one is never looked at.
    #[error("`{0}` stands there twice")]
    Twice(String),
    /// A collective has no selection.
    #[error("`{0}` is missing; the file replaces the library's own selection as a whole")]
    Missing(String),
    /// A selection is of no collective.
    #[error("`{0}` is no collective that the library selects for")]
    NoCollective(String),
    /// Tests follow one that is always true.
    #[error("`{0}` is always true and must be the last test")]
    NotLast(String),
    /// An algorithm is one of several answers.
    #[error("`{0}` must be alone: nothing beside it is ever looked at")]
    NotAlone(String),
    /// The library does not have the algorithm.
    #[error("the library has no algorithm `{0}`")]
    NoAlgorithm(String),
    /// The algorithms do not have the parameter.
    #[error("`{0}` is no parameter of an algorithm; known: {known}", known = PARAMETERS.join(", "))]
    NoParameter(String),
    /// A parameter is taken for something else.
    #[error(transparent)]
    Silent(#[from] Silent),
    /// The library does not have the test.
    #[error("`{0}` is no test that the library knows")]
    NoTest(String),
    /// The library reads one form of the test.
    #[error("`{0}` is tested by `{0}<=N` alone: with another form MPICH 4.0 ends the job in MPI_Init")]
    OnlyUpTo(String),
    /// The test has no answer for the collective.
    #[error("`{test}` is not defined for {collective}: the library ends the program at the first call")]
    Undefined {
        /// The test.
        test: String,
        /// The collective.
        collective: String,
    },
    /// A number is none that the library reads.
    #[error("`{test}`: `{number}` is not between 0 and {LARGEST}")]
    NoNumber {
        /// The test.
        test: String,
        /// The number.
        number: String,
    },
    /// A path has no end.
    #[error("the object is empty, and a call that comes here finds no algorithm")]
    Empty,
    /// Calls may pass no test.
    #[error("a call that does not pass `{last}` finds no algorithm; end with a test that is always true, such as `{always}=any`", always = last.split(['<', '=']).next().unwrap_or(last))]
    Open {
        /// The last test.
        last: String,
    },
}

/// A test on a number.
struct Number {
    name: &'static str,
    /// True if `NAME<N` and `NAME=any` are tests as well, and not `NAME<=N` alone.
    has_all_forms: bool,
    /// The collectives that it is made for; without one all.
    collectives: &'static [&'static str],
}

/// Tests on numbers.
const NUMBERS: [Number; 5] = [
    Number {
        name: "comm_size",
        has_all_forms: true,
        collectives: &[],
    },
    // MPICH 4.0 ends the job in `MPI_Init` at another form.
    Number {
        name: "comm_avg_ppn",
        has_all_forms: false,
        collectives: &[],
    },
    Number {
        name: "avg_msg_size",
        has_all_forms: true,
        collectives: &["bcast", "reduce", "allreduce", "alltoall"],
    },
    Number {
        name: "total_msg_size",
        has_all_forms: true,
        collectives: &[
            "bcast",
            "reduce",
            "allreduce",
            "alltoall",
            "allgather",
            "allgatherv",
            "reduce_scatter",
            "reduce_scatter_block",
        ],
    },
    Number {
        name: "count",
        has_all_forms: true,
        collectives: &[
            "bcast",
            "reduce",
            "allreduce",
            "allgather",
            "allgatherv",
            "reduce_scatter",
            "reduce_scatter_block",
        ],
    },
];

/// Tests with `yes` and `no`, and the collectives that they are made for; without a list all.
const TRUTHS: [(&str, &[&str]); 6] = [
    ("is_multi_threaded", &[]),
    ("is_node_consecutive", &[]),
    ("is_sendbuf_inplace", &["alltoall", "alltoallv", "alltoallw"]),
    (
        "is_commutative",
        &["reduce", "allreduce", "reduce_scatter", "reduce_scatter_block"],
    ),
    ("is_op_built_in", &["reduce", "allreduce"]),
    ("is_block_regular", &["reduce_scatter"]),
];

/// Words of the other tests.
const WORDS: [(&str, &[&str]); 3] = [
    ("comm_type", &["intra", "inter"]),
    ("comm_size", &["pow2", "node_comm_size"]),
    ("comm_hierarchy", &["parent", "node", "node_roots", "flat"]),
];

/// Parameters of algorithms.
const PARAMETERS: [&str; 13] = [
    "k",
    "tree_type",
    "chunk_size",
    "buffer_per_child",
    "is_non_blocking",
    "topo_overhead",
    "topo_diff_groups",
    "topo_diff_switches",
    "topo_same_switches",
    "scatterv_k",
    "allgatherv_k",
    "single_phase_recv",
    "recv_pre_posted",
];

/// Checks a selection against the library's own, `base`, and the algorithms that it has, by their C names.
///
/// # Errors
/// The first thing that the library would answer with an abort, or take otherwise than it is written.
pub fn check(tree: &Tree, base: &Tree, algorithms: &BTreeSet<String>) -> Result<(), LintError> {
    let at_the_top = |mistake| {
        Err(LintError {
            path: "the top".to_owned(),
            mistake,
        })
    };
    if let Some(mistake) = twice(tree) {
        return at_the_top(mistake);
    }
    for (key, _) in &base.0 {
        if tree.get(key).is_none() {
            return at_the_top(Mistake::Missing(key.clone()));
        }
    }
    for (key, below) in &tree.0 {
        let Some(own) = base.get(key) else {
            return at_the_top(Mistake::NoCollective(key.clone()));
        };
        if below != own {
            let mut lint = Lint {
                collective: key.trim_start_matches("collective="),
                own,
                algorithms,
                path: vec![key.clone()],
            };
            lint.object(below)?;
        }
    }
    Ok(())
}

struct Lint<'a> {
    collective: &'a str,
    own: &'a Tree,
    algorithms: &'a BTreeSet<String>,
    path: Vec<String>,
}

impl Lint<'_> {
    fn wrong(&self, mistake: Mistake) -> LintError {
        LintError {
            path: self.path.join(" / "),
            mistake,
        }
    }

    fn object(&mut self, tree: &Tree) -> Result<(), LintError> {
        if let Some(mistake) = twice(tree) {
            return Err(self.wrong(mistake));
        }
        if let Some((key, parameters)) = tree.0.iter().find(|(key, _)| key.starts_with(ALGORITHM)) {
            return self.end(tree, key, parameters);
        }
        for (position, (key, below)) in tree.0.iter().enumerate() {
            self.test(key).map_err(|mistake| self.wrong(mistake))?;
            if is_any(key) && position + 1 != tree.0.len() {
                return Err(self.wrong(Mistake::NotLast(key.clone())));
            }
            self.path.push(key.clone());
            self.object(below)?;
            self.path.pop();
        }
        self.ends(tree).map_err(|mistake| self.wrong(mistake))
    }

    /// The end of a path.
    fn end(&self, tree: &Tree, key: &str, parameters: &Tree) -> Result<(), LintError> {
        if tree.0.len() > 1 {
            return Err(self.wrong(Mistake::NotAlone(key.to_owned())));
        }
        let name = key.trim_start_matches(ALGORITHM);
        if !self.algorithms.contains(name) {
            return Err(self.wrong(Mistake::NoAlgorithm(name.to_owned())));
        }
        for (parameter, below) in &parameters.0 {
            let known = parameter
                .split_once('=')
                .is_some_and(|(name, value)| PARAMETERS.contains(&name) && !value.is_empty());
            if !known || !below.0.is_empty() {
                return Err(self.wrong(Mistake::NoParameter(parameter.clone())));
            }
        }
        // The library's own ends are what it ships with.
        if is_end_of(self.own, key, parameters) {
            return Ok(());
        }
        let given: Vec<(&str, &str)> = parameters
            .0
            .iter()
            .filter_map(|(text, _)| text.split_once('='))
            .collect();
        selection_parameters::check(name, &given).map_err(|silent| self.wrong(silent.into()))
    }

    /// True if the library knows the test, and has an answer to it for this collective.
    fn test(&self, key: &str) -> Result<(), Mistake> {
        let unknown = || Mistake::NoTest(key.to_owned());
        let split = key.find(['<', '=']).ok_or_else(unknown)?;
        let (name, rest) = key.split_at(split);
        let made_for = |list: &[&str]| {
            let blocking = self.collective.strip_prefix('i').unwrap_or(self.collective);
            if list.is_empty() || list.contains(&self.collective) || list.contains(&blocking) {
                Ok(())
            } else {
                Err(Mistake::Undefined {
                    test: key.to_owned(),
                    collective: self.collective.to_owned(),
                })
            }
        };
        let number = NUMBERS.iter().find(|number| number.name == name);
        let truths = TRUTHS.iter().find(|(known, _)| *known == name);
        let words = WORDS.iter().find(|(known, _)| *known == name);
        if number.is_some_and(|number| !number.has_all_forms && !rest.starts_with("<=")) {
            return Err(Mistake::OnlyUpTo(name.to_owned()));
        }
        if rest == "=any" {
            return if number.is_some() || truths.is_some() || words.is_some() {
                Ok(())
            } else {
                Err(unknown())
            };
        }
        if let (Some(number), Some(most)) = (number, rest.strip_prefix('<')) {
            if (name, most) == ("count", "pow2") {
                return made_for(number.collectives);
            }
            let most = most.strip_prefix('=').unwrap_or(most);
            let is_plain = !most.is_empty() && most.bytes().all(|digit| digit.is_ascii_digit());
            let in_range = most.parse::<u64>().is_ok_and(|most| most <= LARGEST);
            if !is_plain || !in_range {
                return Err(Mistake::NoNumber {
                    test: key.to_owned(),
                    number: most.to_owned(),
                });
            }
            return made_for(number.collectives);
        }
        let word = rest.strip_prefix('=').ok_or_else(unknown)?;
        if let (Some((_, list)), "yes" | "no") = (truths, word) {
            return made_for(list);
        }
        match words {
            Some((_, known)) if known.contains(&word) => Ok(()),
            _ => Err(unknown()),
        }
    }

    /// Checks that every call passes one of the tests.
    fn ends(&self, tree: &Tree) -> Result<(), Mistake> {
        let Some((last, _)) = tree.0.last() else {
            return Err(Mistake::Empty);
        };
        if is_any(last) {
            return Ok(());
        }
        let mut answers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, value) in tree.0.iter().filter_map(|(key, _)| key.split_once('=')) {
            answers.entry(name).or_default().insert(value);
        }
        let has = |name: &str, value: &str| answers.get(name).is_some_and(|values| values.contains(value));
        let truths = TRUTHS.iter().any(|(name, _)| has(name, "yes") && has(name, "no"));
        // Some collectives have no calls between groups; the library's own selection has none for them either.
        let no_inter = self.own.get("comm_type=intra").is_some() && self.own.get("comm_type=inter").is_none();
        let kinds = has("comm_type", "intra") && (has("comm_type", "inter") || no_inter);
        if truths || kinds {
            Ok(())
        } else {
            Err(Mistake::Open { last: last.clone() })
        }
    }
}

/// True if a path of the tree ends so.
fn is_end_of(tree: &Tree, key: &str, parameters: &Tree) -> bool {
    tree.0.iter().any(|(own, below)| {
        if own.starts_with(ALGORITHM) {
            own == key && below == parameters
        } else {
            is_end_of(below, key, parameters)
        }
    })
}

fn twice(tree: &Tree) -> Option<Mistake> {
    let mut seen = BTreeSet::new();
    let again = tree.0.iter().find(|(key, _)| !seen.insert(key))?;
    Some(Mistake::Twice(again.0.clone()))
}

#[cfg(test)]
mod tests;
