//! Writes, reads and checks values of variables that choose an algorithm by ranges of sizes. Reading follows the
//! library's own rules.
//!
//! * Intel MPI 2021: `ID[:COND[,COND...]][;...]`. A COND is `L` or `L-M`, in bytes, both ends included. The library ignores every
//!   other form, such as `7:0-max`, with a line on standard output that nobody reads (Developer Reference, "I_MPI_ADJUST Family
//!   Environment Variables", and measured on 2021.19). `scripts/probe-intel-ranges` found more on 2021.19: sizes that no range covers
//!   do not keep the library's choice. Only the upper end of a range is compared, and the last range goes on for ever. `0` is the
//!   library's basic selection. Conditions with numbers of ranks (`L-M@P-Q`) cannot be relied on: of several ranges of sizes for the
//!   same numbers the last one holds for all sizes.
//! * MVAPICH2 2.3: `ID`, or `ID:MIN-MAX[,...]` with `+` for no end. The value replaces the library's table on communicators of every
//!   size. Only the upper end of a range is compared, and the last range goes on for ever (source of 2.3). A value without a comma is
//!   a number for all sizes, whatever follows the digits. For some collectives numbers and lists have other algorithms (source and
//!   run of 2.3.7). A variable that takes sizes therefore gets a list of two entries or more, any other a number. While the
//!   operation's indexed table is on, as it is by default, ranges are dropped silently: the setting that switches it off belongs to
//!   the variable ([`beside`]).

use std::fmt::Write as _;

use crate::config::library::{Algorithms, AtStart, Form};

/// An algorithm for a range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranged {
    /// Its number.
    pub choice: u64,
    /// Sizes in bytes, as the library counts them, both ends included; `u64::MAX` means no end.
    pub bytes: (u64, u64),
}

/// Range of all sizes.
pub const ALL: (u64, u64) = (0, u64::MAX);

/// Error: a value that the library would not take as it is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` of `{name}`: {message}")]
pub struct RangedError {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The mistake, and what is allowed.
    pub message: String,
}

/// Text of the value. Ranges are ascending and do not overlap.
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
        if range.bytes == ALL {
            continue;
        }
        let _ = match (form, high) {
            (Form::Intel, _) => write!(text, ":{low}-{}", high.min(NO_END)),
            (Form::Mvapich2, u64::MAX) => write!(text, ":{low}-+"),
            (Form::Mvapich2, _) => write!(text, ":{low}-{high}"),
        };
    }
    text
}

/// The value that makes a choice for all sizes, in the form in which ranges are deployed.
#[must_use]
pub fn for_all(at_start: AtStart, choice: u64) -> String {
    let all = Ranged { choice, bytes: ALL };
    to_text(at_start.form, &as_deployed(at_start, vec![all]))
}

/// Splits a single range for MVAPICH2 in two if the variable may name sizes. For some numbers the library runs another
/// algorithm for a number by itself than for a list. It takes an entry by itself as a number, and only two entries as a
/// list.
fn as_deployed(at_start: AtStart, mut ranges: Vec<Ranged>) -> Vec<Ranged> {
    if let (Form::Mvapich2, Some(_), [only]) = (at_start.form, at_start.unit, ranges.as_mut_slice()) {
        let second = Ranged {
            bytes: (SPLIT + 1, only.bytes.1),
            ..*only
        };
        only.bytes.1 = SPLIT;
        ranges.push(second);
    }
    ranges
}

/// Bytes at which a list of one entry is cut in two; any value does.
const SPLIT: u64 = 1024;

/// Largest count that Intel MPI's calls take; it stands for "no end", for which there is no word.
const NO_END: u64 = 2_147_483_647;

/// Reads a value as the library does. Errors are values that the library would ignore or misread.
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
                    ranges.push(Ranged { choice, bytes: ALL });
                    continue;
                };
                for condition in conditions.split(',') {
                    if condition.contains('@') {
                        return Err(wrong(format!(
                            "`{condition}` says for which numbers of ranks; of several ranges of sizes for the same numbers the library heeds the \
                             last one alone, at all sizes; give sizes alone"
                        )));
                    }
                    let (low, high) = pair(condition)?;
                    ranges.push(Ranged {
                        choice,
                        bytes: (low, if high == NO_END { u64::MAX } else { high }),
                    });
                }
            }
        }
        Form::Mvapich2 if !value.contains([':', ',']) => ranges.push(Ranged {
            choice: number(value)?,
            bytes: ALL,
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
                });
            }
        }
    }
    Ok(ranges)
}

/// Algorithm that the library runs for a size in its own unit; `None` if it decides itself. Only upper ends are
/// compared.
#[must_use]
pub fn lookup(form: Form, ranges: &[Ranged], bytes: u64) -> Option<u64> {
    let first = ranges.iter().find(|range| bytes <= range.bytes.1);
    let choice = first.or_else(|| ranges.last())?.choice;
    (form.librarys_own() != Some(choice)).then_some(choice)
}

