//! The parser of guideline expressions, and its errors.
//!
//! One function per rule of the grammar in [`super`]. An error is raised at the token that is wrong, and is final: the
//! grammar decides on one token what comes next, so there is nothing to go back to.

use std::fmt;
use std::str::FromStr;

use kilter_algorithms::Collective;
use winnow::ascii::multispace0;
use winnow::combinator::{opt, separated};
use winnow::error::ParserError;
use winnow::token::take_while;
use winnow::{Parser, Result};

use super::{Call, Guideline, Number, Side, Term};

/// MPI calls and words of the language that is planned, but not read by this version.
const FUTURE_WORDS: &[&str] = &[
    "allgatherv",
    "alltoallv",
    "alltoallw",
    "barrier",
    "get",
    "iallgather",
    "iallreduce",
    "ialltoall",
    "ibarrier",
    "ibcast",
    "igather",
    "irecv",
    "ireduce",
    "iscan",
    "iscatter",
    "isend",
    "pack",
    "put",
    "recv",
    "rsend",
    "send",
    "sendrecv",
    "ssend",
    "start",
    "unpack",
    "wait",
    "waitall",
    "win_fence",
];

/// A text that is no guideline expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The whole text.
    pub text: String,
    /// Where in `text` it is wrong, as a byte offset; `text.len()` where something is missing at the end.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// What may stand there.
    pub allowed: String,
}

impl ExpressionError {
    fn new(text: &str, fault: Fault) -> Self {
        let at = text.len().saturating_sub(fault.remaining);
        ExpressionError {
            text: text.to_owned(),
            at,
            message: fault.message,
            allowed: fault.allowed,
        }
    }

    /// The column of the error, in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.text.char_indices().take_while(|(at, _)| *at < self.at).count() + 1
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line of text above the caret, whatever white space the source had.
        let line: String = self
            .text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        writeln!(f, "guideline expression, column {}: {}", self.column(), self.message)?;
        writeln!(f, "  {line}")?;
        writeln!(f, "  {:>1$}", '^', self.column())?;
        write!(f, "  allowed here: {}", self.allowed)
    }
}

impl std::error::Error for ExpressionError {}

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

/// Why and where parsing stopped; `remaining` is the number of bytes from there to the end.
#[derive(Debug)]
struct Fault {
    remaining: usize,
    message: String,
    allowed: String,
    /// Raised by a rule that knows what is wrong, not by a token that did not match.
    refused: bool,
}

impl<'a> ParserError<&'a str> for Fault {
    type Inner = Self;

    fn from_input(input: &&'a str) -> Self {
        Fault {
            remaining: input.len(),
            message: String::new(),
            allowed: String::new(),
            refused: false,
        }
    }

    fn is_backtrack(&self) -> bool {
        !self.refused
    }

    fn into_inner(self) -> std::result::Result<Self::Inner, Self> {
        Ok(self)
    }
}

fn refuse<T>(at: &str, message: impl Into<String>, allowed: impl Into<String>) -> Result<T, Fault> {
    Err(Fault {
        remaining: at.len(),
        message: message.into(),
        allowed: allowed.into(),
        refused: true,
    })
}

fn whole_side(input: &mut &str) -> Result<Side, Fault> {
    let side = side(input)?;
    if input.starts_with("<=") {
        return refuse(input, "one side was expected, this is a whole guideline", AFTER_TERM);
    }
    end(input)?;
    Ok(side)
}

fn guideline(input: &mut &str) -> Result<Guideline, Fault> {
    let left_at = *input;
    let left = side(input)?;
    if !matched(input, "<=")? {
        return refuse(
            input,
            format!("{} instead of `<=` and the right side", found(input)),
            "`<=`, or `+` and a call",
        );
    }
    let right_at = *input;
    let right = side(input)?;
    end(input)?;
    let names_schedule = |side: &Side| side.terms.iter().any(|term| matches!(term.call, Call::PointToPoint(_)));
    if names_schedule(&left) {
        return refuse(
            left_at.trim_start(),
            "`p2p` on the left side",
            "library collectives; `p2p` bounds them from the right",
        );
    }
    if names_schedule(&right) && left.single().is_none() {
        return refuse(
            right_at.trim_start(),
            "`p2p` needs one plain collective on the left side, for it names a schedule of that collective",
            "library collectives; or make the left side one call such as `scan(n)`",
        );
    }
    Ok(Guideline { left, right })
}

fn side(input: &mut &str) -> Result<Side, Fault> {
    // A term takes the white space behind it along.
    let terms = separated(1.., term, '+').parse_next(input)?;
    Ok(Side { terms })
}

fn term(input: &mut &str) -> Result<Term, Fault> {
    multispace0.parse_next(input)?;
    let at = *input;
    let repeat = if at.starts_with(|c: char| c.is_ascii_digit()) {
        let times = integer(input)?;
        repeated(input, Number::Literal(times))?
    } else {
        match word(input)? {
            "k" => repeated(input, Number::K)?,
            "p" => return refuse(at, "`p` as a number is not supported yet", REPEAT),
            _ => {
                *input = at;
                Number::Literal(1)
            }
        }
    };
    multispace0.parse_next(input)?;
    let call = call(input)?;
    let divisor = size(input)?;
    Ok(Term { repeat, call, divisor })
}

