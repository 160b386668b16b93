//! Quantities: what a rule computes of a listing's counters before it compares.

use std::collections::HashMap;

use serde::Deserialize;

use crate::condition::{ConditionError, Expression};
use crate::listing::{Counter, Listing, Process, Unit};

/// A quantity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Quantity {
    /// Counters of these names, put together over the processes.
    Counters(Over, Vec<String>),
    /// An expression over quantities of counters.
    Derived(Expression, Unit),
}

/// Way from the counters of several processes to one value. A process's value is the sum of its counters that match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Sum over processes.
    Sum,
    /// Largest process.
    Max,
    /// Smallest process that has such a counter.
    Min,
    /// Mean of the processes that have such a counter.
    Mean,
    /// Sum over processes of the one name whose sum is the largest.
    Largest,
}

/// A quantity as a file writes it: one of the keys, such as `{ sum = ["a", "b*"] }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    sum: Option<Vec<String>>,
    max: Option<Vec<String>>,
    min: Option<Vec<String>>,
    mean: Option<Vec<String>>,
    largest: Option<Vec<String>>,
    value: Option<String>,
    unit: Option<String>,
}

/// Mistake in a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuantityError {
    /// Two keys say what it is.
    #[error("it has two of sum, max, min, mean, largest, value; allowed: one")]
    Two,
    /// No key says what it is.
    #[error("it has none of sum, max, min, mean, largest, value; allowed: one")]
    Nothing,
    /// The list of counters is empty.
    #[error("it names no counter; name one or more, `*` stands for any text")]
    NoCounter,
    /// Counters are given a unit.
    #[error("`unit` goes with `value`; counters have their own")]
    UnitOfCounters,
    /// The unit is none.
    #[error("unit `{0}` is not known; allowed: count, bytes, seconds, share, ratio")]
    UnknownUnit(String),
    /// The expression cannot be read.
    #[error("value: {0}")]
    Value(#[from] ConditionError),
}

impl Written {
    /// The quantity. The error says what is allowed.
    pub(crate) fn read(self) -> Result<Quantity, QuantityError> {
        let ways = [
            (Over::Sum, self.sum),
            (Over::Max, self.max),
            (Over::Min, self.min),
            (Over::Mean, self.mean),
            (Over::Largest, self.largest),
        ];
        let mut given = ways.into_iter().filter_map(|(over, names)| Some((over, names?)));
        let first = given.next();
        if given.next().is_some() || (first.is_some() && self.value.is_some()) {
            return Err(QuantityError::Two);
        }
        match (first, self.value, self.unit) {
            (Some((_, names)), ..) if names.is_empty() => Err(QuantityError::NoCounter),
            (Some((over, names)), _, None) => Ok(Quantity::Counters(over, names)),
            (Some(_), _, Some(_)) => Err(QuantityError::UnitOfCounters),
            (None, Some(text), unit) => {
                let unit = unit.as_deref().map_or(Ok(Unit::Ratio), unit_of)?;
                Ok(Quantity::Derived(Expression::parse(&text)?, unit))
            }
            (None, None, _) => Err(QuantityError::Nothing),
        }
    }
}

fn unit_of(word: &str) -> Result<Unit, QuantityError> {
    Ok(match word {
        "count" => Unit::Count,
        "bytes" => Unit::Bytes,
        "seconds" => Unit::Seconds,
        "share" => Unit::Share,
        "ratio" => Unit::Ratio,
        _ => return Err(QuantityError::UnknownUnit(word.to_owned())),
    })
}

/// A counter, with the process that printed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) process: &'a Process,
    pub(crate) counter: &'a Counter,
}

/// A quantity's value in a listing.
#[derive(Debug, Clone)]
pub(crate) struct Value<'a> {
    pub(crate) number: f64,
    pub(crate) unit: Unit,
    /// Process of the largest or smallest value.
    pub(crate) at: Option<&'a str>,
    /// The largest name, up to its last dot.
    pub(crate) name: Option<&'a str>,
    /// The largest counter that counts.
    pub(crate) seen: Option<Seen<'a>>,
}

