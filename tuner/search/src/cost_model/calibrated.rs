//! Measured prices as a model of collectives, with their residual and their error.
//!
//! A collective does more than send: it looks at its arguments, decides, makes requests. The rest of its times beside the measured prices is
//! fitted as one number, the *residual*, in seconds a message, and never below zero. It is no price of the network: it helps to say which
//! candidate is slower, and explains nothing.

use super::counts::Counts;
use super::explain::by_prices;
use super::fit::{MAX_MISFIT, MIN_POINTS, MOST, Predicted};
use super::prices::{Distance, Prices};
use super::prune::Model;

/// A larger misfit is as bad, and may be infinite.
const WORST: f64 = 1e6;

/// Prices and the observed times of collectives.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    prices: Prices,
    distance: Distance,
    /// Seconds a message that collectives' times need beside the prices.
    pub residual: f64,
    /// Times that it was compared with.
    pub points: usize,
    /// The factor between measured times and the model's, either way, within which [`MOST`] of them lie; at least 1.
    pub misfit: f64,
}

impl Calibrated {
    /// Compares prices with counts and seconds; `None` where there are fewer than [`MIN_POINTS`] that they can be put on.
    #[must_use]
    pub fn of(prices: &Prices, distance: Distance, points: &[(Counts, f64)]) -> Option<Calibrated> {
        let known: Vec<(f64, f64, f64)> = points
            .iter()
            .filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0)
            .filter_map(|(counts, seconds)| {
                let priced = by_prices(counts, prices, distance)?;
                Some((priced.total.seconds, counts.cost.rounds, *seconds))
            })
            .collect();
        if known.len() < MIN_POINTS {
            return None;
        }
        let mut missing: Vec<f64> = known
            .iter()
            .map(|(priced, messages, seconds)| (seconds - priced) / messages)
            .collect();
        missing.sort_by(f64::total_cmp);
        let residual = missing[missing.len() / 2].max(0.0);
        let mut factors: Vec<f64> = known
            .iter()
            .map(|(priced, messages, seconds)| {
                let model = priced + messages * residual;
                (model / seconds).ln().abs().exp().min(WORST)
            })
            .collect();
        factors.sort_by(f64::total_cmp);
        Some(Calibrated {
            prices: prices.clone(),
            distance,
            residual,
            points: known.len(),
            misfit: factors[((factors.len() - 1) as f64 * MOST).ceil() as usize],
        })
    }
}

impl Model for Calibrated {
    fn is_trusted(&self) -> bool {
        self.misfit <= MAX_MISFIT
    }

    /// The interval is that of the prices, widened by the misfit either way.
    fn predict(&self, counts: &Counts) -> Option<Predicted> {
        let priced = by_prices(counts, &self.prices, self.distance)?.total;
        let residual = counts.cost.rounds * self.residual;
        let predicted = Predicted {
            seconds: priced.seconds + residual,
            low: (priced.interval.0 + residual) / self.misfit,
            high: (priced.interval.1 + residual) * self.misfit,
        };
        predicted.seconds.is_finite().then_some(predicted)
    }
}
