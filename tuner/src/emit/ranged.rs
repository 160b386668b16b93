//! Values of variables that choose an algorithm by ranges of sizes: written, read back by the library's own rules, and checked.
//!
//! * Intel MPI 2021: `ID[:COND[,COND...]][;...]`, a COND being `L`, `L-M`, `L@P` or `L-M@P-Q`: bytes and numbers of ranks, both ends
//!   included; everything else, such as `7:0-max`, is ignored with a line on standard output that nobody reads (Developer Reference,
//!   "I_MPI_ADJUST Family Environment Variables", and measured on 2021.19). What no condition covers is chosen as ever.
//! * MVAPICH2 2.3: `ID`, or `ID:MIN-MAX[,...]` with `+` for no end. It replaces the library's table on communicators of every size; of a
//!   range only the upper end is compared, and the last range goes on for ever (source of 2.3). Where the operation's indexed table is
//!   on, as it is by default, ranges are dropped without a word: what switches it off belongs to the variable ([`beside`]).

use std::fmt::Write as _;

use crate::config::library::{Algorithms, Form};

/// An algorithm for a range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranged {
    /// Its number.
    pub choice: u64,
    /// Sizes in bytes, as the library counts them, both ends included; to `u64::MAX`: no end.
    pub bytes: (u64, u64),
    /// Numbers of ranks, both ends included; `None`: any.
    pub ranks: Option<(u64, u64)>,
}

/// All sizes.
pub const ALL: (u64, u64) = (0, u64::MAX);

/// A value that the library would not take as it is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` of `{name}`: {message}")]
pub struct RangedError {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

/// The value. Ranges are ascending and do not overlap.
#[must_use]
pub fn to_text(form: Form, ranges: &[Ranged]) -> String {
    let mut text = String::new();
    for range in ranges {
        let (low, high) = range.bytes;
        let separator = match (text.is_empty(), form) {
            (true, _) => "",
            (false, Form::Intel) => ";",
            (false, Form::Mvapich2) => ",",
        };
        let _ = write!(text, "{separator}{}", range.choice);
        if range.bytes == ALL && (form == Form::Mvapich2 || range.ranks.is_none()) {
            continue;
        }
        let _ = match (form, high) {
            (Form::Intel, _) => write!(text, ":{low}-{}", high.min(NO_END)),
            (Form::Mvapich2, u64::MAX) => write!(text, ":{low}-+"),
            (Form::Mvapich2, _) => write!(text, ":{low}-{high}"),
        };
        if let (Form::Intel, Some((from, to))) = (form, range.ranks) {
            let _ = write!(text, "@{from}-{to}");
        }
    }
    text
}

/// Intel MPI has no word for "no end": the largest count that its calls take.
const NO_END: u64 = 2_147_483_647;

/// Reads a value as the library does.
///
/// # Errors
/// What the library would ignore or misread.
pub fn parse(form: Form, name: &str, value: &str) -> Result<Vec<Ranged>, RangedError> {
    let wrong = |message: String| RangedError {
        name: name.to_owned(),
        value: value.to_owned(),
        message,
    };
    let number = |text: &str| -> Result<u64, RangedError> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let read = text.parse().ok().filter(|_| digits);
        read.ok_or_else(|| wrong(format!("`{text}` is no number; allowed: digits alone")))
    };
    let pair = |text: &str| -> Result<(u64, u64), RangedError> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let (low, high) = match (form, high) {
            (Form::Mvapich2, "+") => (number(low)?, u64::MAX),
            _ => (number(low)?, number(high)?),
        };
        if low > high {
            return Err(wrong(format!("the range `{text}` ends before it begins")));
        }
        Ok((low, high))
    };
    let mut ranges = Vec::new();
    match form {
        Form::Intel => {
            for entry in value.split(';') {
                let (id, conditions) = entry
                    .split_once(':')
                    .map_or((entry, None), |(id, rest)| (id, Some(rest)));
                let choice = number(id)?;
                let Some(conditions) = conditions else {
                    ranges.push(Ranged {
                        choice,
                        bytes: ALL,
                        ranks: None,
                    });
                    continue;
                };
                for condition in conditions.split(',') {
                    let (bytes, ranks) = condition
                        .split_once('@')
                        .map_or((condition, None), |(bytes, ranks)| (bytes, Some(ranks)));
                    let (low, high) = pair(bytes)?;
                    ranges.push(Ranged {
                        choice,
                        bytes: (low, if high == NO_END { u64::MAX } else { high }),
                        ranks: ranks.map(pair).transpose()?,
                    });
                }
            }
        }
        Form::Mvapich2 if !value.contains([':', ',']) => ranges.push(Ranged {
            choice: number(value)?,
            bytes: ALL,
            ranks: None,
        }),
        Form::Mvapich2 => {
            for entry in value.split(',') {
                let (id, bytes) = entry
                    .split_once(':')
                    .filter(|(_, bytes)| bytes.contains('-'))
                    .ok_or_else(|| wrong(format!("`{entry}` is not ID:MIN-MAX")))?;
                ranges.push(Ranged {
                    choice: number(id)?,
                    bytes: pair(bytes)?,
                    ranks: None,
                });
            }
        }
    }
    Ok(ranges)
}

/// What the library runs for a size, as it counts sizes, on so many ranks; `None`: what it would have run anyway.
#[must_use]
pub fn lookup(form: Form, ranges: &[Ranged], bytes: u64, ranks: u64) -> Option<u64> {
    let within = |(low, high): (u64, u64), value: u64| (low..=high).contains(&value);
    match form {
        Form::Intel => ranges
            .iter()
            .find(|range| within(range.bytes, bytes) && range.ranks.is_none_or(|allowed| within(allowed, ranks)))
            .map(|range| range.choice),
        Form::Mvapich2 => ranges
            .iter()
            .find(|range| bytes <= range.bytes.1)
            .or_else(|| ranges.last())
            .map(|range| range.choice),
    }
}

