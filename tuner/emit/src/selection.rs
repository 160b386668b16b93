//! MPICH's selection of algorithms: a tree of tests in JSON, as `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` names it.
//!
//! Each key of an object is a test, tried in the order of the file; the first that is true leads into its object. A path ends at
//! `"algorithm=NAME": {}`. A selection file replaces the library's own selection as a whole, so the written file is the library's own tree with
//! rules put in for some sizes of communicators, and everything else as it was: see [`Tree::with_rules`].
//!
//! Two things were found by counting messages on MPICH 4.0.2 (`comm_size<8` below a test on the message is true on 8 ranks), and
//! decide how it is written: only `comm_size<=` is used, and what the library has for other calls on the same communicator is put
//! behind tests on the message only after its own tests on the size of the communicator were carried out.
//!
//! `comm_avg_ppn<=N` is true where there are at most N times as many ranks as nodes. It tells 16 nodes of a rank each from 8 of two. From 5.0 on it is
//! false of the library's own parts of a communicator, such as the first ranks of all nodes, so that the last test never is one of these. 4.0
//! knows neither `comm_avg_ppn<` nor `comm_avg_ppn=any`.

mod call;
mod form;

use std::collections::BTreeSet;

pub use call::Call;

/// Largest number that the library reads (`atoi`).
pub const LARGEST: u64 = i32::MAX as u64;

/// Beginning of the key at the end of a path.
pub const ALGORITHM: &str = "algorithm=";

/// The library maps the file and reads it as text that ends in a NUL: behind a file of whole pages there is none.
const PAGE: usize = 4096;

/// An object of the file: tests and where they lead, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(pub Vec<(String, Tree)>);

/// A choice for a range of message sizes on communicators of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeRule {
    /// Smallest and largest size in bytes, both inclusive; `u64::MAX` for no end.
    pub range: (u64, u64),
    /// The algorithm's C name, such as `MPIR_Bcast_intra_binomial`.
    pub algorithm: String,
    /// Parameters that the library needs with it, such as `k=2`.
    pub parameters: Vec<String>,
    /// Conditions on a call so that the algorithm can carry it out; other calls keep the library's choice.
    pub guards: Vec<Guard>,
}

/// Rules for communicators of a range of numbers of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForRanks {
    /// Smallest and largest number of ranks.
    pub ranks: Range,
    /// Rules by the smallest and the largest average of ranks on a node, rounded up, ascending; `u64::MAX` for no end.
    pub per_node: Vec<(Range, Vec<SizeRule>)>,
}

impl ForRanks {
    /// Rules however the ranks lie.
    #[must_use]
    pub fn anywhere(ranks: Range, rules: Vec<SizeRule>) -> ForRanks {
        let per_node = vec![(ANYWHERE, rules)];
        ForRanks { ranks, per_node }
    }
}

/// Numbers from the first to the last.
pub type Range = (u64, u64);

/// Any number of ranks on a node.
pub const ANYWHERE: Range = (1, u64::MAX);

/// A test with the test for its contrary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// True where the algorithm can run.
    pub holds: &'static str,
    /// True where it cannot.
    pub fails: &'static str,
}

/// A rule that a selection cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The library's own selection does not know the collective.
    #[error("the library's own selection has no `collective={0}`")]
    Unknown(String),
    /// A number that `atoi` cannot read.
    #[error("{0} bytes cannot be written in a selection file; its largest number is {LARGEST}")]
    TooLarge(u64),
    /// Ranges that overlap or do not ascend.
    #[error("sizes {0} to {1} come after sizes that reach further")]
    Order(u64, u64),
    /// Ranges of numbers of ranks that overlap or do not ascend.
    #[error("communicators of {0} to {1} ranks come after some that have more")]
    Ranks(u64, u64),
    /// Ranges of averages of ranks on a node that overlap or do not ascend.
    #[error("averages of {0} to {1} ranks on a node come after some that have more")]
    PerNode(u64, u64),
    /// Several ranges without a test on the size.
    #[error("{0} must not be switched on message size: one rule for all sizes is allowed")]
    NoSizes(String),
}

