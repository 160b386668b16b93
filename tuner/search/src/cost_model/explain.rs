//! A time made of measured prices, in words, and the test that it explains the measured time.

use kilter_algorithms::Cost;
use kilter_render::format;

use super::counts::Counts;
use super::fit::Fit;
use super::prices::{Distance, Price, Prices};

/// A time further from the measured one than this share of it explains nothing.
pub const EXPLAINS_WITHIN: f64 = 0.3;

/// Time of a call by measured prices alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The sum.
    pub total: Price,
    /// Its terms; those that cost nothing are left out.
    pub because: String,
}

/// The time of a call whose messages all go over one distance; `None` if a price was not measured or the messages were not counted.
#[must_use]
pub fn by_prices(counts: &Counts, prices: &Prices, distance: Distance) -> Option<Explained> {
    let Cost {
        rounds: messages,
        bytes_sent,
        bytes_reduced,
    } = counts.cost;
    let level = prices.level(distance)?;
    let hops = counts.hops?;
    if messages <= 0.0 {
        return None;
    }
    let each = bytes_sent / messages;
    let (under_way, gap, byte) = (level.under_way(each), level.gap(), level.byte(each));
    let combine = if bytes_reduced > 0.0 {
        prices.combine(bytes_reduced / messages)?
    } else {
        Price::FREE
    };
    let plural = |count: f64, one: &'static str, more: &'static str| if count == 1.0 { one } else { more };
    let terms = [
        (
            under_way.times(hops),
            format!(
                "{hops} {} x {}",
                plural(hops, "hop", "hops"),
                format::seconds(under_way.seconds)
            ),
        ),
        (
            gap.times(messages),
            format!(
                "{messages} {} x {}",
                plural(messages, "message", "messages"),
                format::seconds(gap.seconds)
            ),
        ),
        (byte.times(bytes_sent), bytes(bytes_sent, "sent", byte.seconds)),
        (
            combine.times(bytes_reduced),
            bytes(bytes_reduced, "combined", combine.seconds),
        ),
    ];
    let total = terms.iter().fold(Price::FREE, |sum, (price, _)| sum.plus(*price));
    let said: Vec<String> = terms
        .into_iter()
        .filter(|(price, _)| price.seconds > 0.0)
        .map(|(_, text)| text)
        .collect();
    (total.seconds > 0.0).then(|| Explained {
        total,
        because: said.join(" + "),
    })
}

/// The reason why a modelled time does not explain a measured one, in seconds; `None` if it does.
#[must_use]
pub fn unexplained(model: f64, measured: f64) -> Option<String> {
    let off = (model / measured - 1.0).abs();
    // A ratio that is no number explains nothing: it is not below the limit.
    if off <= EXPLAINS_WITHIN {
        return None;
    }
    let (ratio, more) = if model < measured {
        (measured / model, "as long as it says")
    } else {
        (model / measured, "shorter than it says")
    };
    Some(format!(
        "the model does not explain it: measured {}, {} times {more}",
        format::seconds(measured),
        format::ratio(ratio)
    ))
}

/// A call's terms by prices that were fitted to other times, not measured: `6 rounds x 12.1 us + 448 KiB sent x 0.80 ns/B`.
#[must_use]
pub fn fitted(cost: Cost, fit: &Fit) -> String {
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
