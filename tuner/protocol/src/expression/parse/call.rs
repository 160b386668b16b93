//! Calls: the operation, its size and attributes, and the communicator.

use kilter_algorithms::Collective;
use winnow::ascii::multispace0;
use winnow::token::take_while;
use winnow::{Parser, Result};

use super::error::{Fault, found, refuse};
use super::quantity::quantity;
use super::token::{AFTER_TERM, integer, matched, word};
use crate::expression::{Attributes, Call, Communicator, Counts, Form, Layout, Operation, Single};

pub(super) fn call(input: &mut &str) -> Result<Call, Fault> {
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
        "lane" => Communicator::Lane,
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
                "node, part:N, pair:A:B, leaders, lane, permuted, reversed, grid, grid_reordered",
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
