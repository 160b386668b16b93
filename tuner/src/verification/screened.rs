//! What the screening says of the cells of the plan: which need no more launches, which are confirmed first, and how those are reported that
//! never were.

use std::collections::{BTreeMap, BTreeSet};

use super::JudgedCell;
use super::admission::Waiting;
use super::cells::Cells;
use super::launches::Timed;
use crate::config::guideline::Kind;
use crate::plan::{PlannedCell, Subject};
use crate::report::model::{Comparison, Outcome};
use crate::stats::sample::Sample;
use crate::verdict::Rule;
use crate::verdict::screening::{Screened, Sides, screen};

/// What a cell is known by, whatever its size is compared with.
type Key = (String, String, Subject);

/// The screening of all cells.
#[derive(Debug, Default)]
pub(super) struct Screening {
    /// Every comparison, in the order of the cells.
    all: Vec<(PlannedCell, Sides, Screened)>,
    /// Cells that need no more launches. Empty where the first pass was no screening.
    clear: BTreeSet<(Key, u64)>,
}

impl Screening {
    /// Judges by the times of the first pass. Unless `trusted`, nothing is clear: times of one launch, or of a pilot.
    pub(super) fn of(cells: &Cells, timed: &Timed, rule: &Rule, trusted: bool) -> Screening {
        let (planned, sides): (Vec<PlannedCell>, Vec<Sides>) = cells
            .comparisons()
            .into_iter()
            .map(|(_, planned)| {
                let (_, left, right) = timed.common(&planned.left, &planned.right).unwrap_or_default();
                (planned, Sides { left, right })
            })
            .unzip();
        let screened = screen(&sides, rule);
        let clear = planned.iter().zip(&screened);
        let clear = clear.filter(|(_, screened)| trusted && screened.clear);
        Screening {
            clear: clear.map(|(planned, _)| (key(planned), planned.right.bytes)).collect(),
            all: planned
                .into_iter()
                .zip(sides)
                .zip(screened)
                .map(|((planned, sides), screened)| (planned, sides, screened))
                .collect(),
        }
    }

    fn is_clear(&self, planned: &PlannedCell) -> bool {
        self.clear.contains(&(key(planned), planned.right.bytes))
    }

    /// What has to be confirmed, each pair and each function by itself. `calls` is how often an application calls a left side.
    pub(super) fn open(&self, cells: &Cells, calls: &dyn Fn(&Subject) -> f64) -> Vec<Waiting<Cells>> {
        let mut gains: BTreeMap<Key, f64> = BTreeMap::new();
        for (planned, _, screened) in &self.all {
            let gain = gains.entry(key(planned)).or_default();
            *gain = gain.max(calls(&planned.left) * screened.excess_seconds);
        }
        cells
            .without(&|planned| self.is_clear(planned))
            .each()
            .map(|one| {
                let keys: BTreeSet<Key> = one.comparisons().iter().map(|(_, planned)| key(planned)).collect();
                Waiting {
                    subjects: one.subjects(),
                    gain_seconds: keys.iter().filter_map(|key| gains.get(key)).copied().sum(),
                    what: one,
                }
            })
            .collect()
    }

    /// All cells in order: as `confirmed`, where they are among these; else as the screening found them.
    pub(super) fn complete(&self, confirmed: Vec<JudgedCell>) -> Vec<JudgedCell> {
        let mut known: BTreeMap<Key, JudgedCell> =
            confirmed.into_iter().map(|judged| (key(&judged.cell), judged)).collect();
        let mut cells = Vec::new();
        let mut rest = &self.all[..];
        while let Some((first, ..)) = rest.first() {
            let name = key(first);
            let own = rest.iter().take_while(|(planned, ..)| key(planned) == name).count();
            let (group, others) = rest.split_at(own);
            rest = others;
            match known.remove(&name) {
                Some(judged) => cells.push(judged),
                None => cells.extend(self.screened_cell(group)),
            }
        }
        // Nothing is lost that the first pass did not know.
        cells.extend(known.into_values());
        cells
    }

    /// The comparison that comes nearest to a violation stands for the cell.
    fn screened_cell(&self, group: &[(PlannedCell, Sides, Screened)]) -> Option<JudgedCell> {
        let measured = group.iter().filter(|(_, sides, _)| !sides.left.is_empty());
        let (planned, sides, screened) = measured.clone().max_by(|a, b| a.2.ratio.total_cmp(&b.2.ratio))?;
        let clear = measured.clone().all(|(planned, ..)| self.is_clear(planned));
        let median = |values: &[f64]| Sample::new(values.to_vec()).map_or(f64::NAN, |sample| sample.median());
        let low = if screened.upper.is_finite() {
            screened.ratio * screened.ratio / screened.upper
        } else {
            0.0
        };
        Some(JudgedCell {
            cell: planned.clone(),
            comparison: Comparison {
                verdict: if clear { Outcome::Holds } else { Outcome::Screened },
                ratio: screened.ratio,
                ratio_ci: (low, screened.upper),
                p: f64::NAN,
                p_adjusted: f64::NAN,
                seconds: median(&sides.left),
                right_seconds: median(&sides.right),
                left_medians: sides.left.clone(),
                right_medians: sides.right.clone(),
            },
            note: Some(if clear {
                format!("clear in the {} launches of the screening", sides.left.len())
            } else {
                format!("screened in {} launches, not confirmed", sides.left.len())
            }),
        })
    }
}

fn key(planned: &PlannedCell) -> Key {
    let what = match planned.kind {
        Kind::Monotony => &planned.function,
        _ => &planned.expression,
    };
    (planned.guideline.clone(), what.clone(), planned.left.clone())
}