/// The `*` after a repeat.
fn repeated(input: &mut &str, repeat: Number) -> Result<Number, Fault> {
    if matched(input, "*")? {
        return Ok(repeat);
    }
    let message = match repeat {
        Number::K => format!("`k` may only repeat a call or divide `n`; {} follows it", found(input)),
        Number::Literal(_) => format!("{} instead of `*` after the number of repeats", found(input)),
    };
    refuse(input, message, "`*`")
}

fn call(input: &mut &str) -> Result<Call, Fault> {
    let at = *input;
    match word(input)? {
        "p2p" => point_to_point(input),
        "" => refuse(at, format!("{} instead of a call", found(at)), calls()),
        name if FUTURE_WORDS.contains(&name) => refuse(at, format!("`{name}` is not supported yet"), calls()),
        name => match name.parse() {
            Ok(collective) => Ok(Call::Library(collective)),
            Err(_) => refuse(at, format!("`{name}` is not a collective"), calls()),
        },
    }
}

fn point_to_point(input: &mut &str) -> Result<Call, Fault> {
    if !matched(input, ".")? {
        return refuse(
            input,
            format!("{} after `p2p`", found(input)),
            "`.` and the name of a schedule, as in `p2p.ring`",
        );
    }
    multispace0.parse_next(input)?;
    let at = *input;
    let name = word(input)?;
    if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        Ok(Call::PointToPoint(name.to_owned()))
    } else {
        refuse(
            at,
            format!("{} instead of the name of a schedule", found(at)),
            "lower-case letters, digits and `_`",
        )
    }
}

/// `(n)` or `(n/divisor)`.
fn size(input: &mut &str) -> Result<Number, Fault> {
    if !matched(input, "(")? {
        return refuse(
            input,
            format!("{} instead of the size", found(input)),
            "`(n)`, `(n/2)` or `(n/k)`",
        );
    }
    multispace0.parse_next(input)?;
    let at = *input;
    match word(input)? {
        "n" => {}
        "k" => return refuse(at, "`k` as a size is not supported yet", SIZE),
        "p" => return refuse(at, "`p` as a size is not supported yet", SIZE),
        _ => return refuse(at, format!("{} instead of a size", found(at)), SIZE),
    }
    let divisor = if matched(input, "/")? {
        divisor(input)?
    } else {
        Number::Literal(1)
    };
    if !matched(input, ")")? {
        let message = match input.chars().next() {
            Some(sign @ ('+' | '-' | '*')) => format!("arithmetic with `{sign}` in a size is not supported yet"),
            _ => format!("{} in a size", found(input)),
        };
        return refuse(
            input,
            message,
            if divisor == Number::Literal(1) {
                "`)`, or `/` and a divisor"
            } else {
                "`)`"
            },
        );
    }
    multispace0.parse_next(input)?;
    if input.starts_with('{') {
        return refuse(
            input,
            "a sub-communicator such as `{node}` is not supported yet",
            AFTER_TERM,
        );
    }
    Ok(divisor)
}

fn divisor(input: &mut &str) -> Result<Number, Fault> {
    multispace0.parse_next(input)?;
    let at = *input;
    if at.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(Number::Literal(integer(input)?));
    }
    match word(input)? {
        "k" => Ok(Number::K),
        "p" => refuse(at, "`p` as a divisor is not supported yet", DIVISOR),
        _ => refuse(at, format!("{} instead of a divisor", found(at)), DIVISOR),
    }
}

/// A whole number from 1 that 64 bits hold.
fn integer(input: &mut &str) -> Result<u64, Fault> {
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
fn word<'a>(input: &mut &'a str) -> Result<&'a str, Fault> {
    take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)
}

/// Skips white space, and the symbol if it follows.
fn matched(input: &mut &str, symbol: &'static str) -> Result<bool, Fault> {
    multispace0.parse_next(input)?;
    Ok(opt(symbol).parse_next(input)?.is_some())
}

fn end(input: &mut &str) -> Result<(), Fault> {
    if input.is_empty() {
        Ok(())
    } else {
        refuse(input, format!("{} after the last call", found(input)), AFTER_TERM)
    }
}

/// What stands at the start of `rest`, for a message.
fn found(rest: &str) -> String {
    let word: String = rest
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .take(40)
        .collect();
    match rest.chars().next() {
        None => "the end".to_owned(),
        Some(sign) if word.is_empty() => format!("`{}`", sign.escape_debug()),
        Some(_) => format!("`{word}`"),
    }
}

const AFTER_TERM: &str = "`+` and a call, or the end";
const REPEAT: &str = "a whole number, `k`, or a call";
const SIZE: &str = "`n`, `n/` and a whole number, or `n/k`";
const DIVISOR: &str = "a whole number, or `k`";

fn calls() -> String {
    let names: Vec<&str> = Collective::ALL.iter().map(|collective| collective.name()).collect();
    format!("{}, p2p.NAME", names.join(", "))
}

#[cfg(test)]
mod tests;
