//! Rules of others as Open MPI takes them: what holds, what it passes over, and what makes it ignore the whole file.

use std::collections::BTreeSet;

use crate::rules::json::tree::{Node, Value};
use crate::rules::json::{NAMES, name, starts};
use crate::rules::{LONG_MAX, RulesError};

/// Rules for communicators of some sizes; the first that fits a message holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range(Vec<Rule>);

impl Range {
    /// True if messages of different sizes get different algorithms.
    pub(super) fn switches(&self) -> bool {
        let at = |bytes: u64| {
            let rule = self.0.iter().find(|rule| (rule.first..=rule.last).contains(&bytes));
            rule.map(|rule| &rule.algorithm)
                .filter(|algorithm| **algorithm != Algorithm::Number(0))
        };
        let sizes = starts(self.0.iter().map(|rule| (rule.first, rule.last)));
        // No message has more bytes than a `long`.
        let found: BTreeSet<_> = sizes.into_iter().filter(|bytes| *bytes < LONG_MAX).map(at).collect();
        found.len() > 1
    }
}

/// A rule for messages of some sizes, as the library compares them: in a `size_t`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    first: u64,
    last: u64,
    algorithm: Algorithm,
}

/// Algorithm of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// A number; 0 leaves the choice to the library.
    Number(i64),
    /// A name.
    Name(String),
}

/// Value of `inf`: the library's own mark.
const INF: i64 = i64::MAX;
/// Collectives, by their numbers, that have rules but no algorithms: alltoallw, gatherv, scatterv and those of neighbours.
const WITHOUT_ALGORITHMS: [u64; 8] = [5, 10, 16, 17, 18, 19, 20, 21];

/// Sizes of communicators for which a range holds.
pub(super) fn bounds(range: &Node) -> (i32, i32) {
    let of = |key: &str, unsaid: i32| range.get(key).and_then(integer).map_or(unsaid, as_int);
    (of("comm_size_min", 0), of("comm_size_max", i32::MAX))
}

/// The library's assignment to an `int`, which drops the upper half.
#[expect(clippy::cast_possible_truncation, reason = "as the library does")]
fn as_int(number: i64) -> i32 {
    number as i32
}

/// The library's assignment to a `size_t`, which makes large numbers of negative ones.
#[expect(clippy::cast_sign_loss, reason = "as the library does")]
fn as_size(number: i64) -> u64 {
    number as u64
}

/// A number, or what begins with `inf`.
fn integer(node: &Node) -> Option<i64> {
    match &node.value {
        Value::Integer(number) => Some(*number),
        Value::Text(text) if ["inf", "Inf", "INF"].iter().any(|inf| text.starts_with(inf)) => Some(INF),
        _ => None,
    }
}

/// The collective of a key. The library compares some names by their beginning alone.
pub(super) fn id_of(key: &str) -> Option<u64> {
    const BY_THE_BEGINNING: [&str; 7] = [
        "allgatherv",
        "alltoallv",
        "alltoallw",
        "gatherv",
        "neighbor_allgatherv",
        "neighbor_alltoallv",
        "neighbor_alltoallw",
    ];
    let fits = |name: &str| key == name || BY_THE_BEGINNING.contains(&name) && key.starts_with(name);
    (0..).zip(NAMES).find(|(_, name)| fits(name)).map(|(id, _)| id)
}

pub(super) fn no_collectives(document: &Node) -> RulesError {
    ignored(document, "there is no object `collectives`")
}

fn ignored(node: &Node, why: &str) -> RulesError {
    RulesError {
        line: node.line,
        message: format!("{why}, so Open MPI ignores the whole file without a word"),
    }
}

/// A reading of one file.
pub(super) struct Reader<'k> {
    /// Remarks so far.
    pub(super) notes: Vec<String>,
    knows: &'k dyn Fn(u64, &Algorithm) -> bool,
}

