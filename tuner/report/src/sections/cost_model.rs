//! The cost models' predictions, as lines for every rendering.

use kilter_model::report::{Contest, CostModel};
use kilter_render::format;

/// Contests for which something was predicted: the cell, and its lines.
pub(super) fn explained(contests: &[Contest]) -> Vec<(String, Vec<String>)> {
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
pub(super) fn lines(contest: &Contest) -> Vec<String> {
    let mut lines: Vec<String> = contest.models.iter().map(model).collect();
    for candidate in &contest.candidates {
        let Some(predicted) = &candidate.predicted else {
            continue;
        };
        if let Some(unexplained) = &predicted.unexplained {
            lines.push(format!("{}: {unexplained}", candidate.id));
        } else {
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
    if !model.prices.is_empty() {
        return measured(model);
    }
    let trust = if model.trusted {
        ""
    } else {
        "; too inaccurate to predict by"
    };
    let per_byte = |seconds: f64| format!("{} ns", format::ratio(seconds * 1e9));
    format!(
        "{}: {} a round, {} a byte, {} a byte combined, fitted to other times and not measured; four of five of {} lie within a factor of {}{trust}",
        model.medium,
        format::seconds(model.alpha),
        per_byte(model.beta),
        per_byte(model.gamma),
        format::count(model.points, "time"),
        format::ratio(model.misfit),
    )
}

/// Measured prices, and how far off they are for collectives.
fn measured(model: &CostModel) -> String {
    let price = |seconds: f64| {
        if seconds < 1e-7 {
            return format!("{} ns", format::ratio(seconds * 1e9));
        }
        format::seconds(seconds)
    };
    let all: Vec<String> = model
        .prices
        .iter()
        .map(|one| {
            let (low, high) = one.interval;
            format!("{} {} [{}, {}]", one.what, price(one.seconds), price(low), price(high))
        })
        .collect();
    let mut text = format!("{}, measured: {}", model.medium, all.join("; "));
    if model.points > 0 {
        let residual = if model.residual > 0.0 {
            format!(
                " with {} a message that they leave open",
                format::seconds(model.residual)
            )
        } else {
            String::new()
        };
        let trust = if model.trusted {
            ""
        } else {
            "; too inaccurate to predict by"
        };
        text += &format!(
            "; four of five of {} of collectives lie within a factor of {}{residual}{trust}",
            format::count(model.points, "time"),
            format::ratio(model.misfit),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_model::report::{LeftOut, MeasuredPrice, Prediction};

    use super::*;

    #[test]
    fn models_predictions_and_what_was_left_out() {
        let mut contest = fixture::tuned().contests.remove(2);
        assert!(lines(&contest).is_empty(), "no model, nothing to say");
        contest.models.push(CostModel {
            medium: "messages".to_owned(),
            prices: Vec::new(),
            residual: 0.0,
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
            unexplained: None,
        };
        contest.candidates[0].predicted = Some(prediction(62.2e-6));
        contest.left_out.push(LeftOut {
            id: "scan.linear".to_owned(),
            predicted: prediction(900e-6),
        });
        insta::assert_snapshot!(lines(&contest).join("\n"), @r"
        messages: 12.0 us a round, 0.80 ns a byte, 0.00 ns a byte combined, fitted to other times and not measured; four of five of 23 times lie within a factor of 1.31
        scan.pipelined_chain: predicted 62.2 us, measured 67.0 us, because 3 rounds x 12.0 us + 32 KiB sent x 0.80 ns/B
        scan.linear: not measured, predicted 600 us or more, because 3 rounds x 12.0 us + 32 KiB sent x 0.80 ns/B
        ");
        contest.models[0].trusted = false;
        assert!(lines(&contest)[0].ends_with("too inaccurate to predict by"));
        assert_eq!(explained(&[contest.clone()]).len(), 1);
        contest.candidates[0].predicted = None;
        contest.left_out.clear();
        assert!(explained(&[contest]).is_empty());
    }

    #[test]
    fn what_the_model_does_not_explain_has_no_explanation() {
        let mut contest = fixture::tuned().contests.remove(2);
        let price = |what: &str, seconds: f64| MeasuredPrice {
            what: what.to_owned(),
            seconds,
            interval: (0.9 * seconds, 1.1 * seconds),
        };
        contest.models.push(CostModel {
            medium: "messages".to_owned(),
            prices: vec![price("latency between nodes", 2e-4), price("byte of 4 KiB", 8.5e-9)],
            residual: 3e-6,
            alpha: 0.0,
            beta: 0.0,
            gamma: 0.0,
            points: 23,
            misfit: 2.31,
            trusted: false,
        });
        contest.candidates[0].predicted = Some(Prediction {
            seconds: 20e-6,
            interval: (19e-6, 21e-6),
            because: "3 hops x 6.00 us".to_owned(),
            unexplained: Some(
                "the model does not explain it: measured 67.0 us, 3.35 times as long as it says".to_owned(),
            ),
        });
        insta::assert_snapshot!(lines(&contest).join("\n"), @r"
        messages, measured: latency between nodes 200 us [180 us, 220 us]; byte of 4 KiB 8.50 ns [7.65 ns, 9.35 ns]; four of five of 23 times of collectives lie within a factor of 2.31 with 3.00 us a message that they leave open; too inaccurate to predict by
        scan.pipelined_chain: the model does not explain it: measured 67.0 us, 3.35 times as long as it says
        ");
    }
}
