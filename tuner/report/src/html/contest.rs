//! What competed for a violated cell, as bars beside the guideline's bound.

use kilter_model::report::Contest;
use kilter_render::format;

use crate::cost_model;
use crate::html::words::{kind_words, settings, time};

/// What was tried for one violated cell.
pub(super) struct ContestView {
    pub(super) number: usize,
    pub(super) title: String,
    pub(super) bound: String,
    pub(super) rows: Vec<ContestantView>,
    /// How many more rows are folded away.
    pub(super) rest: Vec<ContestantView>,
    /// What shows that the library's algorithms act; may be empty.
    pub(super) proof: String,
    /// What the cost models say.
    pub(super) model: Vec<String>,
    /// What the options forbid, and why.
    pub(super) refused: Vec<String>,
}

/// One candidate.
pub(super) struct ContestantView {
    pub(super) settings: Vec<(String, String)>,
    pub(super) kind: &'static str,
    pub(super) chosen: bool,
    pub(super) is_default: bool,
    pub(super) time: String,
    pub(super) to_default: String,
    pub(super) to_bound: String,
    /// Chosen, among the best, or why it is not deployed although it was faster.
    pub(super) verdict: String,
    /// Length of the bar and place of the bound, in percent.
    pub(super) bar: String,
    pub(super) bound_at: String,
}

/// Candidates shown without unfolding.
const SHOWN: usize = 8;

impl ContestView {
    /// The view of the contest with this place in the report.
    pub(super) fn of(number: usize, contest: &Contest) -> Self {
        let finite = |value: f64| value.is_finite() && value > 0.0;
        let slowest = contest
            .candidates
            .iter()
            .map(|row| row.seconds)
            .filter(|s| finite(*s))
            .fold(0.0, f64::max);
        let bounds = contest
            .candidates
            .iter()
            .map(|row| row.seconds / row.ratio_to_bound)
            .filter(|bound| finite(*bound));
        let mut bounds: Vec<f64> = bounds.collect();
        bounds.sort_by(f64::total_cmp);
        let bound = bounds.get(bounds.len() / 2).copied();
        let scale = slowest.max(bound.unwrap_or(0.0));
        let percent = |seconds: f64| {
            if finite(seconds) && scale > 0.0 {
                format!("{:.1}", 100.0 * seconds / scale)
            } else {
                "0".to_owned()
            }
        };
        let mut rows = Vec::new();
        let mut rest = Vec::new();
        for (place, row) in contest.candidates.iter().enumerate() {
            let view = ContestantView {
                settings: settings(&row.id),
                kind: row.kind.map_or("as delivered", kind_words),
                chosen: row.chosen,
                is_default: row.kind.is_none(),
                time: time(row.seconds),
                to_default: format::ratio(row.ratio_to_default),
                to_bound: format::ratio(row.ratio_to_bound),
                verdict: match (row.chosen, &row.not_deployed, row.among_best) {
                    (true, ..) => "chosen".to_owned(),
                    (false, Some(why), _) => why.to_string(),
                    (false, None, true) => "among the best".to_owned(),
                    (false, None, false) => String::new(),
                },
                bar: percent(row.seconds),
                bound_at: bound.map_or_else(|| "0".to_owned(), percent),
            };
            if place < SHOWN || view.chosen || view.is_default {
                rows.push(view)
            } else {
                rest.push(view)
            }
        }
        Self {
            number,
            title: format!(
                "{} at {}",
                format::function(&contest.function),
                format::bytes(contest.bytes)
            ),
            bound: bound.map_or_else(|| format::NONE.to_owned(), time),
            rows,
            rest,
            proof: contest.proof.clone().unwrap_or_default(),
            model: cost_model::lines(contest)
                .iter()
                .map(|line| line.replace(" us", " µs"))
                .collect(),
            refused: contest
                .refused
                .iter()
                .map(|refused| format!("{}: {}", refused.id, refused.because))
                .collect(),
        }
    }
}
