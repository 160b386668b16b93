//! A report in one look: the standing of each cell, counts, and the cells of one guideline together.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use kilter_model::report::UNREACHED;
use kilter_model::report::{Cell, Report, TargetReport};
use kilter_stats::verdict::{Comparison, Outcome};

/// Standing of a cell at the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Violated, and nothing deployed has changed that.
    Violated,
    /// Violated by what is deployed, not by the untouched library.
    Introduced,
    /// Violated before; with what is deployed the samples do not decide.
    Unproven,
    /// Violated before, holds with what is deployed.
    Fixed,
    /// The samples do not decide.
    Undecided,
    /// The machine changed while it was measured.
    Unstable,
    /// Looked at in the screening alone.
    Screened,
    /// Holds.
    Holds,
}

impl Standing {
    /// Standing of a cell.
    pub fn of(cell: &Cell) -> Self {
        let before = cell.before.verdict;
        let after = cell.after.as_ref().map(|after| after.verdict);
        match (before, after) {
            (Outcome::Violated, None | Some(Outcome::Violated)) => Self::Violated,
            (_, Some(Outcome::Violated)) => Self::Introduced,
            (Outcome::Violated, Some(Outcome::Holds)) => Self::Fixed,
            (Outcome::Violated, Some(_)) => Self::Unproven,
            _ => match after.unwrap_or(before) {
                Outcome::Holds => Self::Holds,
                Outcome::Undecided => Self::Undecided,
                Outcome::Unstable => Self::Unstable,
                Outcome::Screened => Self::Screened,
                Outcome::Violated => Self::Violated,
            },
        }
    }

    /// One character for tables; each is distinct without colour.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Violated => "●",
            Self::Introduced => "▲",
            Self::Unproven => "◐",
            Self::Fixed => "○",
            Self::Undecided => "?",
            Self::Unstable => "~",
            Self::Screened => "-",
            Self::Holds => "·",
        }
    }

    /// The state in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Introduced => "violated only after tuning",
            Self::Unproven => "violated before, undecided after",
            Self::Fixed => "violated before, holds after",
            Self::Undecided => "undecided",
            Self::Unstable => "unstable",
            Self::Screened => "screened, not confirmed",
            Self::Holds => "holds",
        }
    }

    /// True if the cell is violated with what is deployed, or with the untouched library if nothing is.
    pub fn remains(self) -> bool {
        matches!(self, Self::Violated | Self::Introduced)
    }
}

/// A verdict in the words of `report.json`.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Violated => "violated",
        Outcome::Undecided => "undecided",
        Outcome::Unstable => "unstable",
        Outcome::Screened => "screened",
    }
}

/// The comparison that describes the cell now: after tuning if there is one.
pub fn current(cell: &Cell) -> &Comparison {
    cell.after.as_ref().unwrap_or(&cell.before)
}

/// Cells by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Cells that hold.
    pub holds: usize,
    /// Violated cells.
    pub violated: usize,
    /// Cells the samples do not decide.
    pub undecided: usize,
    /// Cells measured on a changing machine.
    pub unstable: usize,
    /// Cells that the screening alone looked at.
    pub screened: usize,
}

impl Counts {
    /// Counts verdicts.
    pub fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Holds => counts.holds += 1,
                Outcome::Violated => counts.violated += 1,
                Outcome::Undecided => counts.undecided += 1,
                Outcome::Unstable => counts.unstable += 1,
                Outcome::Screened => counts.screened += 1,
            }
        }
        counts
    }

    /// Number of all cells.
    pub fn total(&self) -> usize {
        self.holds + self.violated + self.undecided + self.unstable + self.screened
    }
}

/// Targets for overlap by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetCounts {
    /// Number of targets asked for.
    pub asked: usize,
    /// Number that could not be met on this machine, and are not.
    pub unattainable: usize,
    /// Attainable targets that the untouched library misses.
    pub missed_before: usize,
    /// Targets that were missed before and hold now.
    pub met: usize,
    /// Missed now, with what is deployed where something is.
    pub missed: usize,
    /// Number that the samples do not decide now.
    pub undecided: usize,
    /// Undecided targets that were missed before.
    pub unproven: usize,
    /// Number that hold now.
    pub hold: usize,
    /// True if they were measured again with what is deployed.
    pub measured_again: bool,
}

impl TargetCounts {
    /// Counts targets.
    pub fn of(targets: &[TargetReport]) -> Self {
        let mut counts = Self {
            asked: targets.len(),
            measured_again: targets.iter().any(|target| target.after.is_some()),
            ..Self::default()
        };
        for target in targets {
            let now = target.after.as_ref().unwrap_or(&target.before).as_str();
            if !target.attainable {
                counts.unattainable += 1;
                continue;
            }
            let was_missed = target.before == "missed";
            counts.missed_before += usize::from(was_missed);
            match now {
                "missed" => counts.missed += 1,
                "undecided" => {
                    counts.undecided += 1;
                    counts.unproven += usize::from(was_missed);
                }
                "holds" => {
                    counts.hold += 1;
                    counts.met += usize::from(was_missed);
                }
                _ => {}
            }
        }
        counts
    }

