//! Times of the same function at the same size in two runs.
//!
//! Judged like a guideline: the launch medians of both runs by the test of unpaired sides, two-sided (twice the smaller tail), corrected
//! by Holm over all functions and sizes, and an effect beyond the tolerance. Times on one simulated machine are exact: an effect
//! beyond the tolerance is all that it takes.

use std::collections::BTreeMap;

use kilter_model::report::{Cell, Report};
use kilter_render::format;
use kilter_stats::sample::Sample;
use kilter_stats::{holm, unpaired};

use super::operand::Operand;
use super::pair::{Shift, ShiftKind};
use crate::summary::current;

/// Confidence of the intervals, as in reports.
const CONFIDENCE: f64 = 0.95;

/// Left side, measured bytes, ranks.
type Subject = (String, u64, usize);

/// The reason why times of two runs cannot be compared: a model of a network and a network, or two models.
pub(super) fn apart(base: &Operand, other: &Operand) -> Option<String> {
    (base.machine() != other.machine()).then(|| {
        format!(
            "those of {} are {}, those of {} {}",
            base.label,
            base.times(),
            other.label,
            other.times()
        )
    })
}

/// Number of subjects compared, what became slower, what became faster.
pub(super) fn compare(base: &Report, other: &Report, tolerance: f64) -> (usize, Vec<Shift>, Vec<Shift>) {
    let (before, after) = (subjects(base), subjects(other));
    let common: Vec<(&Subject, &Sample, &Sample)> = before
        .iter()
        .filter_map(|(subject, from)| Some((subject, from, after.get(subject)?)))
        .collect();
    let is_exact = base.provenance.simulated_machine.is_some() && other.provenance.simulated_machine.is_some();
    let p: Vec<f64> = common
        .iter()
        .map(|(_, from, to)| {
            if is_exact {
                return 0.0;
            }
            let tail = unpaired::p_left_greater(to, from).min(unpaired::p_left_greater(from, to));
            (2.0 * tail).min(1.0)
        })
        .collect();
    let alpha = base.provenance.alpha.min(other.provenance.alpha);
    let (mut slower, mut faster) = (Vec::new(), Vec::new());
    for ((subject, from, to), p) in common.iter().zip(holm::adjust(&p)) {
        let estimate = unpaired::ratio(to, from, CONFIDENCE);
        // The correction makes not-a-number 1.
        if p > alpha {
            continue;
        }
        let shift = Shift {
            kind: ShiftKind::Time,
            guideline: String::new(),
            subject: subject.0.clone(),
            bytes: subject.1,
            from: format::seconds(from.median()),
            to: format::seconds(to.median()),
            factor: estimate.ratio,
            interval: (!is_exact).then_some((estimate.low, estimate.high)),
        };
        if estimate.ratio > 1.0 + tolerance && estimate.low > 1.0 {
            slower.push(shift);
        } else if estimate.ratio < 1.0 / (1.0 + tolerance) && estimate.high < 1.0 {
            faster.push(shift);
        }
    }
    (common.len(), slower, faster)
}

/// The launch medians of every left side; guidelines that share one share its measurements.
fn subjects(report: &Report) -> BTreeMap<Subject, Sample> {
    let mut found = BTreeMap::new();
    for cell in &report.cells {
        if let Ok(sample) = Sample::new(current(cell).left_medians.clone()) {
            found.entry(subject(cell)).or_insert(sample);
        }
    }
    found
}

fn subject(cell: &Cell) -> Subject {
    let left = match cell.kind.as_str() {
        // Their text names the size.
        "monotony" | "split" => format!("{}(n)", cell.function),
        _ => format::sides(&cell.expression).0.to_owned(),
    };
    (left, cell.measured_bytes, cell.ranks)
}