impl Quantity {
    /// The value of counters in a listing; `None` where it has no such counter and would print one of 0.
    pub(crate) fn of_counters<'a>(over: Over, names: &[String], listing: &'a Listing) -> Option<Value<'a>> {
        let is_named = |counter: &Counter| names.iter().any(|name| is_match(name, &counter.name));
        let is_named = &is_named;
        let matching = || {
            let of = |process: &'a Process| process.counters.iter().map(move |counter| Seen { process, counter });
            listing
                .processes
                .iter()
                .flat_map(of)
                .filter(move |seen| is_named(seen.counter))
        };
        let Some(first) = matching().next() else {
            return listing.format.leaves_out_zeros.then_some(Value {
                number: 0.0,
                unit: Unit::Count,
                at: None,
                name: None,
                seen: None,
            });
        };
        let mut value = Value {
            number: 0.0,
            unit: first.counter.unit,
            at: None,
            name: None,
            seen: None,
        };
        // Sums in the order of the listing, by process or by name.
        let mut sums: Vec<(&'a str, f64)> = Vec::new();
        let mut known: HashMap<(&'a str, &'a str), usize> = HashMap::new();
        for seen in matching() {
            let key = match over {
                Over::Largest => (seen.counter.name.as_str(), ""),
                _ => (seen.process.label.as_str(), seen.process.file.as_str()),
            };
            let at = *known.entry(key).or_insert_with(|| {
                sums.push((key.0, 0.0));
                sums.len() - 1
            });
            sums[at].1 += seen.counter.value;
        }
        let largest = sums
            .iter()
            .copied()
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        let smallest = sums
            .iter()
            .copied()
            .reduce(|best, next| if next.1 < best.1 { next } else { best });
        let total: f64 = sums.iter().map(|(_, sum)| sum).sum();
        match over {
            Over::Sum => value.number = total,
            Over::Mean => value.number = total / sums.len() as f64,
            Over::Max => (value.at, value.number) = largest.map_or((None, 0.0), |(key, sum)| (Some(key), sum)),
            Over::Min => (value.at, value.number) = smallest.map_or((None, 0.0), |(key, sum)| (Some(key), sum)),
            Over::Largest => value.number = largest.map_or(0.0, |(_, sum)| sum),
        }
        let name = (over == Over::Largest)
            .then_some(largest)
            .flatten()
            .map(|(name, _)| name);
        let at = value.at;
        value.name = name.map(|name| name.rsplit_once('.').map_or(name, |(stem, _)| stem));
        value.seen = matching()
            .filter(|seen| {
                name.is_none_or(|name| name == seen.counter.name) && at.is_none_or(|at| at == seen.process.label)
            })
            .reduce(|best, next| {
                if next.counter.value > best.counter.value {
                    next
                } else {
                    best
                }
            });
        Some(value)
    }
}

/// True if a name is of a pattern, in which each `*` stands for any text. A pattern has at most two.
pub(crate) fn is_match(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    match after.split_once('*') {
        None => rest.ends_with(after),
        Some((middle, end)) => rest
            .find(middle)
            .is_some_and(|at| rest[at + middle.len()..].ends_with(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, wanted) in [
            ("a.calls", "a.calls", true),
            ("a.calls", "b.calls", false),
            ("*.time", "allreduce.time", true),
            ("*.time", "allreduce.calls", false),
            ("retries * for *", "retries of buffers for all", true),
            ("aa*aa", "aaa", false),
            ("*", "", true),
            ("ü*", "üß", true),
        ] {
            assert_eq!(is_match(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn processes_are_put_together_as_the_quantity_says() {
        let text = "activity on process rank 0\n send calls 2 time 1.0\n recv calls 1 time 5.0\n\
                    activity on process rank 1\n send calls 6 time 3.0\n recv calls 1 time 0.5\n";
        let listing = formats::read(text, "a.log").unwrap().remove(0);
        let of = |over, name: &str| Quantity::of_counters(over, &[name.to_owned()], &listing).unwrap();
        assert_eq!(of(Over::Sum, "send.calls").number, 8.0);
        assert_eq!(of(Over::Mean, "send.calls").number, 4.0);
        let max = of(Over::Max, "*.time");
        assert_eq!((max.number, max.at), (6.0, Some("rank 0")));
        assert_eq!(max.seen.unwrap().counter.name, "recv.time");
        assert_eq!(of(Over::Min, "*.time").at, Some("rank 1"));
        let largest = of(Over::Largest, "*.time");
        assert_eq!((largest.number, largest.name), (5.5, Some("recv")));
        assert_eq!(of(Over::Sum, "ssend.calls").number, 0.0);
    }
}
