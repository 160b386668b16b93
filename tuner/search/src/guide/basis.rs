//! The basis of a guide's predictions, and its words in reports.

use std::collections::BTreeMap;

use super::{Guide, MEDIA};
use crate::cost_model::Medium;
use crate::cost_model::calibrated::Calibrated;
use crate::cost_model::explain::fitted;
use crate::cost_model::fit::{Fit, Predicted};
use crate::cost_model::prices::{Distance, Price};
use crate::cost_model::prune::Model;
use crate::target::Target;
use kilter_algorithms::Cost;
use kilter_model::report::{CostModel, MeasuredPrice, Prediction};
use kilter_render::format;

/// Basis of a medium's predictions.
#[derive(Debug)]
pub(super) enum Basis {
    /// Measured prices.
    Measured(Calibrated),
    /// Prices fitted to the times of other collectives.
    Fitted(Fit),
}

impl Basis {
    pub(super) fn model(&self) -> &dyn Model {
        match self {
            Basis::Measured(model) => model,
            Basis::Fitted(model) => model,
        }
    }

    pub(super) fn misfit(&self) -> f64 {
        match self {
            Basis::Measured(model) => model.misfit,
            Basis::Fitted(model) => model.misfit,
        }
    }
}

impl Guide {
    /// The models of a target for the report.
    pub(super) fn in_report(&self, fits: &BTreeMap<Medium, Basis>, target: &Target) -> Vec<CostModel> {
        let mut models = Vec::new();
        for medium in MEDIA {
            let prices = self
                .priced(medium)
                .map(|distance| self.prices_near(distance, target.bytes()));
            let basis = fits.get(&medium);
            let none = CostModel {
                medium: medium.name().to_owned(),
                prices: prices.clone().unwrap_or_default(),
                residual: 0.0,
                alpha: 0.0,
                beta: 0.0,
                gamma: 0.0,
                points: 0,
                misfit: 1.0,
                trusted: false,
            };
            models.extend(match basis {
                Some(Basis::Measured(model)) => Some(CostModel {
                    residual: model.residual,
                    points: model.points,
                    misfit: model.misfit,
                    trusted: model.is_trusted(),
                    ..none
                }),
                Some(Basis::Fitted(fit)) => Some(CostModel {
                    alpha: fit.alpha,
                    beta: fit.beta,
                    gamma: fit.gamma,
                    points: fit.points,
                    misfit: fit.misfit,
                    trusted: fit.is_trusted(),
                    ..none
                }),
                None => prices.map(|_| none),
            });
        }
        models
    }

    /// The measured prices of messages of so many bytes.
    fn prices_near(&self, distance: Distance, bytes: u64) -> Vec<MeasuredPrice> {
        let Some(level) = self.prices.level(distance) else {
            return Vec::new();
        };
        let size = bytes as f64;
        let priced = |what: String, price: Price| MeasuredPrice {
            what,
            seconds: price.seconds,
            interval: price.interval,
        };
        let of = format::bytes(bytes);
        let mut prices = vec![
            priced(format!("latency {}", distance.name()), level.latency()),
            priced("gap between messages".to_owned(), level.gap()),
            priced(format!("under way for {of}"), level.under_way(size)),
            priced(format!("byte of {of}"), level.byte(size)),
        ];
        prices.extend(
            self.prices
                .combine(size)
                .map(|price| priced("byte combined".to_owned(), price)),
        );
        prices.extend(
            self.prices
                .copy(size)
                .map(|price| priced("byte copied".to_owned(), price)),
        );
        prices
    }
}

/// A prediction by fitted prices, which says that they are.
pub(super) fn by_fit(predicted: Predicted, cost: Cost, fit: &Fit) -> Prediction {
    Prediction {
        seconds: predicted.seconds,
        interval: (predicted.low, predicted.high),
        unexplained: None,
        because: format!("{} (fitted to other times)", fitted(cost, fit)),
    }
}

/// Corrections of collectives beside measured prices; empty where there are none.
pub(super) fn residual(messages: f64, seconds: f64) -> String {
    if seconds == 0.0 {
        return String::new();
    }
    format!(
        " + {messages} x {} that the prices leave open",
        format::seconds(seconds)
    )
}
