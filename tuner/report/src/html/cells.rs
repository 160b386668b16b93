//! Cells as rows of tables: every number as text, and the reasons of those without a proven fix.

use kilter_model::report::Cell;
use kilter_render::format;
use kilter_stats::verdict::Comparison;

use crate::html::words::{time, typeset};
use crate::summary::{Group, Standing, current, outcome_word};

/// A cell with all its numbers.
pub(super) struct CellRow {
    pub(super) guideline: String,
    pub(super) expression: String,
    pub(super) bytes: u64,
    pub(super) size: String,
    pub(super) before: Numbers,
    pub(super) after: Option<Numbers>,
}

/// A comparison as text, with the raw numbers for sorting.
pub(super) struct Numbers {
    pub(super) verdict: &'static str,
    pub(super) ratio: String,
    pub(super) ratio_raw: f64,
    pub(super) interval: String,
    pub(super) p: String,
    pub(super) p_adjusted: String,
    pub(super) p_adjusted_raw: f64,
    pub(super) stars: &'static str,
    pub(super) left: String,
    pub(super) left_raw: f64,
    pub(super) right: String,
    pub(super) right_raw: f64,
}

impl Numbers {
    pub(super) fn of(comparison: &Comparison) -> Self {
        Self {
            verdict: outcome_word(comparison.verdict),
            ratio: format::ratio(comparison.ratio),
            ratio_raw: comparison.ratio,
            interval: format::interval(comparison.ratio_ci),
            p: format::p_value(comparison.p),
            p_adjusted: format::p_value(comparison.p_adjusted),
            p_adjusted_raw: comparison.p_adjusted,
            stars: format::stars(comparison.p_adjusted),
            left: time(comparison.seconds),
            left_raw: comparison.seconds,
            right: time(comparison.right_seconds),
            right_raw: comparison.right_seconds,
        }
    }
}

pub(super) fn cell_rows(groups: &[Group<'_>]) -> Vec<CellRow> {
    groups
        .iter()
        .flat_map(|group| &group.cells)
        .map(|cell| CellRow {
            guideline: cell.guideline.clone(),
            expression: typeset(&cell.expression),
            bytes: cell.bytes,
            size: format::bytes(cell.bytes),
            before: Numbers::of(&cell.before),
            after: cell.after.as_ref().map(Numbers::of),
        })
        .collect()
}

/// Whether a violated cell has no proven fix, and why.
pub(super) fn unfixed(groups: &[Group<'_>]) -> Vec<Unfixed> {
    groups
        .iter()
        .flat_map(|group| &group.cells)
        .filter(|cell| Standing::of(cell).remains() || Standing::of(cell) == Standing::Unproven)
        .map(|cell| {
            let now = current(cell);
            Unfixed {
                guideline: cell.guideline.clone(),
                expression: typeset(&cell.expression),
                size: format::bytes(cell.bytes),
                standing: Standing::of(cell).words(),
                ratio: format!("{} {}", format::ratio(now.ratio), format::interval(now.ratio_ci)),
                because: reason(cell),
            }
        })
        .collect()
}

/// A violated cell without a proven fix.
pub(super) struct Unfixed {
    pub(super) guideline: String,
    pub(super) expression: String,
    pub(super) size: String,
    pub(super) standing: &'static str,
    pub(super) ratio: String,
    pub(super) because: String,
}

fn reason(cell: &Cell) -> String {
    match (&cell.unfixed_because, &cell.fix, Standing::of(cell)) {
        (Some(reason), _, _) => reason.clone(),
        (None, _, Standing::Introduced) => {
            "a change made for other cells broke this one; remove it or give it a size range".to_owned()
        }
        (None, Some(fix), _) => format!("{} was deployed but did not hold in the verification", fix.id),
        (None, None, _) => "no reason was recorded".to_owned(),
    }
}
