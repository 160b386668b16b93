//! Facts about the machine that a run has measured so far.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_model::plan::Subject;

use crate::cost_model::prices::Prices;
use crate::heard::Heard;

/// Seconds of a subject in a launch of a verification, its preparation and what stands beside its repetitions included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// In a launch of the screening.
    pub(crate) screening_seconds: f64,
    /// In a launch that decides.
    pub(crate) launch_seconds: f64,
}

/// Facts about the machine that a run has measured so far.
#[derive(Default)]
pub struct Facts {
    known: RefCell<Known>,
}

#[derive(Default)]
struct Known {
    noise_seconds: f64,
    transports: Vec<String>,
    heard: Heard,
    prices: Prices,
    predicted: BTreeMap<String, u32>,
    costs: BTreeMap<Subject, Cost>,
}

impl Facts {
    /// Takes over what the first verification found: the spread of the empty operation, and the usual transports of this placement.
    pub(super) fn begin(&self, noise_seconds: f64, usual: Vec<String>) {
        let mut known = self.known.borrow_mut();
        known.noise_seconds = noise_seconds;
        known.transports = usual;
    }

    /// Takes over what a running job said of transports and hosts; without transports the usual ones stay.
    pub fn hear(&self, heard: Heard) {
        self.known.borrow_mut().heard = heard;
    }

    /// Words of a running job.
    #[must_use]
    pub fn heard(&self) -> Heard {
        self.known.borrow().heard.clone()
    }

    /// Spread of the empty operation, in seconds.
    #[must_use]
    pub fn noise_seconds(&self) -> f64 {
        self.known.borrow().noise_seconds
    }

    /// Names of the transports in use.
    #[must_use]
    pub fn transports(&self) -> Vec<String> {
        let known = self.known.borrow();
        let in_use = if known.heard.transports.is_empty() {
            &known.transports
        } else {
            &known.heard.transports
        };
        in_use.clone()
    }

    /// Takes over what messages and local work cost here.
    pub fn set_prices(&self, prices: Prices) {
        self.known.borrow_mut().prices = prices;
    }

    /// Prices of messages and local work, where they were measured.
    #[must_use]
    pub fn prices(&self) -> Prices {
        self.known.borrow().prices.clone()
    }

    /// Takes over the repetitions that a verification predicts for each block.
    pub fn set_predicted(&self, predicted: BTreeMap<String, u32>) {
        self.known.borrow_mut().predicted = predicted;
    }

    /// Repetitions of each block; empty before they were predicted.
    #[must_use]
    pub fn predicted(&self) -> BTreeMap<String, u32> {
        self.known.borrow().predicted.clone()
    }

    /// Predicted repetitions of a block.
    #[must_use]
    pub fn predicted_of(&self, block: &str) -> Option<u32> {
        self.known.borrow().predicted.get(block).copied()
    }

    /// Takes over what a screening has seen of the costs of subjects.
    pub(crate) fn learn_costs(&self, costs: BTreeMap<Subject, Cost>) {
        self.known.borrow_mut().costs.extend(costs);
    }

    /// Costs of the subjects that a screening has seen.
    pub(crate) fn costs(&self) -> BTreeMap<Subject, Cost> {
        self.known.borrow().costs.clone()
    }
}
