//! A prediction in words: what its time is made of.

use kilter_algorithms::Cost;

use super::fit::Fit;
use crate::report::format;

/// `6 rounds x 12.1 us + 448 KiB sent x 0.80 ns/B + 224 KiB combined x 0.20 ns/B`; what costs nothing is left out.
#[must_use]
pub fn because(cost: Cost, fit: &Fit) -> String {
    let rounds = if cost.rounds == 1.0 { "round" } else { "rounds" };
    let terms = [
        (
            cost.rounds * fit.alpha,
            format!("{} {rounds} x {}", cost.rounds, format::seconds(fit.alpha)),
        ),
        (cost.bytes_sent * fit.beta, bytes(cost.bytes_sent, "sent", fit.beta)),
        (
            cost.bytes_reduced * fit.gamma,
            bytes(cost.bytes_reduced, "combined", fit.gamma),
        ),
    ];
    terms
        .into_iter()
        .filter(|(seconds, _)| *seconds > 0.0)
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join(" + ")
}

fn bytes(count: f64, what: &str, seconds_per_byte: f64) -> String {
    let count = format::bytes(count.round() as u64);
    format!("{count} {what} x {} ns/B", format::ratio(seconds_per_byte * 1e9))
}
