//! The parser of guideline expressions, and its errors.
//!
//! One function per rule of the grammar in [`super`]. An error is raised at the wrong token and is final: one token decides how the grammar goes
//! on, so there is nothing to go back to.

use kilter_algorithms::Collective;
use std::fmt;
use std::str::FromStr;

use winnow::ascii::multispace0;
use winnow::combinator::{opt, separated};
use winnow::error::ParserError;
use winnow::token::take_while;
use winnow::{Parser, Result};

use super::{
    Attributes, Call, Communicator, Counts, Factor, Form, Guideline, Layout, Operation, Quantity, Relation, Side,
    Single, Term,
};

/// A text that is no guideline expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The whole text.
    pub text: String,
    /// Byte offset of the error in `text`; `text.len()` if something is missing at the end.
    pub at: usize,
    /// The error.
    pub message: String,
    /// Words allowed there.
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

/// Reason and place at which parsing stopped; `remaining` is the number of bytes from there to the end.
#[derive(Debug)]
struct Fault {
    remaining: usize,
    message: String,
    allowed: String,
    /// True if a rule that knows the error raised it, rather than a token that did not match.
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

fn call(input: &mut &str) -> Result<Call, Fault> {
    let operation = operation(input)?;
    let needs_size = match &operation {
        Operation::Single(single) => single.has_size(),
        Operation::Collective(Some(Collective::Barrier), _) => false,
        _ => true,
    };
    let mut attributes = Attributes::default();
    let mut size = None;
    multispace0.parse_next(input)?;
    if needs_size {
        if !matched(input, "(")? {
            return refuse(
                input,
                format!("{} instead of the size of {operation}", found(input)),
                "`(n)`, `(n/2)`, `(n*q/p)` or another size in parentheses",
            );
        }
        size = Some(quantity(input)?);
        while matched(input, ",")? {
            attribute(input, &mut attributes)?;
        }
        if !matched(input, ")")? {
            return refuse(
                input,
                format!("{} in the parentheses", found(input)),
                "`)`, `*` or `/` and a number, or `,` and an attribute",
            );
        }
    } else if input.starts_with('(') {
        return refuse(input, format!("`{operation}` has no size"), AFTER_TERM);
    }
    multispace0.parse_next(input)?;
    let at = *input;
    let on = communicator(input)?;
    let takes_group = matches!(
        operation,
        Operation::Collective(..) | Operation::Single(Single::Sendrecv)
    );
    let takes_pair = matches!(
        operation,
        Operation::Single(Single::Send | Single::Ssend | Single::Rsend | Single::Isend | Single::Pingpong)
    );
    match on {
        Communicator::World => {}
        Communicator::Pair(..) if takes_pair => {}
        Communicator::Pair(..) => {
            return refuse(
                at,
                format!("`{operation}` is no message from one rank to another"),
                "a pair behind send, ssend, rsend, isend or pingpong",
            );
        }
        _ if takes_group => {}
        _ => {
            return refuse(
                at,
                format!("`{operation}` is made on all ranks"),
                "a communicator behind a collective or sendrecv",
            );
        }
    }
    Ok(Call {
        operation,
        size,
        attributes,
        on,
    })
}

fn operation(input: &mut &str) -> Result<Operation, Fault> {
    let at = *input;
    let name = word(input)?;
    match name {
        "p2p" => return point_to_point(input),
        "" => return refuse(at, format!("{} instead of a call", found(at)), calls()),
        _ => {}
    }
    if let Some(single) = Single::find(name) {
        return Ok(Operation::Single(single));
    }
    let known = |name: &str| match name {
        "A" => Some(None),
        name => name.parse().ok().map(Some),
    };
    for form in [Form::Blocking, Form::Persistent, Form::Nonblocking] {
        if let Some(function) = name.strip_prefix(form.prefix()).and_then(known) {
            return Ok(Operation::Collective(function, form));
        }
    }
    refuse(at, format!("`{name}` is no call"), calls())
}

fn point_to_point(input: &mut &str) -> Result<Operation, Fault> {
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
        Ok(Operation::PointToPoint(name.to_owned()))
    } else {
        refuse(
            at,
            format!("{} instead of the name of a schedule", found(at)),
            "lower-case letters, digits and `_`",
        )
    }
}

/// A product over a product.
fn quantity(input: &mut &str) -> Result<Quantity, Fault> {
    let what = match product(input)? {
        (quantity, ProductEnd::Factor) => return Ok(quantity),
        (_, ProductEnd::Operator('/')) => "a divisor",
        _ => "a size",
    };
    refuse(input, format!("{} instead of {what}", found(input)), FACTOR)
}

/// End of a product.
enum ProductEnd {
    /// Nothing: there is no factor at all.
    Begin,
    /// A factor, with no operator behind it.
    Factor,
    /// `*` or `/`, with no factor behind it.
    Operator(char),
}

