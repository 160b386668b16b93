//! The cells of one guideline together, and the order of guidelines.

use std::cmp::Ordering;

use kilter_model::report::Cell;

use super::counts::Counts;
use super::standing::{Standing, is_left};

/// The cells of one guideline for one function and number of ranks, by size.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'a> {
    /// Guideline id.
    pub guideline: &'a str,
    /// The collective on the left side.
    pub function: &'a str,
    /// `monotony`, `split` or `pattern`.
    pub kind: &'a str,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// The guideline for any size.
    pub expression: String,
    /// Its cells, smallest first.
    pub cells: Vec<&'a Cell>,
}

impl Group<'_> {
    /// Verdicts on the untouched library.
    pub fn before(&self) -> Counts {
        Counts::of(self.cells.iter().map(|cell| cell.before.verdict))
    }

    /// Verdicts now.
    pub fn now(&self) -> Counts {
        Counts::now(self.cells.iter().copied())
    }

    /// True if a cell is violated, before or after.
    pub fn concerns(&self) -> bool {
        self.cells.iter().any(|cell| {
            let is_calm = matches!(
                Standing::of(cell),
                Standing::Holds | Standing::Undecided | Standing::Unstable | Standing::Screened | Standing::NotAgain
            );
            !is_calm || is_left(cell)
        })
    }

    /// True if the sides are the same function at different sizes, one curve for both.
    pub fn is_monotony(&self) -> bool {
        self.kind == "monotony"
    }
}

/// `m`, `s` or `p`, as in PGMPI's tables; another kind keeps its word.
pub fn kind_letter(kind: &str) -> &str {
    match kind {
        "monotony" => "m",
        "split" => "s",
        "pattern" => "p",
        other => other,
    }
}

/// The groups of these cells, in their order.
pub(super) fn group(cells: &[Cell]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in cells {
        let found = groups.iter_mut().find(|group| {
            group.guideline == cell.guideline && group.function == cell.function && group.ranks == cell.ranks
        });
        match found {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                guideline: &cell.guideline,
                function: &cell.function,
                kind: &cell.kind,
                ranks: cell.ranks,
                expression: String::new(),
                cells: vec![cell],
            }),
        }
    }
    for group in &mut groups {
        group.cells.sort_by_key(|cell| (cell.bytes, cell.right_bytes));
        group.expression = expression(group);
    }
    groups.sort_by(order);
    groups
}

/// Monotony, split-robustness, patterns; in each the guidelines as people count.
pub(crate) fn order(a: &Group<'_>, b: &Group<'_>) -> Ordering {
    kind_rank(a.kind)
        .cmp(&kind_rank(b.kind))
        .then_with(|| natural(a.guideline, b.guideline))
        .then_with(|| a.function.cmp(b.function))
        .then_with(|| a.ranks.cmp(&b.ranks))
}

/// The text that all cells share, or the family's general form where each cell names its own sizes.
fn expression(group: &Group<'_>) -> String {
    let first = group.cells[0].expression.as_str();
    if group.cells.iter().all(|cell| cell.expression == first) && group.cells.len() > 1 {
        return first.to_owned();
    }
    let f = group.function;
    match group.kind {
        "monotony" => format!("{f}(n) <= {f}(n + k)"),
        "split" => format!("{f}(n) <= k {f}(n / k)"),
        _ => first.to_owned(),
    }
}

fn kind_rank(kind: &str) -> usize {
    ["monotony", "split", "pattern"]
        .iter()
        .position(|known| *known == kind)
        .unwrap_or(3)
}

/// Orders `GL2` before `GL10`.
fn natural(a: &str, b: &str) -> Ordering {
    let parts = |id: &str| {
        let digits = id.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        (
            id[..id.len() - digits.len()].to_owned(),
            digits[..end].parse::<u64>().unwrap_or(u64::MAX),
            id.to_owned(),
        )
    };
    parts(a).cmp(&parts(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_as_people_count() {
        let mut ids = ["GL10", "GL2", "site", "GL1", "GL2b"];
        ids.sort_by(|a, b| natural(a, b));
        assert_eq!(ids, ["GL1", "GL2", "GL2b", "GL10", "site"]);
    }
}