impl<'k> Reader<'k> {
    /// `knows` tells if a collective, by its number, has an algorithm.
    pub(super) fn new(knows: &'k dyn Fn(u64, &Algorithm) -> bool) -> Reader<'k> {
        Reader {
            notes: Vec::new(),
            knows,
        }
    }

    fn note(&mut self, node: &Node, text: &str) {
        self.notes.push(format!("line {}: {text}", node.line));
    }

    /// Names keys that the library does not look at, and those that stand there twice, of which it finds the first.
    fn keys(&mut self, node: &Node, known: &[&str]) {
        let mut seen = BTreeSet::new();
        for (key, value) in node.entries() {
            if !known.contains(&key.as_str()) {
                self.note(value, &format!("`{key}` is nothing that Open MPI looks at; it is kept"));
            } else if !seen.insert(key) {
                self.note(
                    value,
                    &format!("`{key}` stands there twice, and the first one holds; both are kept"),
                );
            }
        }
    }

    /// The rules of each collective, by its number.
    pub(super) fn collectives(&mut self, document: &Node) -> Result<Vec<(u64, Vec<Range>)>, RulesError> {
        self.keys(document, &["rule_file_version", "module", "collectives", "$schema"]);
        for (key, expected) in [
            ("rule_file_version", Value::Integer(3)),
            ("module", Value::Text("tuned".to_owned())),
        ] {
            if let Some(node) = document.get(key).filter(|node| node.value != expected) {
                self.note(
                    node,
                    &format!("Open MPI does not look at `{key}`: the rules hold whatever it says"),
                );
            }
        }
        let found = document.get("collectives").ok_or_else(|| no_collectives(document))?;
        let Value::Object(entries) = &found.value else {
            return Err(ignored(found, "`collectives` is no object"));
        };
        let mut all: Vec<(u64, Vec<Range>)> = Vec::new();
        for (key, node) in entries {
            let Some(id) = id_of(key) else {
                let why = format!("`{key}` is no collective (allowed: {})", NAMES.join(", "));
                return Err(ignored(node, &why));
            };
            let called = name(id).unwrap_or_default();
            if key != called {
                self.note(node, &format!("Open MPI takes `{key}` for {called}"));
            }
            let Value::List(ranges) = &node.value else {
                return Err(ignored(node, &format!("`{key}` has no list of rules")));
            };
            let ranges = ranges
                .iter()
                .map(|range| self.range(id, range))
                .collect::<Result<_, _>>()?;
            if all.iter().any(|(other, _)| *other == id) {
                self.note(
                    node,
                    &format!("`{key}` stands there twice, and the last one holds; both are kept"),
                );
                all.retain(|(other, _)| *other != id);
            }
            all.push((id, ranges));
        }
        Ok(all)
    }

    fn range(&mut self, collective: u64, node: &Node) -> Result<Range, RulesError> {
        self.keys(
            node,
            &["comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"],
        );
        for key in ["comm_size_min", "comm_size_max"] {
            match node.get(key).map(|value| (value, integer(value))) {
                Some((value, None)) => return Err(ignored(value, &format!("`{key}` is no integer"))),
                Some((value, Some(number))) if i64::from(as_int(number)) != number => {
                    self.note(value, &format!("Open MPI takes this `{key}` for {}", as_int(number)));
                }
                _ => {}
            }
        }
        let (first, last) = bounds(node);
        if first > last {
            self.note(
                node,
                &format!("communicators of {first} to {last} ranks are none, so nothing of this holds"),
            );
        }
        if let Some(value) = node.get("comm_rank_distribution") {
            let Value::Text(word) = &value.value else {
                return Err(ignored(value, "`comm_rank_distribution` is no text"));
            };
            if !["any", "one-per-node", "single-node"].contains(&word.as_str()) {
                self.note(
                    value,
                    &format!("`comm_rank_distribution` is `{word}`, which Open MPI takes for `any`"),
                );
            }
        }
        let rules = match node.get("rules") {
            None => return Err(ignored(node, "`rules` is missing")),
            Some(rules) => match &rules.value {
                Value::List(rules) => rules,
                Value::Object(_) => {
                    return Err(RulesError {
                        line: rules.line,
                        message:
                            "`rules` is an object, of which Open MPI reads memory that it never set; make it a list"
                                .to_owned(),
                    });
                }
                _ => return Err(ignored(rules, "`rules` is no list")),
            },
        };
        let rules = rules.iter().map(|rule| self.rule(collective, rule));
        Ok(Range(rules.collect::<Result<_, _>>()?))
    }

    fn rule(&mut self, collective: u64, node: &Node) -> Result<Rule, RulesError> {
        self.keys(
            node,
            &["msg_size_min", "msg_size_max", "alg", "faninout", "seg_size", "reqs"],
        );
        for key in ["msg_size_min", "msg_size_max", "faninout", "seg_size", "reqs"] {
            if let Some(value) = node.get(key)
                && integer(value).is_none()
            {
                return Err(ignored(value, &format!("`{key}` is no integer")));
            }
        }
        let size = |key: &str, unsaid: i64| as_size(node.get(key).and_then(integer).unwrap_or(unsaid));
        let (first, last) = (size("msg_size_min", 0), size("msg_size_max", INF));
        if first > last {
            self.note(
                node,
                &format!("messages of {first} to {last} bytes are none, so this rule never holds"),
            );
        }
        let algorithm = match node.get("alg").map(|value| (value, &value.value)) {
            Some((_, Value::Integer(number))) => Algorithm::Number(*number),
            Some((_, Value::Text(name))) => Algorithm::Name(name.clone()),
            _ => {
                self.note(
                    node,
                    "`alg` is neither there as a number nor as a name: the rule leaves the choice to the library, and hides those behind it",
                );
                return Ok(Rule {
                    first,
                    last,
                    algorithm: Algorithm::Number(0),
                });
            }
        };
        if WITHOUT_ALGORITHMS.contains(&collective) {
            return Err(RulesError {
                line: node.line,
                message: format!(
                    "{} has no algorithms to choose from, and Open MPI ends every job by a signal where a rule names one; leave it out",
                    name(collective).unwrap_or_default()
                ),
            });
        }
        if !(self.knows)(collective, &algorithm) {
            let said = match &algorithm {
                Algorithm::Number(number) => number.to_string(),
                Algorithm::Name(name) => name.clone(),
            };
            self.note(
                node,
                &format!(
                    "Kilter knows no algorithm `{said}` of {}; a release that knows none either passes over the rule",
                    name(collective).unwrap_or_default()
                ),
            );
        }
        Ok(Rule { first, last, algorithm })
    }
}
