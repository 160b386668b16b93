//! Guideline expressions: `allreduce(n) <= reduce_scatter_block(n) + allgather(n)`.
//!
//! Grammar (white space is free between tokens):
//!
//! ```text
//! guideline = side "<=" side
//! side      = term { "+" term }
//! term      = [ repeat "*" ] call
//! repeat    = integer | "k"
//! call      = collective "(" size ")" | "p2p" "." algorithm "(" size ")"
//! size      = "n" [ "/" divisor ]
//! divisor   = integer | "k"
//! ```
//!
//! `p2p.NAME` is Kilter's own schedule over point-to-point calls for the collective on the guideline's left side: the
//! registry's row `<collective>.NAME`, a constraining implementation in the sense of Traeff et al. 2010, guideline (35).

use std::fmt;

use kilter_algorithms::Collective;

pub use parse::ExpressionError;

mod parse;

/// `left <= right`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guideline {
    /// The functionality that should not be slower.
    pub left: Side,
    /// What bounds it.
    pub right: Side,
}

/// Calls one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Side {
    /// At least one.
    pub terms: Vec<Term>,
}

/// A call, perhaps several times.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// How often.
    pub repeat: Number,
    /// What.
    pub call: Call,
    /// The call's volume is `n / divisor`.
    pub divisor: Number,
}

/// A number in an expression: given, or the split factor `k` that is filled in per cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Number {
    /// A literal, at least 1.
    Literal(u64),
    /// The split factor of split-robustness.
    K,
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    /// The library's collective.
    Library(Collective),
    /// Kilter's algorithm of this name for the left side's collective.
    PointToPoint(String),
}

impl Side {
    /// One plain library call on `n`.
    #[must_use]
    pub fn of(collective: Collective) -> Side {
        Side {
            terms: vec![Term {
                repeat: Number::Literal(1),
                call: Call::Library(collective),
                divisor: Number::Literal(1),
            }],
        }
    }

    /// The collective, where the side is one plain library call on `n`.
    #[must_use]
    pub fn single(&self) -> Option<Collective> {
        match self.terms.as_slice() {
            [
                Term {
                    repeat: Number::Literal(1),
                    call: Call::Library(collective),
                    divisor: Number::Literal(1),
                },
            ] => Some(*collective),
            _ => None,
        }
    }

    /// The calls, where every term is a plain library call on `n`.
    #[must_use]
    pub fn plain_calls(&self) -> Option<Vec<Collective>> {
        self.terms
            .iter()
            .map(|term| match term {
                Term {
                    repeat: Number::Literal(1),
                    call: Call::Library(collective),
                    divisor: Number::Literal(1),
                } => Some(*collective),
                _ => None,
            })
            .collect()
    }

    /// The same with `k` filled in.
    #[must_use]
    pub fn with_k(&self, k: u64) -> Side {
        let fill = |number: Number| match number {
            Number::K => Number::Literal(k),
            literal @ Number::Literal(_) => literal,
        };
        Side {
            terms: self
                .terms
                .iter()
                .map(|term| Term {
                    repeat: fill(term.repeat),
                    call: term.call.clone(),
                    divisor: fill(term.divisor),
                })
                .collect(),
        }
    }

    /// Whether any call divides its buffer into `p` blocks.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.terms
            .iter()
            .any(|term| matches!(term.call, Call::Library(collective) if collective.has_blocks()))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Literal(value) => write!(f, "{value}"),
            Number::K => f.write_str("k"),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.repeat != Number::Literal(1) {
            write!(f, "{} * ", self.repeat)?;
        }
        match &self.call {
            Call::Library(collective) => write!(f, "{collective}")?,
            Call::PointToPoint(name) => write!(f, "p2p.{name}")?,
        }
        if self.divisor == Number::Literal(1) {
            f.write_str("(n)")
        } else {
            write!(f, "(n/{})", self.divisor)
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(" + ")?;
            }
            write!(f, "{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Guideline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.left, self.right)
    }
}
