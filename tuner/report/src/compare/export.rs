//! The comparison for programs: JSON, and CSV with a line per cell that is in any side.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_model::report::Cell;
use kilter_render::quoting::field;

use super::Compared;
use super::pair::key;
use crate::summary::{current, outcome_word};

/// Sides without their cells, the pairs with every change and count, and the tables as they are printed.
///
/// # Errors
/// If serialisation fails, which no content causes.
pub fn to_json(compared: &Compared) -> Result<String, serde_json::Error> {
    let mut value = serde_json::to_value(compared)?;
    for side in value["sides"].as_array_mut().into_iter().flatten() {
        // They are in the reports; what differs is in the pairs.
        for list in ["cells", "changes", "contests"] {
            if let Some(report) = side["report"].as_object_mut() {
                report.remove(list);
            }
        }
    }
    for (object, pair) in value["pairs"].as_array_mut().into_iter().flatten().zip(&compared.pairs) {
        object["agreement"] = pair.agreement().into();
    }
    value["regressed"] = compared.has_regressions().into();
    value["tables"] = serde_json::to_value(compared.sheets())?;
    kilter_render::json::text(&value)
}

/// A line per cell: what it is, then verdict, ratio, interval and time in each side. RFC 4180; times in seconds.
#[must_use]
pub fn to_csv(compared: &Compared) -> String {
    let mut out = "guideline,kind,function,expression,ranks,bytes".to_owned();
    for side in &compared.sides {
        for column in ["verdict", "ratio", "ratio_low", "ratio_high", "seconds"] {
            let _ = write!(out, ",{column}_{}", side.label);
        }
    }
    out.push_str("\r\n");
    let tables: Vec<BTreeMap<_, &Cell>> = compared
        .sides
        .iter()
        .map(|side| side.report.cells.iter().map(|cell| (key(cell), cell)).collect())
        .collect();
    let all: BTreeMap<_, &Cell> = tables.iter().rev().flatten().map(|(key, cell)| (*key, *cell)).collect();
    for (key, cell) in all {
        let words = [&cell.guideline, &cell.kind, &cell.function, &cell.expression].map(|text| field(text));
        let _ = write!(out, "{},{},{}", words.join(","), cell.ranks, cell.bytes);
        for table in &tables {
            let Some(comparison) = table.get(&key).map(|cell| current(cell)) else {
                out.push_str(",,,,,");
                continue;
            };
            let _ = write!(out, ",{}", outcome_word(comparison.verdict));
            let (low, high) = comparison.ratio_ci;
            for value in [comparison.ratio, low, high, comparison.seconds] {
                out.push(',');
                if value.is_finite() {
                    let _ = write!(out, "{value:e}");
                }
            }
        }
        out.push_str("\r\n");
    }
    out
}
