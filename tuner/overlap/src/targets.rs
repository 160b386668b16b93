//! Judges overlap targets: the time of communication and computation together, against the ideal of the untouched
//! library.
//!
//! A target bounds `T`, the time of both, by `max(C, P) + bound * min(C, P)`. `C` and `P` are the times that
//! communication and computation take by themselves **in the untouched library** (`base`), whatever is judged. If they
//! came from the judged configuration, a setting that merely slows communication down would pass for better overlap.
//!
//! # How a cell is judged
//!
//! Each launch contributes one number per side, as for guidelines ([`kilter_stats::verdict`]): its median of `T`, and
//! the bound made of its medians of `C` and `P`. If the launches suffice among so many cells, the rule's test decides
//! on these numbers (Wilcoxon's rank sum, one-sided). A cell then holds if the upper end of the ratio's interval
//! (Hodges-Lehmann) is within the bound and the floor. With fewer launches, ranks could decide nothing, and the 95 %
//! interval of each launch's median decides. Its half-width and the noise of `C` and `P` are taken for 1.96 standard
//! errors (Altman and Bland, BMJ 343:d2304, 2011, doi:10.1136/bmj.d2304). Every launch must show the excess, so that
//! the largest p-value counts. A single launch proves nothing beyond itself.
//!
//! * **missed**: significant after the rule's correction (Holm's) over the cells of all targets, and beyond the bound by more than the
//!   floor, the larger of `effect_floor * min(C, P)` and the noise.
//! * **holds**: an excess above the floor is excluded.
//! * **undecided**: neither.
//! * **masked**: `min(C, P)` is under [`MASK_FACTOR`] times the noise of the untouched
//!   library; says nothing and is not counted as a test. Noise of what is judged masks nothing: a setting that makes times erratic would
//!   hide behind it.
//!
//! A cell that the untouched library had and that could not be measured now is none of these: it keeps a target from holding.
//! Cells that were filled in by the adaptive mode are not judged. [`looks`] says when more launches are made.

use std::collections::BTreeSet;

use kilter_model::config::target::Target;
use kilter_model::survey::{MASK_FACTOR, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_render::format;
use kilter_stats::verdict::Rule;
use serde::Serialize;

use super::floor::{self, Floor};

pub mod looks;
mod present;
mod question;

pub use present::{cells, sheet, text};

use question::Asked;

/// Verdict on a target in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the bound.
    Holds,
    /// Beyond it, significantly and relevantly.
    Missed,
    /// The samples do not decide.
    Undecided,
    /// The time that could be hidden is near the noise.
    Masked,
}

impl Verdict {
    /// Word in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Missed => "missed",
            Verdict::Undecided => "undecided",
            Verdict::Masked => "masked",
        }
    }
}

/// A target in one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Requested computation in nanoseconds.
    pub computation_ns: u64,
    /// Computing threads.
    pub threads: u32,
    /// Verdict.
    pub verdict: Verdict,
    /// Median over the launches of the time that both take together, in seconds.
    pub seconds: f64,
    /// Time that the target allows, in seconds.
    pub allowed_seconds: f64,
    /// Bounded quantity, relative to the untouched library's times.
    pub value: f64,
    /// Interval of `value`.
    pub interval: [f64; 2],
    /// One-sided p-value of "takes longer than allowed", corrected for the number of cells; 1 for a masked cell.
    pub p_adjusted: f64,
}

/// Verdict on a target as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It holds in every cell above the noise.
    Holds,
    /// It is missed in at least one cell.
    Missed,
    /// It is not missed, but not decided or not measured in at least one cell.
    Undecided,
    /// No cell of it was measured above the noise.
    Unknown,
}

impl Standing {
    /// Word in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Holds => "holds",
            Standing::Missed => "missed",
            Standing::Undecided => "undecided",
            Standing::Unknown => "not measured",
        }
    }
}

/// A target, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The target's id.
    pub target: String,
    /// Its benchmark.
    pub benchmark: Benchmark,
    /// Its statement.
    pub statement: String,
    /// The bound.
    pub bound: f64,
    /// Cells measured in the untouched library and now, ascending.
    pub cells: Vec<Judged>,
    /// Cells of the untouched library that could not be measured now.
    pub unmeasured: usize,
    /// Number of launches of the untouched library and of the judged state.
    pub launches: [usize; 2],
    /// Communication time by itself relative to the untouched library's: the median over the cells; 1 without any.
    pub communication: f64,
    /// Lower bound that cannot be undercut here, and its reason.
    pub floor: Option<Floor>,
}

