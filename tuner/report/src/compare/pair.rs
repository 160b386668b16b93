//! One run against another: the cells that both have, what changed, how far they agree.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::config::guideline::Kind;
use kilter_model::report::{Cell, Report};
use kilter_render::format;
use kilter_stats::verdict::{Comparison, Outcome};
use serde::Serialize;

use super::operand::Operand;
use super::times;
use crate::summary::{current, outcome_word};

/// One run against another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Label of the base.
    pub base: String,
    /// Label of what is compared with it.
    pub other: String,
    /// Smallest change that counts, as a fraction.
    pub tolerance: f64,
    /// Cells that both have.
    pub common: usize,
    /// Cells that both decide, as holds or violated.
    pub decided: usize,
    /// Cells decided alike.
    pub agreeing: usize,
    /// Cells decided in the base only.
    pub no_longer_decided: usize,
    /// Cells decided in the other only.
    pub newly_decided: usize,
    /// Cells that hold in the worse of both runs although their ratio moved beyond both intervals: no finding.
    pub moved_but_holding: usize,
    /// Functions at a size whose times were compared.
    pub times: usize,
    /// The reason why no times were compared, although both sides have them.
    pub times_apart: Option<String>,
    /// Changes for the worse: verdicts, then ratios, then times.
    pub regressions: Vec<Shift>,
    /// Changes for the better.
    pub improvements: Vec<Shift>,
    /// Content of the base alone, in words.
    pub only_base: Vec<String>,
    /// Content of the other alone, in words.
    pub only_other: Vec<String>,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// The kind of change.
    pub kind: ShiftKind,
    /// The guideline; empty for a time.
    pub guideline: String,
    /// The guideline's text, or the function.
    pub subject: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Value in the base, with its interval.
    pub from: String,
    /// Value in the other, with its interval.
    pub to: String,
    /// Ratio, or time, of the other over that of the base.
    pub factor: f64,
    /// 95 % interval of `factor`; only for times.
    pub interval: Option<(f64, f64)>,
}

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShiftKind {
    /// Between holds and violated.
    Verdict,
    /// A guideline that does not hold is broken more or less, beyond both intervals.
    Ratio,
    /// A function became slower or faster.
    Time,
}

impl ShiftKind {
    /// The kind in a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ShiftKind::Verdict => "verdict",
            ShiftKind::Ratio => "ratio",
            ShiftKind::Time => "time",
        }
    }
}

/// The key by which a cell is found again. The parts of a split, and the larger size of a monotony, do not belong to it.
type Key<'a> = (&'a str, &'a str, &'a str, u64, usize);

/// The key that makes a cell comparable between runs.
pub(super) fn key(cell: &Cell) -> Key<'_> {
    let what = if Kind::is_found_by_function(&cell.kind) {
        ""
    } else {
        cell.expression.as_str()
    };
    (&cell.guideline, what, &cell.function, cell.bytes, cell.ranks)
}

