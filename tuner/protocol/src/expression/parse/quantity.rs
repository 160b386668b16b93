//! Sizes and repeats: products over products of numbers and letters.

use winnow::ascii::multispace0;
use winnow::{Parser, Result};

use super::error::{Fault, found, refuse};
use super::token::{integer, matched, word};
use crate::expression::{Factor, Quantity};

/// Allowed factors, for errors.
pub(super) const FACTOR: &str = "a whole number, n, p, q or k";

/// A product over a product.
pub(super) fn quantity(input: &mut &str) -> Result<Quantity, Fault> {
    let what = match product(input)? {
        (quantity, ProductEnd::Factor) => return Ok(quantity),
        (_, ProductEnd::Operator('/')) => "a divisor",
        _ => "a size",
    };
    refuse(input, format!("{} instead of {what}", found(input)), FACTOR)
}

/// End of a product.
pub(super) enum ProductEnd {
    /// Nothing: there is no factor at all.
    Begin,
    /// A factor, with no operator behind it.
    Factor,
    /// `*` or `/`, with no factor behind it.
    Operator(char),
}

/// Parses all factors, with `*` and `/` between them; returns them with the end of the product.
pub(super) fn product(input: &mut &str) -> Result<(Quantity, ProductEnd), Fault> {
    let mut quantity = Quantity {
        times: Vec::new(),
        over: Vec::new(),
    };
    let mut end = ProductEnd::Begin;
    loop {
        multispace0.parse_next(input)?;
        let Some(number) = factor(input)? else {
            return Ok((quantity, end));
        };
        match end {
            ProductEnd::Operator('/') => quantity.over.push(number),
            _ => quantity.times.push(number),
        }
        end = if matched(input, "*")? {
            ProductEnd::Operator('*')
        } else if matched(input, "/")? {
            ProductEnd::Operator('/')
        } else {
            return Ok((quantity, ProductEnd::Factor));
        };
    }
}

/// A number or a letter; none where a call begins.
fn factor(input: &mut &str) -> Result<Option<Factor>, Fault> {
    let at = *input;
    if at.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(Some(Factor::Literal(integer(input)?)));
    }
    let letter = match word(input)? {
        "n" => Factor::N,
        "p" => Factor::P,
        "q" => Factor::Q,
        "k" => Factor::K,
        _ => {
            *input = at;
            return Ok(None);
        }
    };
    Ok(Some(letter))
}
