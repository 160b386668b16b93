//! Tokens: words, numbers, symbols, and the white space before them.

use winnow::ascii::multispace0;
use winnow::combinator::opt;
use winnow::token::take_while;
use winnow::{Parser, Result};

use super::error::{Fault, found, refuse};

/// Tokens that may follow a term, for errors.
pub(super) const AFTER_TERM: &str = "`+` and a call, or the end";

/// A whole number from 1 that 64 bits hold.
pub(super) fn integer(input: &mut &str) -> Result<u64, Fault> {
    let at = *input;
    let digits: &str = take_while(1.., |c: char| c.is_ascii_digit()).parse_next(input)?;
    match digits.parse() {
        Ok(0) => refuse(at, "0 is too small", "a whole number from 1"),
        Ok(value) => Ok(value),
        Err(_) => refuse(
            at,
            format!("{digits} is too large"),
            format!("a whole number from 1 to {}", u64::MAX),
        ),
    }
}

/// Letters, digits and `_`; empty where there are none.
pub(super) fn word<'a>(input: &mut &'a str) -> Result<&'a str, Fault> {
    take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)
}

/// Skips white space, and the symbol if it follows.
pub(super) fn matched(input: &mut &str, symbol: &'static str) -> Result<bool, Fault> {
    multispace0.parse_next(input)?;
    Ok(opt(symbol).parse_next(input)?.is_some())
}

pub(super) fn end(input: &mut &str) -> Result<(), Fault> {
    if input.is_empty() {
        Ok(())
    } else {
        refuse(input, format!("{} after the last call", found(input)), AFTER_TERM)
    }
}
