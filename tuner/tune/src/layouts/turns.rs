//! The seconds of a command that measures several layouts, one after the other.

use kilter_bench::budget::Budget;

/// Share of the seconds that is kept for the proof of the files of all layouts.
pub const PROOF_SHARE: f64 = 0.2;

/// The command's seconds. A layout that needs less than its part leaves the rest to those after it.
#[derive(Debug)]
pub struct Turns {
    all: Budget,
}

impl Turns {
    /// Turns within the budget of the whole command.
    #[must_use]
    pub fn new(all: Budget) -> Turns {
        Turns { all }
    }

    /// Begins the turn of a layout that is tuned, of `waiting` with itself: an equal part of what is left but for the proof of all.
    pub fn to_tune(&self, budget: &Budget, waiting: usize) {
        self.begin(budget, waiting, PROOF_SHARE * self.all.total_seconds());
    }

    /// Begins the turn of a layout that is only verified, of `waiting` with itself: an equal part of what is left.
    pub fn to_verify(&self, budget: &Budget, waiting: usize) {
        self.begin(budget, waiting, 0.0);
    }

    /// True if so many further seconds are left.
    #[must_use]
    pub fn has_room(&self, seconds: f64) -> bool {
        self.all.left_seconds() > seconds
    }

    /// True if a layout that is tuned has so many seconds before those of the proof of all.
    #[must_use]
    pub fn has_room_to_tune(&self, seconds: f64) -> bool {
        self.has_room(seconds + PROOF_SHARE * self.all.total_seconds())
    }

    fn begin(&self, budget: &Budget, waiting: usize, kept_seconds: f64) {
        let left = (self.all.left_seconds() - kept_seconds).max(0.0);
        budget.restart(left / waiting.max(1) as f64);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn layouts_share_what_is_left_and_the_proof_of_all_has_its_part() {
        let now = Rc::new(Cell::new(0.0));
        let on_clock = |seconds| {
            let clock = Rc::clone(&now);
            Budget::by_clock(seconds, move || clock.get())
        };
        let turns = Turns::new(on_clock(600.0));
        let own: Vec<Budget> = (0..3).map(|_| on_clock(1.0)).collect();
        let pass = |seconds: f64| now.set(now.get() + seconds);
        pass(30.0);
        turns.to_tune(&own[0], 3);
        assert_eq!(own[0].left_seconds(), 150.0, "a third of 450");
        pass(50.0);
        assert!(turns.has_room_to_tune(399.0) && !turns.has_room_to_tune(401.0));
        turns.to_tune(&own[1], 2);
        assert_eq!(own[1].left_seconds(), 200.0, "the first left 100");
        pass(200.0);
        turns.to_tune(&own[2], 1);
        assert_eq!(own[2].left_seconds(), 200.0);
        pass(210.0);
        assert!(turns.has_room(109.0) && !turns.has_room(111.0));
        assert!(!turns.has_room_to_tune(1.0), "the rest is the proof's");
        for (waiting, budget) in [3, 2, 1].into_iter().zip(&own) {
            turns.to_verify(budget, waiting);
            assert!((budget.left_seconds() - 110.0 / 3.0).abs() < 1e-9, "{waiting}");
            pass(110.0 / 3.0);
        }
        assert!(!turns.has_room(1.0), "all is spent");
        turns.to_verify(&own[0], 1);
        assert!(own[0].left_seconds() < 1e-9);
    }
}