/// Parses all factors, with `*` and `/` between them; returns them with the end of the product.
fn product(input: &mut &str) -> Result<(Quantity, ProductEnd), Fault> {
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

fn attribute(input: &mut &str, attributes: &mut Attributes) -> Result<(), Fault> {
    multispace0.parse_next(input)?;
    let at = *input;
    match word(input)? {
        "inplace" => attributes.in_place = true,
        "posted" => attributes.posted = true,
        "op" => {
            let (at, value) = value(input)?;
            if value != "user" {
                return refuse(at, format!("{} instead of an operator", found(at)), "user");
            }
            attributes.user_operator = true;
        }
        "counts" => {
            let (at, value) = value(input)?;
            match Counts::find(value) {
                Some(counts) => attributes.counts = counts,
                None => return refuse(at, format!("{} instead of counts", found(at)), Counts::names()),
            }
        }
        name @ ("type" | "sendtype" | "recvtype") => {
            let (at, value) = value(input)?;
            let Some(layout) = Layout::find(value) else {
                return refuse(at, format!("{} instead of a layout", found(at)), Layout::names());
            };
            if name != "recvtype" {
                attributes.sendtype = layout;
            }
            if name != "sendtype" {
                attributes.recvtype = layout;
            }
        }
        _ => {
            return refuse(
                at,
                format!("{} instead of an attribute", found(at)),
                "inplace, posted, op=, counts=, type=, sendtype=, recvtype=",
            );
        }
    }
    Ok(())
}

/// `=` and a word; also where the word stands.
fn value<'a>(input: &mut &'a str) -> Result<(&'a str, &'a str), Fault> {
    if !matched(input, "=")? {
        return refuse(input, format!("{} instead of `=`", found(input)), "`=` and a word");
    }
    multispace0.parse_next(input)?;
    let at = *input;
    Ok((at, word(input)?))
}

/// `{node}`; nothing for all ranks.
fn communicator(input: &mut &str) -> Result<Communicator, Fault> {
    if !matched(input, "{")? {
        return Ok(Communicator::World);
    }
    multispace0.parse_next(input)?;
    let at = *input;
    let communicator = match word(input)? {
        "node" => Communicator::Node,
        "leaders" => Communicator::Leaders,
        "permuted" => Communicator::Permuted,
        "reversed" => Communicator::Reversed,
        "grid" => Communicator::Grid,
        "grid_reordered" => Communicator::GridReordered,
        "part" => {
            if !matched(input, ":")? {
                return refuse(
                    input,
                    format!("{} instead of `:`", found(input)),
                    "`:` and the number of ranks of a part",
                );
            }
            multispace0.parse_next(input)?;
            if !input.starts_with(|c: char| c.is_ascii_digit()) {
                return refuse(
                    input,
                    format!("{} instead of a number of ranks", found(input)),
                    "a whole number from 1",
                );
            }
            Communicator::Part(integer(input)?)
        }
        "pair" => {
            let (at, from, to) = (*input, colon_and_rank(input)?, colon_and_rank(input)?);
            if from == to {
                return refuse(at, format!("rank {to} has no message for itself"), "two ranks");
            }
            Communicator::Pair(from, to)
        }
        _ => {
            return refuse(
                at,
                format!("{} instead of a communicator", found(at)),
                "node, part:N, pair:A:B, leaders, permuted, reversed, grid, grid_reordered",
            );
        }
    };
    if !matched(input, "}")? {
        return refuse(input, format!("{} instead of `}}`", found(input)), "`}`");
    }
    Ok(communicator)
}

/// `:` and a rank.
fn colon_and_rank(input: &mut &str) -> Result<u64, Fault> {
    if !matched(input, ":")? {
        return refuse(
            input,
            format!("{} instead of `:`", found(input)),
            "`:` and a rank, twice",
        );
    }
    multispace0.parse_next(input)?;
    let at = *input;
    let digits: &str = take_while(0.., |c: char| c.is_ascii_digit()).parse_next(input)?;
    match digits.parse() {
        Ok(rank) => Ok(rank),
        Err(_) => refuse(at, format!("{} instead of a rank", found(at)), "a rank, from 0"),
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

/// The word at the start of `rest`, for a message.
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
const FACTOR: &str = "a whole number, n, p, q or k";

fn calls() -> String {
    let functions: Vec<&str> = Collective::ALL.iter().map(|function| function.name()).collect();
    let singles: Vec<&str> = Single::ALL.iter().map(|single| single.name()).collect();
    format!(
        "a collective ({}), with `i` or `start_` before it for its other forms; A for each of the guideline's functions; \
         p2p.NAME; {}",
        functions.join(", "),
        singles.join(", ")
    )
}

#[cfg(test)]
mod tests;