impl Tree {
    /// Reads a file.
    ///
    /// # Errors
    /// Anything but nested JSON objects.
    pub fn parse(text: &str) -> Result<Tree, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        // A tree of texts is always JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        if text.len().is_multiple_of(PAGE) {
            text.push('\n');
        }
        text
    }

    /// True if a file of this length can be read by the library.
    #[must_use]
    pub fn is_length_read(bytes: usize) -> bool {
        !bytes.is_multiple_of(PAGE)
    }

    /// The tree to which a test leads.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, tree)| tree)
    }

    /// The end of a path.
    fn leaf(rule: &SizeRule) -> Tree {
        let parameters = rule.parameters.iter().map(|text| (text.clone(), Tree::default()));
        Tree(vec![(
            format!("{ALGORITHM}{}", rule.algorithm),
            Tree(parameters.collect()),
        )])
    }

    /// Adds rules for calls of `collective` on intracommunicators of exactly `ranks` ranks. `test` is the test on the message size,
    /// `avg_msg_size` or `total_msg_size`; without one the only rule holds for all sizes.
    pub fn with_rules(
        &self,
        collective: &str,
        ranks: u64,
        test: Option<&str>,
        rules: &[SizeRule],
    ) -> Result<Tree, RuleError> {
        self.with_sizes(collective, test, &[ForRanks::anywhere((ranks, ranks), rules.to_vec())])
    }

    /// The same for several ranges of numbers of ranks, from the first to the last of each, which ascend.
    pub fn with_sizes(&self, collective: &str, test: Option<&str>, sizes: &[ForRanks]) -> Result<Tree, RuleError> {
        let mut tree = self.clone();
        let key = format!("collective={collective}");
        let (_, whole) = tree
            .0
            .iter_mut()
            .find(|(own, _)| *own == key)
            .ok_or_else(|| RuleError::Unknown(collective.to_owned()))?;
        let intra = "comm_type=intra";
        let own = whole.get(intra).unwrap_or(whole).clone();
        let mut tests = Vec::new();
        let mut next = 1;
        for ForRanks {
            ranks: (first, last),
            per_node,
        } in sizes
        {
            if *first < next || last < first {
                return Err(RuleError::Ranks(*first, *last));
            }
            if *first > next || tests.is_empty() {
                tests.push((format!("comm_size<={}", first.saturating_sub(1)), own.clone()));
            }
            let ends = own.ends_of_sizes(*first, *last);
            let mut begin = *first;
            for end in ends {
                let chosen = by_average(collective, &own.for_ranks(begin), test, per_node)?;
                tests.push((format!("comm_size<={end}"), chosen));
                begin = end + 1;
            }
            next = last + 1;
        }
        tests.push(("comm_size=any".to_owned(), own));
        let replaced = Tree(tests);
        if let Some((_, place)) = whole.0.iter_mut().find(|(own, _)| own == intra) {
            *place = replaced;
        } else {
            let inter = std::mem::take(whole);
            *whole = Tree(vec![
                (intra.to_owned(), replaced),
                ("comm_type=inter".to_owned(), inter),
            ]);
        }
        Ok(tree)
    }

    /// Numbers of ranks from `first` to `last` behind which a test on the size of the communicator may have another result; `last` is one.
    fn ends_of_sizes(&self, first: u64, last: u64) -> BTreeSet<u64> {
        let mut ends = BTreeSet::from([last]);
        for (key, tree) in &self.0 {
            if let Some(test) = key.strip_prefix("comm_size") {
                let number = test.trim_start_matches(['<', '=']).parse().ok();
                // The test `<` is one of `<=` below tests on the message.
                ends.extend(
                    number
                        .into_iter()
                        .flat_map(|number: u64| [number.saturating_sub(1), number]),
                );
                if test == "=pow2" {
                    let powers = (0..32).map(|power| 1_u64 << power);
                    ends.extend(powers.flat_map(|power| [power - 1, power]));
                }
            }
            ends.extend(tree.ends_of_sizes(first, last));
        }
        ends.retain(|end| (first..=last).contains(end));
        ends
    }

    /// The rest of the tree for a known communicator size: its tests are carried out as far as the library does so when it makes a communicator,
    /// that is before the first test on a call.
    fn for_ranks(&self, ranks: u64) -> Tree {
        let mut kept = Vec::new();
        for (position, (key, tree)) in self.0.iter().enumerate() {
            match size_of_communicator(key, ranks) {
                Some(false) => {}
                Some(true) if kept.is_empty() => return tree.for_ranks(ranks),
                Some(true) => {
                    kept.push(("comm_size=any".to_owned(), tree.for_ranks(ranks)));
                    return Tree(kept);
                }
                None if is_of_communicator(key) => kept.push((key.clone(), tree.for_ranks(ranks))),
                None => {
                    kept.extend(self.0[position..].iter().cloned());
                    return Tree(kept);
                }
            }
        }
        Tree(kept)
    }
}