/// Reads a value and checks that it can be relied on: the library has the numbers, and the ranges leave no size to
/// chance. The error names the first mistake.
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
        let is_known = row.choices.iter().any(|choice| choice.value == range.choice);
        if !is_known && form.librarys_own() != Some(range.choice) {
            let last = row.choices.iter().map(|choice| choice.value).max().unwrap_or(0);
            return wrong(format!(
                "the library has no algorithm {}, and would go on with its own; the largest is {last}",
                range.choice
            ));
        }
    }
    let begins = ranges.first().map(|range| range.bytes.0);
    let ends = ranges.last().map(|range| range.bytes.1);
    let joined = ranges
        .windows(2)
        .all(|pair| pair[0].bytes.1.checked_add(1) == Some(pair[1].bytes.0));
    if begins != Some(0) || ends != Some(u64::MAX) || !joined {
        let end = match form {
            Form::Intel => "2147483647",
            Form::Mvapich2 => "+",
        };
        return wrong(format!(
            "the ranges must begin at 0, follow each other and end with `{end}`: the library compares upper ends alone, and takes the nearest range \
             for what is left out"
        ));
    }
    let is_list = row.at_start.is_some_and(|at_start| at_start.unit.is_some());
    if form == Form::Mvapich2 && is_list && ranges.len() == 1 {
        return wrong(format!(
            "by itself a number or an entry runs another algorithm than in a list for some numbers; say it in two: {}",
            row.at_start
                .map_or_else(String::new, |at_start| for_all(at_start, ranges[0].choice))
        ));
    }
    if form == Form::Mvapich2 && !is_list && ranges.len() > 1 {
        return wrong(
            "in a list it is not defined what runs: the library leaves the switches of two levels unset; give one number for all sizes".to_owned(),
        );
    }
    Ok(ranges)
}

/// Checks that the settings are made that the variable needs along with it. The error names a missing or different one.
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

/// Volumes for which a value of this variable chooses an algorithm, with the algorithm: the input from which
/// [`compose`] would make the value. Errors are those of [`check`].
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
    let choice = |volume: &u64| Some((*volume, lookup(at_start.form, &ranges, bytes(*volume))?));
    Ok(volumes.iter().filter_map(choice).collect())
}

/// Value that makes `chosen` hold. `chosen` has ascending volumes in bytes with a choice each, out of the measured
/// `volumes`. If the library cannot be told sizes, the last choice holds for all. `None` if nothing is chosen, or if no
/// variable chooses at the start.
#[must_use]
pub fn compose(row: &Algorithms, ranks: u64, volumes: &[u64], chosen: &[(u64, u64)]) -> Option<String> {
    let at_start = row.at_start?;
    let (_, last) = chosen.last()?;
    let Some(unit) = at_start.unit else {
        let all = Ranged {
            choice: *last,
            bytes: ALL,
        };
        return Some(to_text(at_start.form, &[all]));
    };
    let others = at_start.form.librarys_own();
    let mut ranges: Vec<Ranged> = Vec::new();
    for (volume, choice) in chosen {
        let around = super::range::around(volumes, *volume);
        let (mut low, mut high) = unit.range(around, ranks);
        if others.is_some() && high >= NO_END {
            high = u64::MAX;
        }
        if let Some(before) = ranges.last_mut() {
            if others.is_some() {
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
        });
    }
    if let Some(others) = others {
        ranges = with_others(&ranges, others);
    } else {
        if let Some(first) = ranges.first_mut() {
            first.bytes.0 = 0;
        }
        if let Some(last) = ranges.last_mut() {
            last.bytes.1 = u64::MAX;
        }
    }
    Some(to_text(at_start.form, &as_deployed(at_start, ranges)))
}

/// Ascending ranges, with `choice` for all sizes that they leave out.
fn with_others(ranges: &[Ranged], choice: u64) -> Vec<Ranged> {
    let mut all = Vec::new();
    let mut next = Some(0);
    for range in ranges {
        if let Some(from) = next.filter(|from| *from < range.bytes.0) {
            all.push(Ranged {
                choice,
                bytes: (from, range.bytes.0 - 1),
            });
        }
        all.push(*range);
        next = range.bytes.1.checked_add(1);
    }
    if let Some(from) = next {
        all.push(Ranged {
            choice,
            bytes: (from, u64::MAX),
        });
    }
    all
}

/// Border between two ranges that have a gap between them: the geometric mean.
fn middle(low: u64, high: u64) -> u64 {
    ((low as f64 * high as f64).sqrt() as u64).clamp(low, high.saturating_sub(1).max(low))
}

#[cfg(test)]
mod tests;
