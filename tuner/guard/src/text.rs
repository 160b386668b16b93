//! A night for people.

use std::fmt::Write as _;

use kilter_render::format;
use kilter_render::table::{plain, printable, trimmed};
use kilter_stats::verdict::Outcome;

use crate::changes::Change;
use crate::deployed::{self, Acts, Guideline, State};
use crate::night::{Night, Standing};
use crate::nodes::{Map, OfKind, Slow};
use crate::times::{Pace, Timed};

/// Names of hosts that are shown; the rest is counted.
const SHOWN: usize = 5;

/// Columns of the map; among more hosts the slow ones and their factors are enough.
const WIDEST_MAP: usize = 16;

/// The whole night.
#[must_use]
pub fn render(night: &Night) -> String {
    let mut out = format!("{}\n", heading(night));
    let mut section = |title: &str, body: &str| {
        if !body.is_empty() {
            let _ = write!(out, "\n{title}\n{body}");
        }
    };
    let lines = |lines: Vec<String>| {
        let line = |line: String| format!("  {}\n", printable(&line));
        lines.into_iter().map(line).collect::<String>()
    };
    section("Changed", &lines(night.changes.iter().map(change).collect()));
    let deployed = night.deployed.iter().map(deployed_change);
    let guidelines = night.guidelines.iter().map(guideline);
    section("Deployed", &lines(deployed.chain(guidelines).collect()));
    section("Times", &times(&night.times));
    if let Some(map) = &night.nodes {
        section("Hosts", &hosts(map));
    }
    section("Not checked", &lines(unchecked(night)));
    let _ = write!(out, "\n{}\n", conclusion(night));
    out
}

/// Both sides of a comparison, on a line.
pub(crate) fn heading(night: &Night) -> String {
    let on = match night.hosts.as_slice() {
        hosts if hosts.len() <= SHOWN => hosts.join(", "),
        hosts => format::count(hosts.len(), "host"),
    };
    let ranks = format::count(night.ranks, "rank");
    let with = match &night.accepted {
        Some(accepted) => format!(
            "compared with run {} of {}, and {} since",
            accepted.run,
            accepted.started,
            format::count(accepted.silent_nights, "silent night")
        ),
        None => "nothing to compare with yet".to_owned(),
    };
    format!("{}, {ranks} on {on}: {with}", night.library)
}

/// `kernel: 6.1 -> 6.2, on n03`.
#[must_use]
pub fn change(change: &Change) -> String {
    let on = match change.hosts.as_slice() {
        [] => String::new(),
        hosts => format!(", on {}", some(hosts)),
    };
    let text = |text: &str| {
        if text.is_empty() {
            "nothing".to_owned()
        } else {
            text.to_owned()
        }
    };
    format!("{}: {} -> {}{on}", change.subject, text(&change.from), text(&change.to))
}

fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A deployed change in a line.
#[must_use]
pub fn deployed_change(change: &deployed::Change) -> String {
    let because = match &change.acts {
        Acts::Yes(because) | Acts::No(because) | Acts::Unknown(because) => because,
    };
    format!("{} {}: {because}", change.id, state(change.state()))
}

/// A state in words.
pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Acts => "acts",
        State::NoLonger => "no longer acts",
        State::NotInForce => "is not in force here",
        State::Unknown => "cannot be checked",
    }
}

/// The verdict on a fixed guideline in words.
pub(crate) fn verdict(guideline: &Guideline) -> &'static str {
    match guideline.comparison.as_ref().map(|comparison| comparison.verdict) {
        None => "not measured",
        Some(Outcome::Holds) => "holds",
        Some(Outcome::Violated) => "is violated",
        Some(Outcome::Undecided | Outcome::Unstable | Outcome::Screened) => "is not decided",
    }
}

/// A fixed guideline in a line.
#[must_use]
pub fn guideline(guideline: &Guideline) -> String {
    let name = format!("{} ({})", guideline.cell, guideline.expression);
    let Some(comparison) = &guideline.comparison else {
        return format!("{name}: {}", verdict(guideline));
    };
    let numbers = format!(
        "ratio {} {}, p {}",
        format::ratio(comparison.ratio),
        format::interval(comparison.ratio_ci),
        format::p_value(comparison.p_adjusted)
    );
    let expected = if guideline.is_expected {
        ""
    } else {
        "; its fix is not in force"
    };
    format!("{name} {}: {numbers}{expected}", verdict(guideline))
}

/// A watched cell in a line.
#[must_use]
pub fn timed(timed: &Timed) -> String {
    match (timed.seconds, timed.ratio, timed.interval) {
        (Some(seconds), Some(ratio), Some(interval)) => format!(
            "{} -> {}, ratio {} {}, p {}, {} counts",
            format::seconds(timed.accepted_seconds),
            format::seconds(seconds),
            format::ratio(ratio),
            format::interval(interval),
            format::p_value(timed.p_adjusted),
            format::percent((timed.tolerance * 1e3).round() / 1e3)
        ),
        _ => format!("{} -> not measured", format::seconds(timed.accepted_seconds)),
    }
}

