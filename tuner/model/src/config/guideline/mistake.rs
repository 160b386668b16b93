//! Mistakes in guidelines.

use kilter_algorithms::Collective;
use kilter_protocol::expression::ExpressionError;
use kilter_protocol::task::NoTask;

use super::{FAMILIES, Kind};

/// Mistake in a file with a guideline.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mistake {
    /// The family is none.
    #[error("family `{0}` is no meta-rule; allowed: {known}", known = FAMILIES.join(", "))]
    Family(String),
    /// The id is no name, or a family's.
    #[error("id `{0}` is no name; allowed: letters, digits, `_` and `-`, and not a family's name")]
    Id(String),
    /// A function is no collective.
    #[error("functions: `{0}` is not a collective; allowed: {known}", known = collectives())]
    UnknownFunction(String),
    /// A function is named again.
    #[error("functions: `{0}` stands there twice; remove one")]
    Twice(Collective),
    /// A pattern has no statement.
    #[error("a pattern needs `guideline = \"left <= right\"`")]
    NoStatement,
    /// A statement is given where functions are asked for.
    #[error("a {} guideline takes `functions`, not `guideline`", .0.name())]
    Statement(Kind),
    /// No function is given.
    #[error("a {} guideline needs `functions`", .0.name())]
    NoFunctions(Kind),
    /// A function without one volume.
    #[error("a {} guideline is stated for collectives with one volume, not for `{function}`", kind.name())]
    NoVolume { kind: Kind, function: Collective },
    /// The statement is no pattern.
    #[error("guideline: {0}")]
    Pattern(#[from] NoPattern),
}

/// Reason why a statement is no pattern.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPattern {
    /// It cannot be read.
    #[error(transparent)]
    Unread(#[from] ExpressionError),
    /// It has an `A` that nothing stands for.
    #[error("`A` needs `functions`, which stand for it in turn")]
    NoFunctions,
    /// It has no `A` for the functions.
    #[error("`functions` stand for an `A`, and there is none")]
    NoA,
    /// It has a `k` without values.
    #[error("`k` needs its values, as in `k = [1024, 16384]`; for any split, use kind = \"split\"")]
    NoValues,
    /// It has no `k` for the values.
    #[error("`k` has values, but does not occur")]
    NoK,
    /// A value of `k` is 0.
    #[error("a `k` of 0 divides nothing")]
    Zero,
    /// Its left side does nothing that can be checked.
    #[error(transparent)]
    Task(#[from] NoTask),
    /// It names a schedule that there is not.
    #[error("`p2p.{name}` is no algorithm for {of}; known: {}", known.join(", "))]
    NoAlgorithm {
        name: String,
        of: Collective,
        known: Vec<&'static str>,
    },
}

fn collectives() -> String {
    let names: Vec<&str> = Collective::ALL.iter().map(|function| function.name()).collect();
    names.join(", ")
}
