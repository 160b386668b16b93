//! A report in one look: the standing of each cell, counts, and the cells of one guideline together.

mod counts;
mod gains;
mod group;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::report::{Cell, Report};

use group::group;

pub use counts::{Counts, TargetCounts};
pub(crate) use group::order;
pub use group::{Group, kind_letter};
pub use standing::{Standing, current, is_left, outcome_word};

/// A report in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary<'a> {
    /// Verdicts on the untouched library.
    pub before: Counts,
    /// Verdicts now, cells on which nothing that is deployed acts with their old verdict; absent if nothing is deployed.
    pub after: Option<Counts>,
    /// Cells that are violated now.
    pub remaining: usize,
    /// Cells that were violated and hold now.
    pub fixed: usize,
    /// Cells that were violated and are undecided or unstable now.
    pub unproven: usize,
    /// Cells that only the deployed changes violate.
    pub introduced: usize,
    /// Those of them whose call takes no longer than before: what bounds it became faster.
    pub outpaced: usize,
    /// Violated cells that were not measured again although what is deployed may act on them.
    pub left: usize,
    /// Why, where all of them have one reason.
    pub left_because: Option<&'a str>,
    /// Sides that no launch came to: their cells are not in the report.
    pub unreached: usize,
    /// Targets for overlap.
    pub targets: TargetCounts,
    /// The gains of calls in one line, where the proof compared any.
    pub gain: Option<String>,
    /// The cells of each guideline and function, monotony first, then split-robustness, then patterns.
    pub groups: Vec<Group<'a>>,
}

impl<'a> Summary<'a> {
    /// Counts a report.
    pub fn of(report: &'a Report) -> Self {
        let standings: Vec<_> = report.cells.iter().map(Standing::of).collect();
        let number = |wanted: Standing| standings.iter().filter(|standing| **standing == wanted).count();
        let floor = report.provenance.effect_floor;
        let standing = report.cells.iter().zip(&standings);
        let introduced = standing.filter(|(_, standing)| **standing == Standing::Introduced);
        let outpaced = introduced.filter(|(cell, _)| current(cell).seconds <= (1.0 + floor) * cell.before.seconds);
        let outpaced = outpaced.count();
        let measured_again = report
            .cells
            .iter()
            .any(|cell| cell.after.is_some() || cell.not_measured_again.is_some());
        let left: Vec<&Cell> = report.cells.iter().filter(|cell| is_left(cell)).collect();
        let reasons: BTreeSet<&str> = left
            .iter()
            .filter_map(|cell| cell.not_measured_again.as_deref())
            .collect();
        Self {
            before: Counts::of(report.cells.iter().map(|cell| cell.before.verdict)),
            after: measured_again.then(|| Counts::now(&report.cells)),
            remaining: standings.iter().filter(|standing| standing.remains()).count(),
            fixed: number(Standing::Fixed),
            unproven: number(Standing::Unproven),
            introduced: number(Standing::Introduced),
            outpaced,
            left: left.len(),
            left_because: reasons.first().copied().filter(|_| reasons.len() == 1),
            unreached: report.unreached.len(),
            targets: TargetCounts::of(&report.targets),
            gain: gains::line(report),
            groups: group(&report.cells),
        }
    }

    /// The answer in one line: the gains of calls where there are any, else guidelines and targets.
    pub fn headline(&self) -> String {
        self.gain.clone().unwrap_or_else(|| self.kept())
    }

    /// The second line, where gains are the first one: guidelines and targets.
    pub fn second(&self) -> Option<String> {
        self.gain.as_ref().map(|_| self.kept())
    }

    /// Both lines as one.
    pub fn one_line(&self) -> String {
        match self.second() {
            Some(second) => format!("{}; {second}", self.headline()),
            None => self.headline(),
        }
    }

    /// Guidelines and targets that are kept and broken: `4 violations before, 1 after; 2 of 3 overlap targets missed before, 0 after`. What
    /// is not certain is said.
    fn kept(&self) -> String {
        match self.targets.headline() {
            None => self.headline_of_cells(),
            Some(targets) => format!("{}; {targets}", self.headline_of_cells()),
        }
    }

    fn headline_of_cells(&self) -> String {
        let violations = |n| kilter_render::format::count(n, "violation");
        let cells = |n| kilter_render::format::count(n, "cell");
        let before = self.before;
        let open = before.undecided + before.unstable;
        let after = || match self.outpaced {
            0 => format!("{} before, {} after", violations(before.violated), self.remaining),
            n => format!(
                "{} before, {} after ({n} by bounds that became faster)",
                violations(before.violated),
                self.remaining
            ),
        };
        match self.after {
            _ if before.total() == 0 => "Nothing was measured".to_owned(),
            Some(_) => {
                let undecided = match self.unproven {
                    0 => String::new(),
                    n => format!(", {n} undecided"),
                };
                let left = match (self.left, self.left_because) {
                    (0, _) => String::new(),
                    (n, Some(why)) => format!(", {n} not measured again: {why}"),
                    (n, None) => format!(", {n} not measured again"),
                };
                format!("{}{undecided}{left}", after())
            }
            None if before.violated > 0 && before.screened > 0 => {
                format!(
                    "{} found, {} only screened",
                    violations(before.violated),
                    cells(before.screened)
                )
            }
            None if before.violated > 0 => format!("{} found", violations(before.violated)),
            // Nothing was found where nothing was looked at twice: that is no finding.
            None if before.screened > 0 && open > 0 => {
                format!("{} only screened, {} undecided", cells(before.screened), cells(open))
            }
            None if before.screened > 0 && before.holds == 0 => format!("{} only screened", cells(before.screened)),
            None if before.screened > 0 => format!("{} only screened, the others hold", cells(before.screened)),
            None if open > 0 => format!(
                "No violations found, {} undecided",
                kilter_render::format::count(open, "cell")
            ),
            None if self.unreached > 0 => format!(
                "No violations found, {} not measured",
                kilter_render::format::count(self.unreached, "side")
            ),
            None => "No violations: every guideline holds at every size".to_owned(),
        }
    }
}

/// Guidelines that could not be verified, a line per reason: `needs 4 ranks or more: TGT37, TGT38_REDUCE_PART`.
pub(super) fn not_verified(report: &Report) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (what, why) in &report.not_verified {
        let why = why.strip_prefix("not available: ").unwrap_or(why);
        by_reason.entry(why).or_default().push(what);
    }
    by_reason
        .into_iter()
        .map(|(why, what)| format!("{why}: {}", named(&what)))
        .collect()
}

/// Most names in a line; `report.json` has all.
const MOST_NAMES: usize = 12;

fn named(all: &[&str]) -> String {
    match all.get(..MOST_NAMES) {
        Some(first) if all.len() > MOST_NAMES => {
            let more = all.len() - MOST_NAMES;
            format!("{} and {more} more (report.json names all)", first.join(", "))
        }
        _ => all.join(", "),
    }
}
