//! The comparison for the console and, with other rulings, for tickets.

use std::fmt::Write as _;

use kilter_render::sheet::{Entry, Sheet};
use kilter_render::table::printable;
use kilter_render::{format, quoting};

use super::Compared;
use super::pair::{Pair, Shift};

/// Tables for the console; no escape sequences.
#[must_use]
pub fn to_text(compared: &Compared) -> String {
    render(compared, Sheet::to_text, printable)
}

/// The comparison as Markdown.
#[must_use]
pub fn to_markdown(compared: &Compared) -> String {
    render(compared, Sheet::to_markdown, |line| {
        format!("- {}", quoting::markdown(line))
    })
}

fn render(compared: &Compared, sheet: fn(&Sheet) -> String, words: fn(&str) -> String) -> String {
    let mut out = String::new();
    for table in compared.sheets() {
        let text = sheet(&table);
        if !text.is_empty() {
            let _ = writeln!(out, "{text}");
        }
    }
    for pair in &compared.pairs {
        for table in changes(pair) {
            let text = sheet(&table);
            if !text.is_empty() {
                let _ = writeln!(out, "{text}");
            }
        }
        for line in conclusions(pair) {
            let _ = writeln!(out, "{}", words(&line));
        }
    }
    out
}

/// Regressions and improvements.
pub(super) fn changes(pair: &Pair) -> [Sheet; 2] {
    [
        (&pair.regressions, "Worse", "bad"),
        (&pair.improvements, "Better", "good"),
    ]
    .map(|(shifts, word, class)| Sheet {
        title: format!("{word} in {} than in {}", pair.other, pair.base),
        note: String::new(),
        heads: [
            "what",
            "guideline or function",
            "size",
            &pair.base,
            &pair.other,
            "factor",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: shifts.iter().map(|shift| row(shift, class)).collect(),
        names: 2,
        narrow: false,
    })
}

fn row(shift: &Shift, class: &'static str) -> Vec<Entry> {
    let factor = match shift.interval {
        Some(interval) => format!("{} {}", format::ratio(shift.factor), format::interval(interval)),
        None => format::ratio(shift.factor),
    };
    vec![
        Entry::text(shift.kind.word()),
        Entry::text(format!("{} {}", shift.guideline, shift.subject).trim()),
        Entry::text(format::bytes(shift.bytes)),
        Entry::text(&shift.from),
        Entry::with_class(&shift.to, class),
        Entry::text(factor),
    ]
}

/// The comparison in words: agreement, what moved, what was not compared.
pub(super) fn conclusions(pair: &Pair) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} against {}: {}, {}",
            pair.other,
            pair.base,
            format::count(pair.regressions.len(), "regression"),
            format::count(pair.improvements.len(), "improvement"),
        ),
        pair.agreement_line(),
        format!(
            "compared: {} and {} of functions; changes of less than {} do not count",
            format::count(pair.common, "cell"),
            format::count(pair.times, "time"),
            format::percent(pair.tolerance)
        ),
    ];
    if let Some(why) = &pair.times_apart {
        lines.push(format!("times are not compared: {why}"));
    }
    if pair.no_longer_decided + pair.newly_decided > 0 {
        lines.push(format!(
            "decided in {} only: {}; in {} only: {}",
            pair.base, pair.no_longer_decided, pair.other, pair.newly_decided
        ));
    }
    if pair.moved_but_holding > 0 {
        lines.push(format!(
            "{} moved beyond both intervals and still {}",
            format::count(pair.moved_but_holding, "ratio"),
            if pair.moved_but_holding == 1 { "holds" } else { "hold" }
        ));
    }
    for (label, only) in [(&pair.base, &pair.only_base), (&pair.other, &pair.only_other)] {
        if !only.is_empty() {
            lines.push(format!("only in {label}, not compared: {}", only.join("; ")));
        }
    }
    lines
}
