//! Rules in JSON that others wrote, read as Open MPI reads them, and kept whole below Kilter's own.
//!
//! Open MPI takes more than its schema says: versions, modules and unknown keys are not looked at, a rule may be for communicators on
//! single nodes, an algorithm may have a name. So the document stays as it is, in its order, and rules of ours are put into it: before
//! each of its ranges of communicators the part for the sizes and nodes of ours, with our rules first and the range's own behind them, and ours alone behind all. What
//! is not understood is kept and named. What makes the library pass over the whole file in silence is an error.
//!
//! Source: `ompi/mca/coll/tuned/coll_tuned_dynamic_file.c` and `coll_tuned_dynamic_rules.c` of the development branch; never run.

mod reading;

use std::collections::BTreeSet;

pub use self::reading::Algorithm;
use self::reading::{Range, Reader, bounds, id_of, no_collectives};
use super::tree::{Node, Value};
use super::{Distribution, ForRanks, name, refused};
use crate::rules::{ByNodes, RulesError};

/// Rules that others wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Others {
    document: Node,
    collectives: Vec<(u64, Vec<Range>)>,
    notes: Vec<String>,
}

impl Others {
    /// Reads a file. `knows` tells if a collective, by its number, has an algorithm.
    ///
    /// # Errors
    /// Whatever makes the library ignore the whole file, or read memory that it never set.
    pub fn read(text: &str, knows: &dyn Fn(u64, &Algorithm) -> bool) -> Result<Others, RulesError> {
        let document = Node::parse(text)?;
        let mut reader = Reader::new(knows);
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
    pub fn under(&self, ours: &ByNodes) -> Result<String, RulesError> {
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
            // The last one holds of a collective that stands there twice.
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
    on: Distribution,
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
            on: range.comm_rank_distribution,
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
            if let Some(last) = last.filter(|last| first <= *last && meets(range, one.on)) {
                all.push(part(range, (first, last), one));
            }
        }
        all.push(range.clone());
    }
    all.extend(ours.iter().map(|one| one.node.clone()));
    all
}

/// Key of the nodes on which the ranks of a communicator lie.
const DISTRIBUTION: &str = "comm_rank_distribution";

/// True if a range of theirs may hold for communicators on such nodes.
fn meets(range: &Node, on: Distribution) -> bool {
    let one_each = Value::Text("one-per-node".to_owned());
    on == Distribution::Any || range.get(DISTRIBUTION).is_none_or(|word| word.value != one_each)
}

/// A range for some of its sizes and nodes alone, with rules of ours before its own.
fn part(range: &Node, (first, last): (u64, u64), ours: &Ours) -> Node {
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
    let mut replaced = vec!["comm_size_min", "comm_size_max", "rules"];
    if ours.on == Distribution::SingleNode {
        replaced.push(DISTRIBUTION);
        let word = Value::Text("single-node".to_owned());
        entries.push((DISTRIBUTION.to_owned(), unplaced(word)));
    }
    let further = range.entries().iter();
    entries.extend(further.filter(|(key, _)| !replaced.contains(&key.as_str())).cloned());
    entries.push((
        "rules".to_owned(),
        unplaced(Value::List([ours.rules.as_slice(), own].concat())),
    ));
    unplaced(Value::Object(entries))
}

#[cfg(test)]
mod tests;
