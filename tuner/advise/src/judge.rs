//! Rules applied to listings: which of them give advice, with which numbers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::listing::{ALL_RANKS, Listing, Unit};
use crate::quantity::{Quantity, Seen, Value};
use crate::rules::Rule;
use crate::template::shown;

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// Answer to a set of listings; the JSON of `kilter advise --format json`, whose schema is `configs/schema/advice.schema.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Listings that were read.
    pub listings: Vec<Read>,
    /// Advice, the most seconds first, then in the order of the rules.
    pub advice: Vec<Advice>,
    /// Rules for these forms that could not be judged, with the quantity whose counters a listing lacks.
    pub lacking: Vec<Lacking>,
    /// Number of rules for these forms, over all listings.
    pub rules: usize,
}

/// A listing that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Read {
    /// Id of its form.
    pub format: String,
    /// Name of its form.
    pub title: String,
    /// Its files.
    pub files: Vec<String>,
    /// Processes that have counters.
    pub processes: usize,
    /// Counters.
    pub counters: usize,
    /// True if it has a counter in seconds.
    pub has_times: bool,
}

/// A piece of advice.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// Id of the rule.
    pub id: String,
    /// The pattern that the counters show.
    pub title: String,
    /// Name of the listing's form.
    pub listing: String,
    /// Observation, with its numbers.
    pub seen: String,
    /// Counters that it rests on, the largest for each quantity.
    pub evidence: Vec<Evidence>,
    /// Seconds at stake, summed over processes as the listing has them; `null` where the listing does not tell.
    pub seconds: Option<f64>,
    /// Seconds at stake in words; says so where there are none.
    pub at_stake: String,
    /// Thing to set or change.
    pub change: String,
    /// Place of the change.
    pub place: String,
    /// Reason.
    pub why: String,
    /// Source of the advice.
    pub source: String,
    /// Command to run, or line to change.
    pub step: String,
}

/// A counter of a listing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    /// File.
    pub file: String,
    /// Line, from 1; 0 for a file that is no text.
    pub line: usize,
    /// Process.
    pub process: String,
    /// Name.
    pub counter: String,
    /// Value: events, bytes or seconds.
    pub value: f64,
}

/// A rule that was not judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lacking {
    /// Id of the rule.
    pub id: String,
    /// Name of the listing's form.
    pub listing: String,
    /// Names of the counters, any of which would do.
    pub counters: Vec<String>,
}

/// Applies all rules to all listings of their forms.
#[must_use]
pub fn judge(rules: &[Rule], listings: &[Listing]) -> Judged {
    let mut judged = Judged {
        schema: SCHEMA,
        listings: listings.iter().map(summary).collect(),
        advice: Vec::new(),
        lacking: Vec::new(),
        rules: 0,
    };
    for listing in listings {
        for rule in rules
            .iter()
            .filter(|rule| rule.formats.iter().any(|id| id == listing.format.id))
        {
            judged.rules += 1;
            match values(rule, listing) {
                Err(counters) => judged.lacking.push(Lacking {
                    id: rule.id.clone(),
                    listing: listing.format.title.to_owned(),
                    counters,
                }),
                Ok(values) => judged.advice.extend(advice(rule, listing, &values)),
            }
        }
    }
    // The sort is stable: what has no seconds keeps the order of the rules.
    judged
        .advice
        .sort_by(|a, b| b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0)));
    judged
}

fn summary(listing: &Listing) -> Read {
    Read {
        format: listing.format.id.to_owned(),
        title: listing.format.title.to_owned(),
        files: listing.files.clone(),
        processes: listing.processes.len(),
        counters: listing.processes.iter().map(|process| process.counters.len()).sum(),
        has_times: listing.has_times(),
    }
}

/// Values of a rule's quantities; the error has the counters that the listing lacks.
fn values<'a>(rule: &Rule, listing: &'a Listing) -> Result<BTreeMap<String, Value<'a>>, Vec<String>> {
    let mut values = BTreeMap::new();
    for (name, quantity) in &rule.quantities {
        if let Quantity::Counters(over, names) = quantity {
            let value = Quantity::of_counters(*over, names, listing).ok_or_else(|| names.clone())?;
            values.insert(name.clone(), value);
        }
    }
    for (name, quantity) in &rule.quantities {
        if let Quantity::Derived(expression, unit) = quantity {
            let number = expression.value(&|name| number(&values, name));
            let derived = Value {
                number,
                unit: *unit,
                at: None,
                name: None,
                seen: None,
            };
            values.insert(name.clone(), derived);
        }
    }
    Ok(values)
}

fn number(values: &BTreeMap<String, Value<'_>>, name: &str) -> f64 {
    values.get(name).map_or(f64::NAN, |value| value.number)
}

/// The rule's advice, if all of its comparisons hold.
fn advice(rule: &Rule, listing: &Listing, values: &BTreeMap<String, Value<'_>>) -> Option<Advice> {
    let number = |name: &str| number(values, name);
    if !rule.when.iter().all(|comparison| comparison.holds(&number)) {
        return None;
    }
    let of = |name: &str| values.get(name);
    let seconds = rule
        .seconds
        .as_ref()
        .map(|expression| expression.value(&number))
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    Some(Advice {
        id: rule.id.clone(),
        title: rule.title.clone(),
        listing: listing.format.title.to_owned(),
        seen: rule.seen.filled(&of),
        evidence: evidence(rule, values),
        at_stake: at_stake(seconds, listing),
        seconds,
        change: rule.change.filled(&of),
        place: rule.place.clone(),
        why: rule.why.clone(),
        source: rule.source.clone(),
        step: rule.step.filled(&of),
    })
}

fn at_stake(seconds: Option<f64>, listing: &Listing) -> String {
    let Some(seconds) = seconds else {
        return if listing.has_times() {
            "the listing has no time of this".to_owned()
        } else {
            "the listing has no times".to_owned()
        };
    };
    let seconds = shown(seconds, Unit::Seconds);
    match listing.processes.as_slice() {
        [_] => format!("up to {seconds}"),
        processes if processes.iter().any(|process| process.label == ALL_RANKS) => {
            format!("up to {seconds}, as the listing sums over ranks")
        }
        processes => format!("up to {seconds}, summed over {} processes", processes.len()),
    }
}

/// The largest counter of each quantity that the comparisons name, each once.
fn evidence(rule: &Rule, values: &BTreeMap<String, Value<'_>>) -> Vec<Evidence> {
    let mut names = Vec::new();
    rule.when.iter().for_each(|comparison| comparison.names(&mut names));
    for name in names.clone() {
        if let Some(Quantity::Derived(expression, _)) = rule.quantities.get(name) {
            expression.names(&mut names);
        }
    }
    let mut evidence: Vec<Evidence> = Vec::new();
    for Seen { process, counter } in names.iter().filter_map(|name| values.get(*name)?.seen) {
        let is_there =
            |one: &Evidence| one.file == process.file && one.line == counter.line && one.counter == counter.name;
        if !evidence.iter().any(is_there) {
            evidence.push(Evidence {
                file: process.file.clone(),
                line: counter.line,
                process: process.label.clone(),
                counter: counter.name.clone(),
                value: counter.value,
            });
        }
    }
    evidence
}

#[cfg(test)]
mod tests;
