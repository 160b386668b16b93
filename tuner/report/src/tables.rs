//! The tables of PGMPI (Hunold, Carpen-Amarie, Träff, EuroMPI 2016, doi:10.1145/2966884.2966906): violations per type (its
//! table 2), libraries side by side (table 3), function against message size (table 4). For one report or several.
//!
//! As there, a guideline of a function counts as violated if it is violated at any size. The state in force counts: the deployed one if cells
//! were measured again with it, else the untouched library's.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::report::{Cell, Report};
use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};
use kilter_stats::verdict::Outcome;

use super::summary::{self, Group, Standing, Summary, current, kind_letter};

/// Worst first: where several cells share a place, the worst is shown.
pub(super) const ORDER: [Standing; 9] = [
    Standing::Introduced,
    Standing::Violated,
    Standing::Unproven,
    Standing::NotAgain,
    Standing::Fixed,
    Standing::Unstable,
    Standing::Undecided,
    Standing::Screened,
    Standing::Holds,
];

/// A report under the name that heads its column.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// Column head.
    pub name: &'a str,
    /// The report that is counted.
    pub report: &'a Report,
}

/// PGMPI's table 2: per number of ranks and type, violated of all: functions for monotony and split-robustness, guidelines for
/// patterns.
#[must_use]
pub fn by_type(columns: &[Column<'_>]) -> Sheet {
    let key = |group: &Group<'_>| (group.ranks, kind_place(group.kind), kind_letter(group.kind).to_owned());
    let mut sheet = shares(columns, &["ranks", "type"], key, |(ranks, _, letter)| {
        vec![Entry::text(ranks.to_string()), Entry::text(letter)]
    });
    "Violations by type".clone_into(&mut sheet.title);
    "Violated of verified. Types: m monotony and s split-robustness (functions), p pattern (guidelines)."
        .clone_into(&mut sheet.note);
    sheet
}

/// Violated guidelines per function: which collective breaks how many of its guidelines.
#[must_use]
pub fn by_function(columns: &[Column<'_>]) -> Sheet {
    let key = |group: &Group<'_>| (group.ranks, group.function.to_owned());
    let mut sheet = shares(columns, &["ranks", "function"], key, |(ranks, function)| {
        vec![Entry::text(ranks.to_string()), Entry::text(format::function(&function))]
    });
    "Violations by function".clone_into(&mut sheet.title);
    "Violated guidelines of those verified.".clone_into(&mut sheet.note);
    sheet
}

fn shares<K: Ord>(
    columns: &[Column<'_>],
    heads: &[&str],
    key: impl Fn(&Group<'_>) -> K,
    names: impl Fn(K) -> Vec<Entry>,
) -> Sheet {
    let mut counted: BTreeMap<K, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        for group in &Summary::of(column.report).groups {
            let row = counted.entry(key(group)).or_insert_with(|| vec![(0, 0); columns.len()]);
            row[index].0 += usize::from(group.now().violated > 0);
            row[index].1 += 1;
        }
    }
    let share = |(violated, total): (usize, usize)| match (violated, total) {
        (_, 0) => Entry::text(""),
        (0, total) => Entry::with_class(format!("0/{total}"), "calm"),
        (violated, total) => Entry::with_class(format!("{violated}/{total}"), "bad"),
    };
    Sheet {
        title: String::new(),
        note: String::new(),
        heads: heads
            .iter()
            .copied()
            .chain(columns.iter().map(|column| column.name))
            .map(str::to_owned)
            .collect(),
        names: heads.len(),
        rows: counted
            .into_iter()
            .map(|(key, row)| names(key).into_iter().chain(row.into_iter().map(share)).collect())
            .collect(),
        narrow: false,
    }
}

/// PGMPI's table 3, for all types: which guidelines each library violates, at how many sizes and which. Guidelines that none
/// violates are only counted.
#[must_use]
pub fn side_by_side(columns: &[Column<'_>]) -> Sheet {
    let summaries: Vec<Summary<'_>> = columns.iter().map(|column| Summary::of(column.report)).collect();
    let mut all: Vec<&Group<'_>> = summaries.iter().flat_map(|summary| &summary.groups).collect();
    all.sort_by(|a, b| summary::order(a, b).then_with(|| a.expression.cmp(&b.expression)));
    // Sides may have different numbers of ranks: that is no other guideline.
    let mut seen = BTreeSet::new();
    all.retain(|group| seen.insert((group.guideline, group.function, group.expression.as_str())));
    let mut silent = 0;
    let mut rows = Vec::new();
    for guideline in all {
        let entries: Vec<Entry> = summaries
            .iter()
            .map(|summary| {
                let there = summary.groups.iter().find(|group| same_guideline(group, guideline));
                there.map_or_else(|| Entry::text(""), violated_sizes)
            })
            .collect();
        if entries.iter().all(|entry| entry.class != "bad") {
            silent += 1;
            continue;
        }
        let mut row = vec![
            Entry::text(kind_letter(guideline.kind)),
            Entry::text(guideline.guideline),
            Entry::text(&guideline.expression),
        ];
        row.extend(entries);
        rows.push(row);
    }
    Sheet {
        title: "Violated guidelines side by side".to_owned(),
        note: format!(
            "● violated, at how many of the verified sizes, and which; · at none; blank: not verified. {} violated by none.",
            format::count(silent, "more guideline")
        ),
        heads: ["type", "guideline", "says"]
            .into_iter()
            .chain(columns.iter().map(|column| column.name))
            .map(str::to_owned)
            .collect(),
        rows,
        names: 3,
        narrow: false,
    }
}

fn same_guideline(a: &Group<'_>, b: &Group<'_>) -> bool {
    a.guideline == b.guideline && a.function == b.function && a.expression == b.expression
}

/// `● 3/6: 4 KiB, 256 KiB..1 MiB`.
fn violated_sizes(group: &Group<'_>) -> Entry {
    let mut sizes: BTreeMap<u64, bool> = BTreeMap::new();
    for cell in &group.cells {
        *sizes.entry(cell.bytes).or_default() |= current(cell).verdict == Outcome::Violated;
    }
    let violated = sizes.values().filter(|violated| **violated).count();
    if violated == 0 {
        return Entry {
            words: "at no size".to_owned(),
            ..Entry::with_class("·", "calm")
        };
    }
    let flags: Vec<(u64, bool)> = sizes.into_iter().collect();
    let ranges: Vec<String> = flags
        .chunk_by(|a, b| a.1 == b.1)
        .filter(|chunk| chunk[0].1)
        .map(|chunk| match chunk {
            [(only, _)] => format::bytes(*only),
            [(first, _), .., (last, _)] => format!("{}..{}", format::bytes(*first), format::bytes(*last)),
            [] => String::new(),
        })
        .collect();
    Entry::with_class(format!("● {violated}/{}: {}", flags.len(), ranges.join(", ")), "bad")
}

/// PGMPI's table 4: function against message size, a row per guideline that is or was violated.
#[must_use]
pub fn by_size(column: Column<'_>) -> Sheet {
    let summary = Summary::of(column.report);
    let mut sizes: Vec<u64> = column.report.cells.iter().map(|cell| cell.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let shown: Vec<&Group<'_>> = summary.groups.iter().filter(|group| group.concerns()).collect();
    let mut occurring = Vec::new();
    let rows = shown
        .iter()
        .map(|group| {
            let mut row = vec![
                Entry::text(kind_letter(group.kind)),
                Entry::text(format!("{} {}", group.guideline, group.expression)),
            ];
            row.extend(sizes.iter().map(|bytes| {
                let worst = group
                    .cells
                    .iter()
                    .filter(|cell| cell.bytes == *bytes)
                    .map(|cell| Standing::of(cell))
                    .min_by_key(|standing| place(*standing));
                worst.map_or_else(
                    || Entry::text(""),
                    |standing| {
                        occurring.push(standing);
                        mark(standing)
                    },
                )
            }));
            row
        })
        .collect();
    let legend: Vec<String> = ORDER
        .into_iter()
        .filter(|standing| occurring.contains(standing))
        .map(|standing| format!("{} {}", standing.mark(), standing.words()))
        .collect();
    let silent = summary.groups.len() - shown.len();
    Sheet {
        title: format!("Violations by function and size: {}", column.name),
        note: format!(
            "{}. {} violated at no size.",
            legend.join(", "),
            format::count(silent, "more guideline")
        ),
        heads: ["type", "guideline"]
            .into_iter()
            .map(str::to_owned)
            .chain(sizes.iter().map(|bytes| format::bytes(*bytes)))
            .collect(),
        rows,
        names: 2,
        narrow: true,
    }
}

/// The style class of a standing.
pub(super) fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Violated | Standing::Introduced => "bad",
        Standing::Unproven | Standing::Undecided | Standing::Unstable | Standing::Screened | Standing::NotAgain => {
            "open"
        }
        Standing::Fixed => "good",
        Standing::Holds => "calm",
    }
}

fn mark(standing: Standing) -> Entry {
    Entry {
        words: standing.words().to_owned(),
        ..Entry::with_class(standing.mark(), class(standing))
    }
}

fn place(standing: Standing) -> usize {
    ORDER.iter().position(|known| *known == standing).unwrap_or(ORDER.len())
}

fn kind_place(kind: &str) -> usize {
    ["monotony", "split", "pattern"]
        .iter()
        .position(|known| *known == kind)
        .unwrap_or(3)
}

/// The cells of a report without what was measured after tuning.
#[must_use]
pub fn before_only(report: &Report) -> Report {
    let untouched = |cell: &Cell| Cell {
        after: None,
        not_measured_again: None,
        fix: None,
        ..cell.clone()
    };
    Report {
        cells: report.cells.iter().map(untouched).collect(),
        gain: None,
        gains: Vec::new(),
        ..report.clone()
    }
}
