//! The state machine of a site.

use crate::knowledge::Entry;
use crate::{Act, Arm, Settings, Step};

/// What a site knows and does next.
#[derive(Debug, Clone)]
pub struct Site {
    gives: Vec<i64>,
}

impl Site {
    /// A site with `arms` implementations, the default among them. What is known of it is in the order of its arms.
    #[must_use]
    pub fn new(settings: &Settings, arms: u16, known: Option<&Entry>) -> Site {
        let _ = (arms, known);
        Site {
            gives: vec![i64::MAX; 2 * settings.epoch_calls as usize],
        }
    }

    /// What the next call does. Called once for each call, in order, on every rank.
    pub fn step(&mut self) -> Step {
        Step {
            arm: Arm::DEFAULT,
            timed: false,
            before: Act::Nothing,
        }
    }

    /// This rank's readings of the common clock before and after the call that was just made. Not called where the call did not run its
    /// arm; that must be so on all ranks.
    pub fn timed(&mut self, started_ns: i64, ended_ns: i64) {
        let _ = (started_ns, ended_ns);
    }

    /// What this rank gives to the exchange: a vector of fixed length, reduced element by element with MAX over all ranks.
    #[must_use]
    pub fn gives(&self) -> &[i64] {
        &self.gives
    }

    /// Takes the result of the exchange, which is the same on all ranks.
    pub fn adopt(&mut self, maxima: &[i64]) {
        let _ = maxima;
    }

    /// The arm that was chosen, while nothing is timed or sent.
    #[must_use]
    pub fn settled(&self) -> Option<Arm> {
        None
    }

    /// What was learnt, in the order of the site's arms.
    #[must_use]
    pub fn learnt(&self) -> Entry {
        Entry::default()
    }
}
