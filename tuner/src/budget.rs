//! Seconds of measuring: what is spent, what is set aside for the proof of what is found, and where a step has to end.

use std::cell::Cell;

/// Share of the budget that is set aside for the proof at most, each time: the search must be left something, too.
const PROOF_SHARE: f64 = 0.35;

/// The budget of one run. What is spent is counted from the samples and not from the clock, so that a resumed run decides the same.
#[derive(Debug)]
pub struct Budget {
    total_seconds: f64,
    spent_seconds: Cell<f64>,
    reserved_seconds: Cell<f64>,
    /// Where a step that has a share of what is left must end.
    stage_end_seconds: Cell<f64>,
}

impl Budget {
    /// Nothing spent, nothing set aside.
    #[must_use]
    pub fn new(total_seconds: f64) -> Budget {
        Budget {
            total_seconds,
            spent_seconds: Cell::new(0.0),
            reserved_seconds: Cell::new(0.0),
            stage_end_seconds: Cell::new(f64::INFINITY),
        }
    }

    /// Counts seconds of measuring.
    pub fn spend(&self, seconds: f64) {
        self.spent_seconds.set(self.spent_seconds.get() + seconds);
    }

    /// Seconds of measuring so far.
    #[must_use]
    pub fn spent_seconds(&self) -> f64 {
        self.spent_seconds.get()
    }

    /// Whether all of it is spent.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.spent_seconds.get() >= self.total_seconds
    }

    /// Sets seconds aside for the proof, beside those that are.
    pub fn reserve(&self, seconds: f64) {
        let most = PROOF_SHARE * self.total_seconds;
        self.reserved_seconds
            .set(self.reserved_seconds.get() + seconds.min(most));
    }

    /// Whether a search has to end, since it may not spend `further` seconds: the rest is the proof's, or another step's.
    #[must_use]
    pub fn search_exhausted(&self, further: f64) -> bool {
        let end = self.search_end_seconds().min(self.stage_end_seconds.get());
        self.spent_seconds.get() + further >= end
    }

    /// Carries out a step of the search, which may spend `share` of what is left for searching: what follows has the rest, however
    /// slow the machine.
    pub fn with_share<T>(&self, share: f64, step: impl FnOnce() -> T) -> T {
        let spent = self.spent_seconds.get();
        let left = (self.search_end_seconds() - spent).max(0.0);
        self.stage_end_seconds.set(spent + share * left);
        let result = step();
        self.stage_end_seconds.set(f64::INFINITY);
        result
    }

    fn search_end_seconds(&self) -> f64 {
        self.total_seconds - self.reserved_seconds.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_leaves_the_next_one_its_share() {
        let budget = Budget::new(100.0);
        budget.spend(20.0);
        budget.reserve(20.0);
        let spent = budget.with_share(0.6, || {
            while !budget.search_exhausted(3.0) {
                budget.spend(3.0);
            }
            budget.spent_seconds() - 20.0
        });
        // 36 of the 60 that are left, in steps of 3.
        assert!((30.0..36.0).contains(&spent), "{spent}");
        assert!(!budget.search_exhausted(20.0));
        assert!(budget.search_exhausted(30.0));
    }

    #[test]
    fn the_proof_has_no_more_than_its_share_set_aside() {
        let budget = Budget::new(100.0);
        budget.reserve(90.0);
        assert!(!budget.search_exhausted(64.0));
        assert!(budget.search_exhausted(65.0));
        assert!(!budget.exhausted());
        budget.spend(100.0);
        assert!(budget.exhausted());
    }

    #[test]
    fn nothing_left_is_no_share() {
        let budget = Budget::new(10.0);
        budget.spend(11.0);
        assert!(budget.with_share(0.5, || budget.search_exhausted(0.0)));
    }
}
