//! What the cost models say, as lines for every rendering.

use super::format;
use super::model::{Contest, CostModel};

/// Contests for which something was predicted: the cell, and its lines.
#[must_use]
pub fn explained(contests: &[Contest]) -> Vec<(String, Vec<String>)> {
    contests
        .iter()
        .filter(|contest| {
            let mut candidates = contest.candidates.iter();
            !contest.left_out.is_empty() || candidates.any(|candidate| candidate.predicted.is_some())
        })
        .map(|contest| {
            let cell = format!("{} at {}", contest.function, format::bytes(contest.bytes));
            (cell, lines(contest))
        })
        .collect()
}

/// The models, what they predict for the candidates that were measured, fastest first, and what they left out.
#[must_use]
pub fn lines(contest: &Contest) -> Vec<String> {
    let mut lines: Vec<String> = contest.models.iter().map(model).collect();
    for candidate in &contest.candidates {
        if let Some(predicted) = &candidate.predicted {
            lines.push(format!(
                "{}: predicted {}, measured {}, because {}",
                candidate.id,
                format::seconds(predicted.seconds),
                format::seconds(candidate.seconds),
                predicted.because
            ));
        }
    }
    lines.extend(contest.left_out.iter().map(|one| {
        format!(
            "{}: not measured, predicted {} or more, because {}",
            one.id,
            format::seconds(one.predicted.interval.0),
            one.predicted.because
        )
    }));
    lines
}

fn model(model: &CostModel) -> String {
    let trust = if model.trusted { "" } else { "; too much to predict by" };
    let per_byte = |seconds: f64| format!("{} ns", format::ratio(seconds * 1e9));
    format!(
        "{}: {} a round, {} a byte, {} a byte combined; four of five of {} lie within a factor of {}{trust}",
        model.medium,
        format::seconds(model.alpha),
        per_byte(model.beta),
        per_byte(model.gamma),
        format::count(model.points, "time"),
        format::ratio(model.misfit),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use crate::report::model::{LeftOut, Prediction};

    #[test]
    fn models_predictions_and_what_was_left_out() {
        let mut contest = fixture::tuned().contests.remove(2);
        assert!(lines(&contest).is_empty(), "no model, nothing to say");
        contest.models.push(CostModel {
            medium: "messages".to_owned(),
            alpha: 1.2e-5,
            beta: 8e-10,
            gamma: 0.0,
            points: 23,
            misfit: 1.31,
            trusted: true,
        });
        let prediction = |seconds: f64| Prediction {
            seconds,
            interval: (seconds / 1.5, seconds * 1.5),
            because: "3 rounds x 12.0 us + 32 KiB sent x 0.80 ns/B".to_owned(),
        };
        contest.candidates[0].predicted = Some(prediction(62.2e-6));
        contest.left_out.push(LeftOut {
            id: "scan.linear".to_owned(),
            predicted: prediction(900e-6),
        });
        insta::assert_snapshot!(lines(&contest).join("\n"), @r"
        messages: 12.0 us a round, 0.80 ns a byte, 0.00 ns a byte combined; four of five of 23 times lie within a factor of 1.31
        scan.pipelined_chain: predicted 62.2 us, measured 67.0 us, because 3 rounds x 12.0 us + 32 KiB sent x 0.80 ns/B
        scan.linear: not measured, predicted 600 us or more, because 3 rounds x 12.0 us + 32 KiB sent x 0.80 ns/B
        ");
        contest.models[0].trusted = false;
        assert!(lines(&contest)[0].ends_with("too much to predict by"));
        assert_eq!(explained(&[contest.clone()]).len(), 1);
        contest.candidates[0].predicted = None;
        contest.left_out.clear();
        assert!(explained(&[contest]).is_empty());
    }
}