    /// `2 of 3 overlap targets missed before, 0 after, 1 undecided`; `None` where none were asked for. What is not certain, and what is
    /// out of reach, is said.
    fn headline(&self) -> Option<String> {
        let targets = kilter_render::format::count(self.asked, "overlap target");
        let mut headline = match (self.asked, self.measured_again) {
            (0, _) => return None,
            (_, true) => format!(
                "{} of {targets} missed before, {} after",
                self.missed_before, self.missed
            ),
            (asked, false) if self.hold == asked => match asked {
                1 => "the overlap target holds".to_owned(),
                _ => format!("all {targets} hold"),
            },
            (_, false) => format!("{} of {targets} missed", self.missed),
        };
        let unmeasured = self.asked - self.unattainable - self.missed - self.undecided - self.hold;
        for (number, word) in [
            (self.undecided, "undecided"),
            (unmeasured, "not measured"),
            (self.unattainable, "not attainable here"),
        ] {
            if number > 0 {
                headline += &format!(", {number} {word}");
            }
        }
        Some(headline)
    }
}

/// A report in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary<'a> {
    /// Verdicts on the untouched library.
    pub before: Counts,
    /// Verdicts now, cells that were not measured again with their old verdict; absent if no cell was measured again.
    pub after: Option<Counts>,
    /// Cells that are violated now.
    pub remaining: usize,
    /// Cells that were violated and hold now.
    pub fixed: usize,
    /// Cells that were violated and are undecided or unstable now.
    pub unproven: usize,
    /// Cells that only the deployed changes violate.
    pub introduced: usize,
    /// Sides that no launch came to: their cells are not in the report.
    pub unreached: usize,
    /// Targets for overlap.
    pub targets: TargetCounts,
    /// The cells of each guideline and function, monotony first, then split-robustness, then patterns.
    pub groups: Vec<Group<'a>>,
}

impl<'a> Summary<'a> {
    /// Counts a report.
    pub fn of(report: &'a Report) -> Self {
        let standings: Vec<_> = report.cells.iter().map(Standing::of).collect();
        let number = |wanted: Standing| standings.iter().filter(|standing| **standing == wanted).count();
        let measured_again = report.cells.iter().any(|cell| cell.after.is_some());
        Self {
            before: Counts::of(report.cells.iter().map(|cell| cell.before.verdict)),
            after: measured_again.then(|| Counts::of(report.cells.iter().map(|cell| current(cell).verdict))),
            remaining: standings.iter().filter(|standing| standing.remains()).count(),
            fixed: number(Standing::Fixed),
            unproven: number(Standing::Unproven),
            introduced: number(Standing::Introduced),
            unreached: report.not_verified.values().filter(|why| *why == UNREACHED).count(),
            targets: TargetCounts::of(&report.targets),
            groups: group(&report.cells),
        }
    }

