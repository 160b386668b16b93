//! Judgements as tables, before and after tuning.

use std::fmt::Write as _;

use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};
use kilter_stats::sample::Sample;

use super::{Judged, Judgement, Standing, Verdict};

/// A row for each target: the untouched library, and beside it the deployed settings if they were judged. `after` has
/// the same targets.
#[must_use]
pub fn sheet(before: &[Judgement], after: Option<&[Judgement]>) -> Sheet {
    let mut heads = vec!["target", "benchmark", "statement"];
    match after {
        None => heads.extend(["verdict", "median", "worst"]),
        Some(_) => heads.extend([
            "before",
            "median",
            "worst",
            "after",
            "median after",
            "worst after",
            "T_comm after / before",
        ]),
    }
    let rows = before.iter().map(|before| {
        let after = after.map(|after| after.iter().find(|after| after.target == before.target));
        let mut row = vec![
            Entry::text(before.target.as_str()),
            Entry::text(before.benchmark.name()),
            Entry::text(before.statement.as_str()),
        ];
        row.extend(columns(before));
        if let Some(after) = after {
            match after {
                Some(after) => {
                    row.extend(columns(after));
                    row.push(communication(after.communication));
                }
                None => row.extend((0..4).map(|_| Entry::text(format::NONE))),
            }
        }
        row
    });
    let rows: Vec<Vec<Entry>> = rows.collect();
    Sheet {
        title: "Overlap targets".to_owned(),
        note: note(after.unwrap_or(before)),
        heads: heads.into_iter().map(str::to_owned).collect(),
        rows,
        names: 3,
        narrow: false,
    }
}

/// A row for each judged cell of one target.
#[must_use]
pub fn cells(judgement: &Judgement) -> Sheet {
    let row = |cell: &Judged| {
        vec![
            Entry::text(format::bytes(cell.bytes)),
            Entry::text(format::seconds(cell.computation_ns as f64 * 1e-9)),
            Entry::text(cell.threads.to_string()),
            Entry::with_class(cell.verdict.name(), class(cell.verdict)),
            Entry::text(format::seconds(cell.seconds)),
            Entry::text(format::seconds(cell.allowed_seconds)),
            Entry::text(format!(
                "{} {}",
                format::ratio(cell.value),
                format::interval(cell.interval.into())
            )),
            Entry::text(if cell.verdict == Verdict::Masked {
                format::NONE.to_owned()
            } else {
                format::p_value(cell.p_adjusted)
            }),
        ]
    };
    let heads = [
        "size",
        "computation",
        "threads",
        "verdict",
        "T",
        "allowed",
        "value",
        "p adj.",
    ];
    Sheet {
        title: format!("{}: {}", judgement.target, judgement.statement),
        note: String::new(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: judgement.cells.iter().map(row).collect(),
        names: 3,
        narrow: false,
    }
}

/// The table for the console, and a line for each target that is not attainable.
#[must_use]
pub fn text(before: &[Judgement], after: Option<&[Judgement]>) -> String {
    let mut out = sheet(before, after).to_text();
    for judgement in after.unwrap_or(before) {
        if let Some(remark) = judgement.remark() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, " {}: {remark}", judgement.target);
        }
    }
    out
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "good",
        Verdict::Missed => "bad",
        Verdict::Undecided => "open",
        Verdict::Masked => "calm",
    }
}

/// Verdict, median and worst value.
fn columns(judgement: &Judgement) -> [Entry; 3] {
    let above_noise = || judgement.cells.iter().filter(|cell| cell.verdict != Verdict::Masked);
    let total = above_noise().count();
    let standing = judgement.standing();
    let (words, class) = match standing {
        Standing::Holds => (format!("holds in {total}"), "good"),
        Standing::Missed => (
            format!("missed in {} of {total}", judgement.count(Verdict::Missed)),
            if judgement.not_attainable_because().is_some() {
                "calm"
            } else {
                "bad"
            },
        ),
        Standing::Undecided => {
            let open = judgement.count(Verdict::Undecided) + judgement.unmeasured;
            (
                format!("undecided in {open} of {}", total + judgement.unmeasured),
                "open",
            )
        }
        Standing::Unknown if judgement.cells.is_empty() => (standing.name().to_owned(), "calm"),
        Standing::Unknown => (format!("near the noise in {}", judgement.cells.len()), "calm"),
    };
    let median = Sample::new(above_noise().map(|cell| cell.value).collect()).map_or(f64::NAN, |sample| sample.median());
    let worst = above_noise().map(|cell| cell.value).fold(f64::NAN, f64::max);
    [
        Entry::with_class(words, class),
        Entry::text(format::ratio(median)),
        Entry::text(format::ratio(worst)),
    ]
}

/// Change of the communication time. A slowdown may be the price of better overlap.
fn communication(change: f64) -> Entry {
    Entry::with_class(format::ratio(change), if change > 1.05 { "bad" } else { "" })
}

fn note(judgements: &[Judgement]) -> String {
    let launches = judgements.first().map_or([0, 0], |judgement| judgement.launches);
    let base =
        "Values are relative to the untouched library's times, so that slower communication does not count as overlap.";
    match launches {
        [_, 0] => base.to_owned(),
        [_, 1] => format!("{base} From one launch only: another launch may differ."),
        [before, after] => format!("{base} {after} launches against {before} of the untouched library."),
    }
}