fn times(all: &[Timed]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let heads = [
        "cell",
        "accepted",
        "tonight",
        "ratio",
        "95 % interval",
        "p",
        "counts from",
        "",
    ];
    let mut table = plain(&heads, &[1, 2, 3, 4, 5, 6]);
    for one in all {
        let seconds = one.seconds.map_or_else(|| "-".to_owned(), format::seconds);
        let ratio = one.ratio.map_or_else(|| "-".to_owned(), format::ratio);
        let interval = one.interval.map_or_else(|| "-".to_owned(), format::interval);
        table.add_row([
            printable(&one.cell),
            format::seconds(one.accepted_seconds),
            seconds,
            ratio,
            interval,
            format::p_value(one.p_adjusted),
            format::ratio(1.0 + one.tolerance),
            match one.pace {
                Pace::Same => String::new(),
                Pace::Slower => "SLOWER".to_owned(),
                Pace::NotMeasured => "not measured".to_owned(),
            },
        ]);
    }
    trimmed(&table) + "\n"
}

/// A slow host or pair in a line.
#[must_use]
pub fn slow(slow: &Slow) -> String {
    let what = match slow.hosts.as_slice() {
        [host] => host.clone(),
        pair => format!("between {}", pair.join(" and ")),
    };
    format!(
        "SLOW {what}: {} {} times that of the others, p {}",
        match slow.kind {
            crate::nodes::Kind::Latency => "small messages take",
            crate::nodes::Kind::Bandwidth => "large messages take",
        },
        format::ratio(slow.factor),
        format::p_value(slow.p_adjusted)
    )
}

fn hosts(map: &Map) -> String {
    let mut out = String::new();
    for one in &map.slow {
        let _ = writeln!(out, "  {}", printable(&slow(one)));
    }
    if map.slow.is_empty() {
        out.push_str("  none is slower than the others\n");
    }
    for kind in &map.kinds {
        let _ = write!(
            out,
            "\n{} of {}, there and back over the usual pair's {}:\n{}\n",
            kind.kind.word(),
            format::bytes(kind.bytes),
            format::seconds(kind.seconds),
            matrix(map, kind)
        );
    }
    out
}

/// Times of pairs over the usual pair's; the last column is what each host does to its messages.
fn matrix(map: &Map, kind: &OfKind) -> String {
    let count = map.hosts.len();
    let is_wide = count > WIDEST_MAP;
    let columns = if is_wide { 0 } else { count };
    let names: Vec<String> = (0..columns).map(|number| (number + 1).to_string()).collect();
    let heads: Vec<&str> = std::iter::once("host")
        .chain(names.iter().map(String::as_str))
        .chain(["factor"])
        .collect();
    let numeric: Vec<usize> = (1..heads.len()).collect();
    let mut table = plain(&heads, &numeric);
    for (row, host) in map.hosts.iter().enumerate() {
        let field = |column: usize| {
            let (a, b) = (row.min(column), row.max(column));
            let pair = kind.pairs.iter().find(|pair| pair.hosts == (a, b));
            pair.map_or_else(String::new, |pair| format::ratio(pair.seconds / kind.seconds))
        };
        let factor = kind.factors.get(row).copied().flatten();
        let factor = factor.map_or_else(|| "-".to_owned(), format::ratio);
        let slow = map
            .slow
            .iter()
            .any(|slow| slow.kind == kind.kind && slow.hosts.as_slice() == [host.clone()]);
        let mark = if slow { " <" } else { "" };
        let fields = (0..columns).map(field);
        let name = std::iter::once(format!("{} {}", row + 1, printable(host)));
        table.add_row(name.chain(fields).chain([factor + mark]));
    }
    trimmed(&table)
}

fn unchecked(night: &Night) -> Vec<String> {
    night.unchecked.clone()
}

/// The last line: what follows.
#[must_use]
pub fn conclusion(night: &Night) -> String {
    let accepted = if night.accepted.is_none() {
        format!(
            "Accepted: {} and the times of {}. Later nights are compared with them.",
            format::count(night.facts, "fact"),
            format::count(night.watched, "cell")
        )
    } else {
        "Accepted: later nights are compared with this one.".to_owned()
    };
    let compared = match night.standing() {
        Standing::Silent if night.accepted.is_none() => String::new(),
        Standing::Silent => format!(
            "Nothing changed: {} and the times of {} are as accepted. In ten nights of nothing, one alarm or more of a time has a \
             probability of at most {}.",
            format::count(night.facts, "fact"),
            format::count(night.watched, "cell"),
            format::percent(night.alpha)
        ),
        Standing::Differs if night.accepts => "Something differs from before.".to_owned(),
        Standing::Differs => {
            "Something changed. If it is meant, `kilter guard --accept` makes it what later nights are compared with."
                .to_owned()
        }
        Standing::Unchecked => "Nothing was found to be changed, and not everything could be checked.".to_owned(),
    };
    let parts = [compared, if night.accepts { accepted } else { String::new() }];
    let said = parts.into_iter().filter(|part| !part.is_empty());
    said.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
