//! Rules in JSON that others wrote, read as Open MPI reads them, and kept whole below Kilter's own.
//!
//! Open MPI takes more than its schema says: versions, modules and unknown keys are not looked at, a rule may be for communicators on
//! single nodes, an algorithm may have a name. So the document stays as it is, in its order, and rules of ours are put into it: before
//! each of its ranges of communicators the part for the sizes of ours, with our rules first and the range's own behind them, and ours alone behind all. What
//! is not understood is kept and named. What makes the library pass over the whole file in silence is an error.
//!
//! Source: `ompi/mca/coll/tuned/coll_tuned_dynamic_file.c` and `coll_tuned_dynamic_rules.c` of the development branch; never run.

use std::collections::BTreeSet;

use super::tree::{Node, Value};
use super::{ForRanks, NAMES, name, refused, starts};
use crate::rules::{LONG_MAX, Rules, RulesError};

/// Rules that others wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Others {
    document: Node,
    collectives: Vec<(u64, Vec<Range>)>,
    notes: Vec<String>,
}

/// Rules for communicators of some sizes; the first that fits a message holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Range(Vec<Rule>);

impl Range {
    /// True if messages of different sizes get different algorithms.
    fn switches(&self) -> bool {
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

impl Others {
    /// Reads a file. `knows` tells if a collective, by its number, has an algorithm.
    ///
    /// # Errors
    /// Whatever makes the library ignore the whole file, or read memory that it never set.
    pub fn read(text: &str, knows: &dyn Fn(u64, &Algorithm) -> bool) -> Result<Others, RulesError> {
        let document = Node::parse(text)?;
        let mut reader = Reader {
            notes: Vec::new(),
            knows,
        };
        let collectives = reader.collectives(&document)?;
        Ok(Others {
            document,
            collectives,
            notes: reader.notes,
        })
    }

    /// Remarks on what the library does not take as it is written, a line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Collectives whose rules switch on message size, for some communicators.
    #[must_use]
    pub fn switched_on_size(&self) -> BTreeSet<u64> {
        let all = self
            .collectives
            .iter()
            .filter(|(_, ranges)| ranges.iter().any(Range::switches));
        all.map(|(id, _)| *id).collect()
    }

    /// The file's text with `ours` above these rules.
    ///
    /// # Errors
    /// A collective of ours without a name, or a text that does not read back as it was written.
    pub fn under(&self, ours: &Rules) -> Result<String, RulesError> {
        let mut document = self.document.clone();
        let Value::Object(entries) = &mut document.value else {
            return Err(no_collectives(&self.document));
        };
        let place = entries.iter_mut().find(|(key, _)| key == "collectives");
        let Some((
            _,
            Node {
                value: Value::Object(theirs),
                ..
            },
        )) = place
        else {
            return Err(no_collectives(&self.document));
        };
        for (id, ranges) in ours.in_ranges()? {
            let ours: Vec<Ours> = ranges.iter().map(Ours::new).collect::<Result<_, _>>()?;
            // Of a collective that stands there twice the last one holds.
            match theirs.iter_mut().rev().find(|(key, _)| id_of(key) == Some(id)) {
                Some((_, node)) => node.value = Value::List(laid_over(&ours, node)),
                None => theirs.push((
                    name(id).unwrap_or_default().to_owned(),
                    unplaced(Value::List(ours.into_iter().map(|one| one.node).collect())),
                )),
            }
        }
        let text = document.to_text();
        let read = Node::parse(&text)?;
        if read.to_text() == text {
            Ok(text)
        } else {
            Err(RulesError {
                line: 1,
                message: "the merged rules do not read back as they were written; please report this".to_owned(),
            })
        }
    }
}

/// A range of ours.
struct Ours {
    first: u64,
    last: u64,
    rules: Vec<Node>,
    node: Node,
}

impl Ours {
    fn new(range: &ForRanks) -> Result<Ours, RulesError> {
        let node = Node::parse(&serde_json::to_string(range).map_err(refused)?)?;
        let rules = match node.get("rules").map(|rules| &rules.value) {
            Some(Value::List(rules)) => rules.clone(),
            _ => Vec::new(),
        };
        Ok(Ours {
            first: range.comm_size_min,
            last: range.last(),
            rules,
            node,
        })
    }
}

/// A node that was not read from a file.
fn unplaced(value: Value) -> Node {
    Node { line: 0, value }
}

/// The ranges of one collective with ours above them.
fn laid_over(ours: &[Ours], theirs: &Node) -> Vec<Node> {
    let Value::List(ranges) = &theirs.value else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for range in ranges {
        let (first, last) = bounds(range);
        for one in ours {
            let first = one.first.max(u64::try_from(first).unwrap_or(0));
            let last = u64::try_from(last).ok().map(|last| one.last.min(last));
            if let Some(last) = last.filter(|last| first <= *last) {
                all.push(part(range, (first, last), &one.rules));
            }
        }
        all.push(range.clone());
    }
    all.extend(ours.iter().map(|one| one.node.clone()));
    all
}

/// A range for some of its sizes alone, with other rules before its own.
fn part(range: &Node, (first, last): (u64, u64), rules: &[Node]) -> Node {
    let own = match range.get("rules").map(|rules| &rules.value) {
        Some(Value::List(own)) => own.as_slice(),
        _ => &[],
    };
    // A range of ours has no end where the library's `int` ends.
    let number = |ranks: u64| unplaced(Value::Integer(i64::from(i32::try_from(ranks).unwrap_or(i32::MAX))));
    let mut entries = vec![
        ("comm_size_min".to_owned(), number(first)),
        ("comm_size_max".to_owned(), number(last)),
    ];
    let further = range
        .entries()
        .iter()
        .filter(|(key, _)| !["comm_size_min", "comm_size_max", "rules"].contains(&key.as_str()));
    entries.extend(further.cloned());
    entries.push(("rules".to_owned(), unplaced(Value::List([rules, own].concat()))));
    unplaced(Value::Object(entries))
}

/// Sizes of communicators for which a range holds.
fn bounds(range: &Node) -> (i32, i32) {
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
fn id_of(key: &str) -> Option<u64> {
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

fn no_collectives(document: &Node) -> RulesError {
    ignored(document, "there is no object `collectives`")
}

fn ignored(node: &Node, why: &str) -> RulesError {
    RulesError {
        line: node.line,
        message: format!("{why}, so Open MPI ignores the whole file without a word"),
    }
}

struct Reader<'k> {
    notes: Vec<String>,
    knows: &'k dyn Fn(u64, &Algorithm) -> bool,
}

impl Reader<'_> {
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

    fn collectives(&mut self, document: &Node) -> Result<Vec<(u64, Vec<Range>)>, RulesError> {
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

#[cfg(test)]
mod tests;