    /// The answer in one line: `4 violations before, 1 after; 2 of 3 overlap targets missed before, 0 after`. What is not certain is
    /// said.
    pub fn headline(&self) -> String {
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
        match self.after {
            _ if before.total() == 0 => "Nothing was measured".to_owned(),
            Some(_) if self.unproven > 0 => {
                format!(
                    "{} before, {} after, {} undecided",
                    violations(before.violated),
                    self.remaining,
                    self.unproven
                )
            }
            Some(_) => format!("{} before, {} after", violations(before.violated), self.remaining),
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
        Counts::of(self.cells.iter().map(|cell| current(cell).verdict))
    }

    /// True if a cell is violated, before or after.
    pub fn concerns(&self) -> bool {
        self.cells.iter().any(|cell| {
            !matches!(
                Standing::of(cell),
                Standing::Holds | Standing::Undecided | Standing::Unstable | Standing::Screened
            )
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

fn group(cells: &[Cell]) -> Vec<Group<'_>> {
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
pub(super) fn order(a: &Group<'_>, b: &Group<'_>) -> Ordering {
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

/// Guidelines that could not be verified, a line per reason: `needs 4 ranks or more: TGT37, TGT38_REDUCE_PART`.
pub(super) fn not_verified(report: &Report) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (what, why) in &report.not_verified {
        let why = why.strip_prefix("not available: ").unwrap_or(why);
        by_reason.entry(why).or_default().push(what);
    }
    by_reason
        .into_iter()
        .map(|(why, what)| format!("{why}: {}", what.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn ids_are_ordered_as_people_count() {
        let mut ids = ["GL10", "GL2", "site", "GL1", "GL2b"];
        ids.sort_by(|a, b| natural(a, b));
        assert_eq!(ids, ["GL1", "GL2", "GL2b", "GL10", "site"]);
    }

    #[test]
    fn what_the_time_did_not_reach_is_not_said_to_hold() {
        let mut report = fixture::holding();
        assert!(
            Summary::of(&report)
                .headline()
                .starts_with("No violations: every guideline holds")
        );
        report
            .not_verified
            .insert("bcast(n) @8".to_owned(), UNREACHED.to_owned());
        assert_eq!(
            Summary::of(&report).headline(),
            "No violations found, 1 side not measured"
        );
        for cell in &mut report.cells {
            cell.before.verdict = Outcome::Screened;
        }
        assert!(!Summary::of(&report).headline().contains("hold"));
    }

    #[test]
    fn a_tuned_report_is_counted() {
        let report = fixture::tuned();
        let summary = Summary::of(&report);
        assert_eq!(summary.headline(), "10 violations before, 1 after, 1 undecided");
        assert_eq!(
            (summary.fixed, summary.remaining, summary.introduced, summary.unproven),
            (8, 1, 0, 1)
        );
        let order: Vec<_> = summary.groups.iter().map(|group| group.guideline).collect();
        assert_eq!(order.first(), Some(&"GL1"));
        assert_eq!(order.last(), Some(&"GL16"));
    }

    #[test]
    fn the_headline_says_what_is_not_certain() {
        let headline = |report: &Report| Summary::of(report).headline();
        assert_eq!(headline(&fixture::empty()), "Nothing was measured");
        assert_eq!(headline(&fixture::checked()), "10 violations found");
        let mut report = fixture::holding();
        assert_eq!(headline(&report), "No violations: every guideline holds at every size");
        report.cells[0].before.verdict = Outcome::Unstable;
        assert_eq!(headline(&report), "No violations found, 1 cell undecided");
        report.cells[1].after = Some(report.cells[1].before.clone());
        assert_eq!(headline(&report), "0 violations before, 0 after");
    }

    #[test]
    fn the_headline_counts_targets() {
        let target = |before: &str, after: Option<&str>, attainable| TargetReport {
            target: "OV_SENDER".to_owned(),
            benchmark: "sender".to_owned(),
            statement: String::new(),
            stated_for: String::new(),
            before: before.to_owned(),
            after: after.map(str::to_owned),
            fix: None,
            unmet_because: None,
            attainable,
            cells: Vec::new(),
            candidates: Vec::new(),
        };
        let headline = |targets: Vec<TargetReport>| {
            let report = Report {
                targets,
                ..fixture::tuned()
            };
            let headline = Summary::of(&report).headline();
            let cells = "10 violations before, 1 after, 1 undecided";
            headline.strip_prefix(cells).unwrap().to_owned()
        };
        assert_eq!(headline(Vec::new()), "");
        assert_eq!(
            headline(vec![
                target("missed", Some("holds"), true),
                target("missed", Some("undecided"), true),
                target("holds", Some("holds"), true),
                target("missed", Some("missed"), false),
            ]),
            "; 2 of 4 overlap targets missed before, 0 after, 1 undecided, 1 not attainable here"
        );
        assert_eq!(
            headline(vec![target("missed", None, true), target("holds", None, true)]),
            "; 1 of 2 overlap targets missed"
        );
        assert_eq!(
            headline(vec![
                target("not measured", None, true),
                target("undecided", None, false)
            ]),
            "; 0 of 2 overlap targets missed, 1 not measured, 1 not attainable here"
        );
        assert_eq!(
            headline(vec![target("holds", None, true)]),
            "; the overlap target holds"
        );
    }

    #[test]
    fn every_pair_of_verdicts_has_one_standing() {
        use Outcome::{Holds, Undecided, Unstable, Violated};
        let report = fixture::tuned();
        let mut cell = report.cells[0].clone();
        let mut standing = |before, after: Option<Outcome>| {
            cell.before.verdict = before;
            cell.after = after.map(|verdict| Comparison {
                verdict,
                ..cell.before.clone()
            });
            Standing::of(&cell)
        };
        assert_eq!(standing(Violated, None), Standing::Violated);
        assert_eq!(standing(Violated, Some(Violated)), Standing::Violated);
        assert_eq!(standing(Holds, Some(Violated)), Standing::Introduced);
        assert_eq!(standing(Undecided, Some(Violated)), Standing::Introduced);
        assert_eq!(standing(Violated, Some(Holds)), Standing::Fixed);
        assert_eq!(standing(Violated, Some(Unstable)), Standing::Unproven);
        assert_eq!(standing(Undecided, None), Standing::Undecided);
        assert_eq!(standing(Undecided, Some(Holds)), Standing::Holds);
        assert_eq!(standing(Holds, Some(Unstable)), Standing::Unstable);
    }
}