impl Judgement {
    /// Number of cells with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().filter(|cell| cell.verdict == verdict).count()
    }

    /// Verdict on the target as a whole.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let above_noise = self.cells.len() - self.count(Verdict::Masked);
        if self.count(Verdict::Missed) > 0 {
            Standing::Missed
        } else if above_noise == 0 && self.unmeasured == 0 {
            Standing::Unknown
        } else if self.count(Verdict::Holds) < above_noise || self.unmeasured > 0 {
            Standing::Undecided
        } else {
            Standing::Holds
        }
    }

    /// True if no verdict is possible because what could be hidden is near the noise in every cell.
    #[must_use]
    pub fn is_lost_in_noise(&self) -> bool {
        !self.cells.is_empty() && self.standing() == Standing::Unknown
    }

    /// Reason why no deployment could meet it; `None` if it is met, or can be.
    #[must_use]
    pub fn not_attainable_because(&self) -> Option<&str> {
        let floor = self.floor.as_ref().filter(|floor| floor.value > self.bound)?;
        (self.standing() == Standing::Missed || self.standing() == Standing::Undecided).then_some(&floor.because)
    }

    /// Remark for the reader beside the verdicts: the target is not attainable, noise hides it, or cells are missing.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let because = self.not_attainable_because();
        let because = because.map(|because| format!("not attainable here, because {because}"));
        let noise = self.is_lost_in_noise().then(|| {
            format!("cannot be told from noise: in every cell the time that could be hidden is below {MASK_FACTOR} times the noise")
        });
        let missing = (self.unmeasured > 0)
            .then(|| format!("{} could not be measured again", format::count(self.unmeasured, "cell")));
        let parts: Vec<String> = because.into_iter().chain(noise).chain(missing).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Judges one target alone. Several targets of one run need [`judge_all`].
#[must_use]
pub fn judge(target: &Target, base: &[Survey], now: &[Survey], rule: &Rule) -> Judgement {
    let mut judged = judge_all(std::slice::from_ref(target), base, now, rule);
    judged.swap_remove(0)
}

/// Judges targets together, in the given order. `base` are the launches of the untouched library, `now` those of the
/// judged state, which may be the same. The correction for multiple tests runs over all their cells.
#[must_use]
pub fn judge_all(targets: &[Target], base: &[Survey], now: &[Survey], rule: &Rule) -> Vec<Judgement> {
    judge_look(targets, (base, now), rule, 1.0)
}

/// Same as [`judge_all`] with a share of alpha and, if the launches suffice for intervals of their own, of the error of
/// their bound. Adjusted p-values compare with all of alpha.
fn judge_look(targets: &[Target], (base, now): (&[Survey], &[Survey]), rule: &Rule, share: f64) -> Vec<Judgement> {
    let rule = &Rule {
        alpha: share * rule.alpha,
        confidence: 1.0 - share * (1.0 - rule.confidence),
        ..*rule
    };
    let asked: Vec<Asked> = targets.iter().map(|target| Asked::of(target, base, now)).collect();
    let tests = asked
        .iter()
        .flat_map(|asked| &asked.cells)
        .filter(|cell| !cell.masked)
        .count();
    let ps: Vec<f64> = asked
        .iter()
        .flat_map(|asked| &asked.cells)
        .filter(|cell| !cell.masked)
        .map(|cell| cell.p(rule, tests))
        .collect();
    let mut adjusted = rule.correction.adjust(&ps).into_iter();
    targets
        .iter()
        .zip(asked)
        .map(|(target, asked)| Judgement {
            target: target.id.clone(),
            benchmark: target.benchmark,
            statement: target.statement(),
            bound: target.bound,
            communication: asked.communication(),
            unmeasured: asked.unmeasured,
            launches: [base.len(), now.len()],
            floor: now.first().and_then(|survey| floor::of(target.benchmark, survey)),
            cells: asked
                .cells
                .iter()
                .map(|cell| {
                    // The order is that in which the p-values were taken.
                    let p = if cell.masked { None } else { adjusted.next() };
                    let mut judged = cell.judged(p, rule, tests);
                    judged.p_adjusted = (judged.p_adjusted / share).min(1.0);
                    judged
                })
                .collect(),
        })
        .collect()
}

/// Benchmarks of these targets.
#[must_use]
pub fn benchmarks(targets: &[Target]) -> BTreeSet<Benchmark> {
    targets.iter().map(|target| target.benchmark).collect()
}

#[cfg(test)]
mod tests;