/// Whether the value says what can be relied on: numbers that the library has, ranges without overlap, and without gaps where it has
/// nothing to fall back to. What it returns is what was read.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(row: &Algorithms, form: Form, value: &str) -> Result<Vec<Ranged>, RangedError> {
    let name = &row.parameter;
    let ranges = parse(form, name, value)?;
    let wrong = |message: String| {
        Err(RangedError {
            name: name.clone(),
            value: value.to_owned(),
            message,
        })
    };
    for range in &ranges {
        if !row.choices.iter().any(|choice| choice.value == range.choice) {
            let last = row.choices.iter().map(|choice| choice.value).max().unwrap_or(0);
            return wrong(format!(
                "the library has no algorithm {}, and would go on with its own; the largest is {last}",
                range.choice
            ));
        }
    }
    for (index, range) in ranges.iter().enumerate() {
        let overlap = ranges[..index].iter().find(|other| {
            let ranks = match (other.ranks, range.ranks) {
                (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
                _ => true,
            };
            ranks && other.bytes.0 <= range.bytes.1 && range.bytes.0 <= other.bytes.1
        });
        if let Some(other) = overlap {
            return wrong(format!(
                "the ranges of {} and {} overlap, and which one counts is not documented",
                other.choice, range.choice
            ));
        }
    }
    if !form.leaves_others() {
        let begins = ranges.first().map(|range| range.bytes.0);
        let ends = ranges.last().map(|range| range.bytes.1);
        let joined = ranges
            .windows(2)
            .all(|pair| pair[0].bytes.1.checked_add(1) == Some(pair[1].bytes.0));
        if begins != Some(0) || ends != Some(u64::MAX) || !joined {
            return wrong("the ranges must begin at 0, follow each other and end with `+`: the library compares upper ends alone, and has no other choice for what is left out".to_owned());
        }
    }
    Ok(ranges)
}

/// Whether what must be set along with a variable is set, too.
///
/// # Errors
/// What is missing or has another value.
pub fn beside(row: &Algorithms, value: &str, variables: &[(String, String)]) -> Result<(), RangedError> {
    let is_set = |(name, wanted): &(&String, &String)| {
        variables
            .iter()
            .any(|(other, value)| other == *name && value == *wanted)
    };
    match row.together.iter().find(|pair| !is_set(pair)) {
        None => Ok(()),
        Some((name, wanted)) => Err(RangedError {
            name: row.parameter.clone(),
            value: value.to_owned(),
            message: format!("the library would not heed it without `{name}={wanted}` beside it"),
        }),
    }
}

/// The volumes for which a value of this variable chooses, with what it chooses: what [`compose`] would make it from.
///
/// # Errors
/// A value that [`check`] refuses.
pub fn standing(row: &Algorithms, ranks: u64, volumes: &[u64], value: &str) -> Result<Vec<(u64, u64)>, RangedError> {
    let Some(at_start) = row.at_start else {
        return Ok(Vec::new());
    };
    let ranges = check(row, at_start.form, value)?;
    let bytes = |volume: u64| {
        at_start
            .unit
            .map_or(volume, |unit| unit.range((volume, volume), ranks).0)
    };
    let choice = |volume: &u64| Some((*volume, lookup(at_start.form, &ranges, bytes(*volume), ranks)?));
    Ok(volumes.iter().filter_map(choice).collect())
}

/// The value that makes `chosen` hold: volumes in bytes with a choice each, ascending, out of the `volumes` that were measured. Where
/// the library cannot be told sizes, the last one holds for all. `None` where nothing is chosen, or no variable chooses at the start.
#[must_use]
pub fn compose(row: &Algorithms, ranks: u64, volumes: &[u64], chosen: &[(u64, u64)]) -> Option<String> {
    let at_start = row.at_start?;
    let (_, last) = chosen.last()?;
    let all = |choice: u64| Ranged {
        choice,
        bytes: ALL,
        ranks: at_start.form.leaves_others().then_some((ranks, ranks)),
    };
    let Some(unit) = at_start.unit else {
        return Some(to_text(at_start.form, &[all(*last)]));
    };
    let mut ranges: Vec<Ranged> = Vec::new();
    for (volume, choice) in chosen {
        let around = super::range::around(volumes, *volume);
        let (mut low, high) = unit.range(around, ranks);
        if let Some(before) = ranges.last_mut() {
            if at_start.form.leaves_others() {
                // Blocks of neighbouring volumes may be the same where a volume is not a multiple of the ranks.
                low = low.max(before.bytes.1.saturating_add(1));
                if low > high {
                    continue;
                }
            } else {
                let middle = middle(before.bytes.1, low);
                before.bytes.1 = middle;
                low = middle + 1;
            }
            if before.choice == *choice && before.bytes.1 + 1 == low {
                before.bytes.1 = high.max(before.bytes.1);
                continue;
            }
        }
        ranges.push(Ranged {
            choice: *choice,
            bytes: (low, high.max(low)),
            ranks: all(*choice).ranks,
        });
    }
    if !at_start.form.leaves_others() {
        if let Some(first) = ranges.first_mut() {
            first.bytes.0 = 0;
        }
        if let Some(last) = ranges.last_mut() {
            last.bytes.1 = u64::MAX;
        }
    }
    Some(to_text(at_start.form, &ranges))
}

/// Where two ranges meet that have a gap between them.
fn middle(low: u64, high: u64) -> u64 {
    ((low as f64 * high as f64).sqrt() as u64).clamp(low, high.saturating_sub(1).max(low))
}

#[cfg(test)]
mod tests;
