//! Mistakes in files of rules.

use std::ops::Range;

use crate::condition::ConditionError;
use crate::formats::FORMATS;
use crate::quantity::QuantityError;
use crate::template::TemplateError;

/// Mistake in a file of rules.
#[derive(Debug, thiserror::Error)]
pub(super) enum Mistake {
    /// The text is no TOML, or has other keys than rules have; in the parser's words, with line and column.
    #[error("{0}")]
    Unread(String),
    /// A rule cannot be used.
    #[error("line {line}: rule `{id}`: {what}")]
    Rule { line: usize, id: String, what: Box<Wrong> },
    /// Two rules have one id.
    #[error("the id `{0}` is another rule's; give this one another")]
    Twice(String),
}

/// A mistake in a rule, and its place in the text of the file.
#[derive(Debug)]
pub(super) struct At {
    pub(super) at: Range<usize>,
    pub(super) what: Wrong,
}

/// A mistake in a rule, by its key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    /// The id is no name.
    #[error("id: it is no name; allowed: letters, digits, `_` and `-`")]
    Id,
    /// The rule reads nothing.
    #[error("formats: none is named; allowed: {}", known_formats())]
    NoFormat,
    /// The rule reads a form that there is not.
    #[error("formats: `{0}` is not known; allowed: {known}", known = known_formats())]
    UnknownFormat(String),
    /// The rule always speaks.
    #[error("when: it has no comparison, such as `retries > 0`")]
    NoComparison,
    /// The rule has too many quantities.
    #[error("quantities: it has {given}; allowed: {most}")]
    ManyQuantities { given: usize, most: usize },
    /// A quantity cannot be used.
    #[error("quantities: {name}: {what}")]
    Quantity { name: String, what: WrongQuantity },
    /// A comparison, an expression or a sentence cannot be used.
    #[error("{key}: {what}")]
    Text { key: &'static str, what: WrongText },
}

/// A mistake in a quantity.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongQuantity {
    /// Its name is none.
    #[error("it is no name; allowed: a letter, then letters, digits and `_`")]
    Name,
    /// It cannot be read.
    #[error(transparent)]
    Unread(#[from] QuantityError),
    /// The pattern of its counters is too wide.
    #[error("`{counter}` has {stars} `*`; allowed: 2")]
    Stars { counter: String, stars: usize },
    /// Its expression has a name that no counter has.
    #[error("`{0}` is no quantity of counters of this rule")]
    NotOfCounters(String),
}

/// A mistake in a comparison, an expression or a sentence.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongText {
    /// It cannot be read as a comparison or an expression.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// It cannot be read as a sentence.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// It names what the rule does not compute.
    #[error("`{name}` is no quantity of the rule; allowed: {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    /// It names the process of a quantity of all.
    #[error("`{0}.at` is a process; allowed for max and min")]
    NoProcess(String),
    /// It names the name of a quantity of all.
    #[error("`{0}` has no name; allowed for largest")]
    NoName(String),
}

fn known_formats() -> String {
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    ids.join(", ")
}