/// The rules for one communicator size, by the average of ranks on a node; `own` is the library's choice there.
fn by_average(
    collective: &str,
    own: &Tree,
    test: Option<&str>,
    per_node: &[(Range, Vec<SizeRule>)],
) -> Result<Tree, RuleError> {
    let mut tests = Vec::new();
    let mut next = 1;
    for ((first, last), rules) in per_node {
        if *first < next || last < first {
            return Err(RuleError::PerNode(*first, *last));
        }
        let chosen = chosen(collective, own, test, rules)?;
        if (*first, *last) == ANYWHERE {
            return Ok(chosen);
        }
        if *first > next {
            tests.push((format!("comm_avg_ppn<={}", first - 1), own.clone()));
        }
        if *last == u64::MAX {
            tests.push(("comm_size=any".to_owned(), chosen));
            return Ok(Tree(tests));
        }
        tests.push((format!("comm_avg_ppn<={last}"), chosen));
        next = last + 1;
    }
    tests.push(("comm_size=any".to_owned(), own.clone()));
    Ok(Tree(tests))
}

/// The rules for one communicator, however its ranks lie.
fn chosen(collective: &str, own: &Tree, test: Option<&str>, rules: &[SizeRule]) -> Result<Tree, RuleError> {
    let guarded = |rule: &SizeRule| {
        rule.guards.iter().rev().fold(Tree::leaf(rule), |inner, guard| {
            let mut tests = vec![(guard.holds.to_owned(), inner), (guard.fails.to_owned(), own.clone())];
            // The test that is always true comes last.
            tests.sort_by_key(|(key, _)| is_any(key));
            Tree(tests)
        })
    };
    let Some(test) = test else {
        return match rules {
            [rule] => Ok(guarded(rule)),
            _ => Err(RuleError::NoSizes(collective.to_owned())),
        };
    };
    let mut tests = Vec::new();
    let mut next = 0;
    for rule in rules {
        let (low, high) = rule.range;
        if low < next || high < low {
            return Err(RuleError::Order(low, high));
        }
        if low > LARGEST + 1 || (high > LARGEST && high != u64::MAX) {
            return Err(RuleError::TooLarge(high));
        }
        if low > next {
            tests.push((format!("{test}<={}", low - 1), own.clone()));
        }
        if high == u64::MAX {
            tests.push((format!("{test}=any"), guarded(rule)));
            return Ok(Tree(tests));
        }
        tests.push((format!("{test}<={high}"), guarded(rule)));
        next = high + 1;
    }
    tests.push((format!("{test}=any"), own.clone()));
    Ok(Tree(tests))
}

/// True if a test is true of every call.
#[must_use]
pub fn is_any(key: &str) -> bool {
    key == "any" || key.ends_with("=any")
}

/// The result of a test on the size of the communicator; `None` for other tests.
fn size_of_communicator(key: &str, ranks: u64) -> Option<bool> {
    let test = key.strip_prefix("comm_size")?;
    if let Some(number) = test.strip_prefix("<=") {
        return Some(ranks <= number.parse().ok()?);
    }
    if let Some(number) = test.strip_prefix('<') {
        return Some(ranks < number.parse().ok()?);
    }
    match test {
        "=pow2" => Some(ranks.is_power_of_two()),
        "=any" => Some(true),
        _ => None,
    }
}

/// True if a test is one on the communicator, which the library carries out when it makes one.
fn is_of_communicator(key: &str) -> bool {
    ["comm_", "is_node_consecutive="]
        .iter()
        .any(|start| key.starts_with(start))
        || is_any(key)
}

#[cfg(test)]
mod tests;
