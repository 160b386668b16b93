//! Cells that keep their guidelines only as long as nothing is deployed: the choices of a round make their bounds faster than they are. Pure.
//!
//! They are searched in the same round. Left to the next one, each would cost a proof of its own, and a budget that ends between the rounds
//! would leave them violated.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::change::Cell;
use kilter_model::plan::Subject;
use kilter_protocol::expression::Side;
use kilter_search::choose::Choice;
use kilter_search::target::{Target, targets};
use kilter_search::verification::{JudgedCell, Verification};
use kilter_stats::verdict::Outcome;

/// Time of each chosen cell over its default's, as the contests measured it.
pub(super) type Gains = BTreeMap<Cell, f64>;

/// The gains of these choices.
pub(super) fn gains(choices: &[(Target, Choice)]) -> Gains {
    let gain = |(target, choice): &(Target, Choice)| {
        let chosen = choice.contest.candidates.iter().find(|one| one.chosen)?;
        choice.chosen.as_ref()?;
        Some((target.cell()?, chosen.ratio_to_default))
    };
    choices.iter().filter_map(gain).collect()
}

/// Targets that the `gains` make of cells that are not violated now, without those among `searched`. A ratio beyond `1 + floor` makes one.
pub(super) fn follow_ups(now: &Verification, gains: &Gains, searched: &[Target], floor: f64) -> Vec<Target> {
    let known: BTreeSet<&Subject> = searched.iter().map(|target| &target.left).collect();
    let mut expected = Verification::default();
    for judged in &now.cells {
        let is_open = judged.comparison.verdict != Outcome::Violated && !known.contains(&judged.cell.left);
        if let Some(ratio) = is_open.then(|| ratio_with(now, judged, gains)).flatten() {
            let mut judged = judged.clone();
            if ratio > 1.0 + floor {
                judged.comparison.verdict = Outcome::Violated;
                judged.comparison.right_seconds *= judged.comparison.ratio / ratio;
                judged.comparison.ratio = ratio;
                expected.cells.push(judged);
            }
        }
    }
    targets(&expected, &|_| false)
}

/// The ratio of a cell's sides with the gains; `None` where these do not change its right side, or where its times are not known.
fn ratio_with(now: &Verification, judged: &JudgedCell, gains: &Gains) -> Option<f64> {
    let (cell, comparison) = (&judged.cell, &judged.comparison);
    let calls = cell.right.text.parse::<Side>().ok()?.plain_calls()?;
    let of_call = |call: &Collective| {
        let gain = gains.get(&(*call, cell.right.bytes))?;
        let seconds = match calls.len() {
            1 => comparison.right_seconds,
            _ => median(now, &Subject::library(*call, cell.right.bytes))?,
        };
        Some((gain * seconds, (1.0 - gain) * seconds))
    };
    let (takes, saved) = calls
        .iter()
        .filter_map(of_call)
        .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    // Sides are timed by themselves, so that a part may seem to take longer than the whole; with the gains a part takes its time still.
    let right = (comparison.right_seconds - saved).max(takes);
    let own = cell
        .left
        .collective()
        .and_then(|own| gains.get(&(own, cell.left.bytes)));
    let left = comparison.seconds * own.copied().unwrap_or(1.0);
    (saved > 0.0 && right > 0.0 && left > 0.0).then(|| left / right)
}

/// Median of a subject over launches, in seconds.
fn median(now: &Verification, subject: &Subject) -> Option<f64> {
    let mut seconds = now.medians.get(subject)?.clone();
    seconds.sort_unstable_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}
