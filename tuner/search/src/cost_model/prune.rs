//! Leaves out candidates that need not be measured, because the model puts them far above the best.
//!
//! A prediction is an interval, [`Predicted::low`](super::fit::Predicted::low) to `high`. A candidate is left out if its shortest time, with the
//! most favourable values of its parameters, is more than [`MARGIN`] times the longest time of the model's best. So whatever the truth within
//! the intervals, a candidate that is left out is slower than one that stays. Never left out: candidates without counts (the default, settings
//! of the library, mock-ups), those that the model cannot predict, and the model's best.

use super::Medium;
use super::counts::Counts;
use super::fit::{Fit, Predicted};

/// Factor that the intervals have to be apart. They cover the measured points; the margin is for what no point shows: a candidate that was not
/// among them may keep its buffers in another cache or meet another protocol.
pub const MARGIN: f64 = 1.5;

/// An algorithm that could be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The carrier of its data.
    pub medium: Medium,
    /// Its counts, one for each parameter setting that a search could try.
    pub costs: Vec<Counts>,
}

/// The basis of predictions: measured prices, fitted ones, or none.
pub trait Model {
    /// True if it is right often enough to decide anything.
    fn is_trusted(&self) -> bool;

    /// Predicted time of a call with these counts; `None` where the basis does not say.
    fn predict(&self, counts: &Counts) -> Option<Predicted>;
}

impl Model for Fit {
    fn is_trusted(&self) -> bool {
        Fit::is_trusted(self)
    }

    fn predict(&self, counts: &Counts) -> Option<Predicted> {
        Fit::predict(self, counts.cost)
    }
}

/// The model's judgement of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Prediction with the best of its settings; `None` if there is none.
    pub predicted: Option<Predicted>,
    /// True if it need not be measured.
    pub left_out: bool,
}

/// Judges candidates, in the order given. `model` is the model of a medium, where there is one; one that is not
/// [trusted](Model::is_trusted) judges nothing.
#[must_use]
pub fn judge<'m>(candidates: &[Candidate], model: &dyn Fn(Medium) -> Option<&'m dyn Model>) -> Vec<Judged> {
    let predicted: Vec<Option<Predicted>> = candidates
        .iter()
        .map(|candidate| {
            let model = model(candidate.medium).filter(|model| model.is_trusted())?;
            // One setting that cannot be predicted may be the best one.
            let all: Option<Vec<Predicted>> = candidate.costs.iter().map(|counts| model.predict(counts)).collect();
            let all = all?;
            let low = all.iter().map(|one| one.low).min_by(f64::total_cmp)?;
            let best = all.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
            Some(Predicted { low, ..*best })
        })
        .collect();
    let surest = predicted.iter().flatten().map(|one| one.high).min_by(f64::total_cmp);
    let fastest = predicted.iter().flatten().map(|one| one.seconds).min_by(f64::total_cmp);
    predicted
        .into_iter()
        .map(|predicted| {
            let is_far = |one: &Predicted| surest.is_some_and(|high| one.low > MARGIN * high);
            let is_best = |one: &Predicted| fastest.is_some_and(|seconds| one.seconds <= seconds);
            Judged {
                predicted,
                left_out: predicted.as_ref().is_some_and(|one| is_far(one) && !is_best(one)),
            }
        })
        .collect()
}
