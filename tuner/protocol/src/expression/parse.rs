//! The parser of guideline expressions: whole guidelines, sides and terms.
//!
//! One function per rule of the grammar in [`super`]. An error is raised at the wrong token and is final: one token decides how the grammar goes
//! on, so there is nothing to go back to.

mod call;
mod error;
mod quantity;
#[cfg(test)]
mod tests;
mod token;

use std::str::FromStr;

use winnow::ascii::multispace0;
use winnow::combinator::separated;
use winnow::{Parser, Result};

use super::{Guideline, Operation, Quantity, Relation, Side, Term};
use call::call;
use error::{Fault, found, refuse};
use quantity::{FACTOR, ProductEnd, product};
use token::{AFTER_TERM, end, matched};

pub use error::ExpressionError;

impl FromStr for Side {
    type Err = ExpressionError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let mut input = text;
        whole_side(&mut input).map_err(|fault| ExpressionError::new(text, fault))
    }
}

impl FromStr for Guideline {
    type Err = ExpressionError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let mut input = text;
        guideline(&mut input).map_err(|fault| ExpressionError::new(text, fault))
    }
}

fn whole_side(input: &mut &str) -> Result<Side, Fault> {
    let side = side(input)?;
    if input.starts_with("<=") || input.starts_with('~') {
        return refuse(input, "one side was expected, this is a whole guideline", AFTER_TERM);
    }
    end(input)?;
    Ok(side)
}

fn guideline(input: &mut &str) -> Result<Guideline, Fault> {
    let left_at = *input;
    let left = side(input)?;
    let relation = if matched(input, "<=")? {
        Relation::AtMost
    } else if matched(input, "~")? {
        Relation::Similar
    } else {
        return refuse(
            input,
            format!("{} instead of `<=` or `~` and the right side", found(input)),
            "`<=`, `~`, or `+` and a call",
        );
    };
    let right_at = *input;
    let right = side(input)?;
    end(input)?;
    let names_schedule = |side: &Side| {
        side.terms
            .iter()
            .any(|term| matches!(term.call.operation, Operation::PointToPoint(_)))
    };
    if names_schedule(&left) {
        return refuse(
            left_at.trim_start(),
            "`p2p` on the left side",
            "library calls; `p2p` bounds them from the right",
        );
    }
    let is_collective = left.single().is_some() || (left.terms.len() == 1 && left.mentions_any());
    if names_schedule(&right) && !is_collective {
        return refuse(
            right_at.trim_start(),
            "`p2p` needs one plain collective on the left side, for it names a schedule of that collective",
            "library calls; or make the left side one call such as `scan(n)`",
        );
    }
    Ok(Guideline { left, relation, right })
}

fn side(input: &mut &str) -> Result<Side, Fault> {
    // A term takes the white space behind it along.
    let terms = separated(1.., term, '+').parse_next(input)?;
    Ok(Side { terms })
}

fn term(input: &mut &str) -> Result<Term, Fault> {
    let (mut repeat, end) = product(input)?;
    match end {
        ProductEnd::Operator('*') | ProductEnd::Begin => {}
        ProductEnd::Operator(_) => return refuse(input, format!("{} instead of a divisor", found(input)), FACTOR),
        ProductEnd::Factor => {
            return refuse(
                input,
                format!("{} instead of `*` after the number of repeats", found(input)),
                "`*` and a call, or `/` and a number",
            );
        }
    }
    if repeat.times.is_empty() {
        repeat = Quantity::one();
    }
    let call = call(input)?;
    multispace0.parse_next(input)?;
    Ok(Term { repeat, call })
}