impl Pair {
    pub(super) fn of(base: &Operand, other: &Operand, tolerance: Option<f64>) -> Pair {
        let floor = |report: &Report| report.provenance.effect_floor;
        let tolerance = tolerance.unwrap_or_else(|| floor(&base.report).max(floor(&other.report)));
        let others: BTreeMap<Key<'_>, &Cell> = other.report.cells.iter().map(|cell| (key(cell), cell)).collect();
        let mut pair = Pair {
            base: base.label.clone(),
            other: other.label.clone(),
            tolerance,
            common: 0,
            decided: 0,
            agreeing: 0,
            no_longer_decided: 0,
            newly_decided: 0,
            moved_but_holding: 0,
            times: 0,
            times_apart: times::apart(base, other),
            regressions: Vec::new(),
            improvements: Vec::new(),
            only_base: missing(&base.report, &other.report),
            only_other: missing(&other.report, &base.report),
        };
        let mut seen = BTreeSet::new();
        for cell in &base.report.cells {
            if let Some(found) = others.get(&key(cell))
                && seen.insert(key(cell))
            {
                pair.cell(cell, current(cell), current(found));
            }
        }
        if pair.times_apart.is_none() {
            let (compared, slower, faster) = times::compare(&base.report, &other.report, tolerance);
            pair.times = compared;
            pair.regressions.extend(slower);
            pair.improvements.extend(faster);
        }
        // Within a kind the largest change first.
        let extent = |shift: &Shift| shift.factor.ln().abs();
        for list in [&mut pair.regressions, &mut pair.improvements] {
            list.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| extent(b).total_cmp(&extent(a))));
        }
        pair
    }

    /// Share of the decided verdicts that agree; not-a-number where none is decided in both.
    #[must_use]
    pub fn agreement(&self) -> f64 {
        self.agreeing as f64 / self.decided as f64
    }

    /// `agreement of decided verdicts: 97.3 % (178 of 183)`.
    #[must_use]
    pub fn agreement_line(&self) -> String {
        let (agreeing, decided) = (self.agreeing, self.decided);
        if decided == 0 {
            return "agreement of decided verdicts: none is decided in both".to_owned();
        }
        let percent = 100.0 * self.agreement();
        format!("agreement of decided verdicts: {percent:.1} % ({agreeing} of {decided})")
    }

    fn cell(&mut self, cell: &Cell, from: &Comparison, to: &Comparison) {
        use Outcome::{Holds, Violated};
        self.common += 1;
        let decided = |comparison: &Comparison| matches!(comparison.verdict, Holds | Violated);
        match (decided(from), decided(to)) {
            (true, true) => {
                self.decided += 1;
                self.agreeing += usize::from(from.verdict == to.verdict);
            }
            (true, false) => self.no_longer_decided += 1,
            (false, true) => self.newly_decided += 1,
            (false, false) => {}
        }
        let shift = |kind| Shift {
            kind,
            guideline: cell.guideline.clone(),
            subject: cell.expression.clone(),
            bytes: cell.bytes,
            from: verdict(from),
            to: verdict(to),
            factor: to.ratio / from.ratio,
            interval: None,
        };
        match (from.verdict, to.verdict) {
            (Holds, Violated) => self.regressions.push(shift(ShiftKind::Verdict)),
            (Violated, Holds) => self.improvements.push(shift(ShiftKind::Verdict)),
            _ => {
                let beyond = |low: &Comparison, high: &Comparison| {
                    high.ratio_ci.0 > low.ratio_ci.1 && high.ratio > low.ratio * (1.0 + self.tolerance)
                };
                let (worse, better) = (beyond(from, to), beyond(to, from));
                let holds = if worse { to.verdict } else { from.verdict } == Holds;
                if (worse || better) && holds {
                    self.moved_but_holding += 1;
                } else if worse {
                    self.regressions.push(shift(ShiftKind::Ratio));
                } else if better {
                    self.improvements.push(shift(ShiftKind::Ratio));
                }
            }
        }
    }
}

fn verdict(comparison: &Comparison) -> String {
    format!(
        "{} {} {}",
        outcome_word(comparison.verdict),
        format::ratio(comparison.ratio),
        format::interval(comparison.ratio_ci)
    )
}

/// Content of one report that the other lacks.
fn missing(from: &Report, other: &Report) -> Vec<String> {
    let mut out = Vec::new();
    let mut explained: Vec<&Cell> = from.cells.iter().collect();
    explained.retain(|cell| !other.cells.iter().any(|there| there.ranks == cell.ranks));
    if !explained.is_empty() {
        let ranks: BTreeSet<usize> = explained.iter().map(|cell| cell.ranks).collect();
        let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
        return vec![format!(
            "{} ranks: {}",
            ranks.join(", "),
            format::count(explained.len(), "cell")
        )];
    }
    let there: BTreeSet<Key<'_>> = other.cells.iter().map(key).collect();
    let sizes: BTreeSet<u64> = other.cells.iter().map(|cell| cell.bytes).collect();
    let guidelines: BTreeSet<(&str, &str)> = other.cells.iter().map(guideline_of).collect();
    let (mut of_sizes, mut of_guidelines, mut rest) = (BTreeSet::new(), BTreeSet::new(), 0_usize);
    for cell in from.cells.iter().filter(|cell| !there.contains(&key(cell))) {
        if !guidelines.contains(&guideline_of(cell)) {
            of_guidelines.insert(format!("{} {}", cell.guideline, cell.function));
        } else if !sizes.contains(&cell.bytes) {
            of_sizes.insert(cell.bytes);
        } else {
            rest += 1;
        }
    }
    if !of_guidelines.is_empty() {
        out.push(format!(
            "guidelines {}",
            of_guidelines.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    if !of_sizes.is_empty() {
        out.push(format!(
            "sizes {}",
            of_sizes.into_iter().map(format::bytes).collect::<Vec<_>>().join(", ")
        ));
    }
    if rest > 0 {
        out.push(format!("{} with another right side", format::count(rest, "cell")));
    }
    out
}

fn guideline_of(cell: &Cell) -> (&str, &str) {
    (&cell.guideline, &cell.function)
}
