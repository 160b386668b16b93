//! The tables of PGMPI: function against size (its table 4), verdicts per guideline (table 3), violations per type (table 2).

use std::collections::BTreeMap;

use kilter_model::report::Cell;
use kilter_render::format;

use crate::summary::{Group, Standing, kind_letter};
use crate::tables::ORDER;
pub(super) use crate::tables::class;

/// Function against size.
pub(super) struct Matrix {
    /// Column heads.
    pub(super) sizes: Vec<String>,
    /// One row per violated guideline and function.
    pub(super) rows: Vec<MatrixRow>,
    /// Marks that occur, with their meaning.
    pub(super) legend: Vec<Mark>,
    /// Guidelines without a violation, which have no row.
    pub(super) silent: usize,
}

/// One guideline and function.
pub(super) struct MatrixRow {
    pub(super) letter: String,
    pub(super) guideline: String,
    pub(super) expression: String,
    pub(super) marks: Vec<Mark>,
}

/// A mark in a table.
#[derive(Clone)]
pub(super) struct Mark {
    /// Style class; empty where nothing was measured.
    pub(super) class: &'static str,
    /// The mark.
    pub(super) sign: &'static str,
    /// The meaning, with numbers where the mark is a cell's.
    pub(super) words: String,
}

impl Matrix {
    pub(super) fn of(groups: &[Group<'_>]) -> Self {
        let mut sizes: Vec<u64> = groups
            .iter()
            .flat_map(|group| &group.cells)
            .map(|cell| cell.bytes)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let shown: Vec<_> = groups.iter().filter(|group| group.concerns()).collect();
        let rows: Vec<_> = shown.iter().map(|group| row(group, &sizes)).collect();
        let occurring: Vec<Standing> = shown
            .iter()
            .flat_map(|group| &group.cells)
            .map(|cell| Standing::of(cell))
            .collect();
        let legend = ORDER
            .into_iter()
            .filter(|standing| occurring.contains(standing))
            .map(|standing| Mark {
                class: class(standing),
                sign: standing.mark(),
                words: standing.words().to_owned(),
            })
            .collect();
        Self {
            sizes: sizes.into_iter().map(format::bytes).collect(),
            silent: groups.len() - shown.len(),
            rows,
            legend,
        }
    }
}

fn row(group: &Group<'_>, sizes: &[u64]) -> MatrixRow {
    let rank = |cell: &Cell| ORDER.iter().position(|standing| *standing == Standing::of(cell));
    let mut worst: BTreeMap<u64, &Cell> = BTreeMap::new();
    for cell in &group.cells {
        let kept = worst.entry(cell.bytes).or_insert(cell);
        if rank(cell) < rank(kept) {
            *kept = cell;
        }
    }
    let marks = sizes.iter().map(|bytes| match worst.get(bytes) {
        Some(cell) => {
            let standing = Standing::of(cell);
            Mark {
                class: class(standing),
                sign: standing.mark(),
                words: words(cell, standing),
            }
        }
        None => Mark {
            class: "",
            sign: "",
            words: "not measured".to_owned(),
        },
    });
    MatrixRow {
        letter: kind_letter(group.kind).to_owned(),
        guideline: group.guideline.to_owned(),
        expression: crate::html::words::typeset(&group.expression),
        marks: marks.collect(),
    }
}

fn words(cell: &Cell, standing: Standing) -> String {
    let mut text = format!(
        "{}: {}, ratio {}",
        format::bytes(cell.bytes),
        standing.words(),
        format::ratio(cell.before.ratio)
    );
    if let Some(after) = &cell.after {
        text.push_str(&format!(", after {}", format::ratio(after.ratio)));
    }
    text
}

/// Verdicts of one guideline for one function.
pub(super) struct GuidelineRow {
    pub(super) letter: String,
    pub(super) guideline: String,
    pub(super) expression: String,
    /// `●` where violated before, `○` where that is gone, empty where nothing was violated.
    pub(super) mark: Mark,
    pub(super) sizes: usize,
    pub(super) violated: usize,
    pub(super) violated_now: usize,
    pub(super) undecided: usize,
    pub(super) holds: usize,
    /// Largest ratio, before tuning, and where.
    pub(super) worst: String,
    pub(super) worst_at: String,
}

pub(super) fn guideline_rows(groups: &[Group<'_>]) -> Vec<GuidelineRow> {
    groups
        .iter()
        .map(|group| {
            let (before, now) = (group.before(), group.now());
            let standing = ORDER
                .into_iter()
                .find(|s| group.cells.iter().any(|cell| Standing::of(cell) == *s));
            let worst = group
                .cells
                .iter()
                .filter(|cell| cell.before.ratio.is_finite())
                .max_by(|a, b| a.before.ratio.total_cmp(&b.before.ratio));
            GuidelineRow {
                letter: kind_letter(group.kind).to_owned(),
                guideline: group.guideline.to_owned(),
                expression: crate::html::words::typeset(&group.expression),
                mark: standing.map_or(
                    Mark {
                        class: "",
                        sign: "",
                        words: String::new(),
                    },
                    |standing| Mark {
                        class: class(standing),
                        sign: standing.mark(),
                        words: standing.words().to_owned(),
                    },
                ),
                sizes: before.total(),
                violated: before.violated,
                violated_now: now.violated,
                undecided: now.undecided + now.unstable + now.screened,
                holds: now.holds,
                worst: worst.map_or_else(|| format::NONE.to_owned(), |cell| format::ratio(cell.before.ratio)),
                worst_at: worst.map_or_else(String::new, |cell| format::bytes(cell.bytes)),
            }
        })
        .collect()
}

/// Violated guidelines of one type.
pub(super) struct TypeRow {
    pub(super) letter: String,
    pub(super) name: String,
    pub(super) before: usize,
    pub(super) now: usize,
    pub(super) total: usize,
}

/// Counts as PGMPI does: a guideline of a function is violated if it is at any size.
pub(super) fn type_rows(groups: &[Group<'_>]) -> Vec<TypeRow> {
    let mut rows: Vec<TypeRow> = Vec::new();
    for group in groups {
        if rows.last().is_none_or(|row| row.name != group.kind) {
            let letter = kind_letter(group.kind).to_owned();
            rows.push(TypeRow {
                letter,
                name: group.kind.to_owned(),
                before: 0,
                now: 0,
                total: 0,
            });
        }
        if let Some(row) = rows.last_mut() {
            row.total += 1;
            row.before += usize::from(group.before().violated > 0);
            row.now += usize::from(group.now().violated > 0);
        }
    }
    rows
}
