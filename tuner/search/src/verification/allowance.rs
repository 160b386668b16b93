//! The seconds that a verification may spend, and when it gives back or takes over others' shares.

/// Seconds of a verification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Seconds from its begin.
    pub seconds: f64,
    /// True if it may go on until the budget's end while nothing is found violated: nothing that follows has anything to do then.
    pub goes_on: bool,
}

impl Allowance {
    /// The rest of the budget.
    pub const ALL: Allowance = Allowance {
        seconds: f64::INFINITY,
        goes_on: false,
    };
}

/// Share of the seconds after a screening that belongs to the launches that decide, at least.
const DECIDING_SHARE: f64 = 0.35;

/// End of its launches, on the command's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    /// The limit in force.
    pub(super) seconds: f64,
    /// The limit that was allowed at first.
    allowed: f64,
    /// End of the budget.
    total: f64,
    goes_on: bool,
}

impl Limit {
    /// The limit of a verification that begins at `spent` seconds.
    pub(super) fn new(allowance: Allowance, spent: f64, total: f64) -> Limit {
        let allowed = (spent + allowance.seconds).min(total);
        Limit {
            seconds: allowed,
            allowed,
            total,
            goes_on: allowance.goes_on,
        }
    }

    /// No limit: nothing cuts it short.
    pub(super) const NONE: Limit = Limit {
        seconds: f64::INFINITY,
        allowed: f64::INFINITY,
        total: f64::INFINITY,
        goes_on: false,
    };

    /// Seconds left.
    pub(super) fn left(&self, spent: f64) -> f64 {
        (self.seconds - spent).max(0.0)
    }

    /// Seconds left if nothing is violated.
    pub(super) fn most_left(&self, spent: f64) -> f64 {
        let end = if self.goes_on { self.total } else { self.seconds };
        (end - spent).max(0.0)
    }

    /// Leaves the launches that decide their share of the seconds that are left, where the screening took most of what was allowed: what is
    /// only screened is worth nothing to the later steps.
    pub(super) fn leave_to_decide(&mut self, spent: f64) {
        let least = spent + DECIDING_SHARE * (self.total - spent).max(0.0);
        self.seconds = self.seconds.max(least);
        self.allowed = self.allowed.max(least);
    }

    /// Takes the seconds of the later steps if nothing is violated so far and the seconds suffice for a launch; true if it does.
    pub(super) fn goes_on_for(&mut self, spent: f64, launch_seconds: f64, is_violated: bool) -> bool {
        let goes_on = self.goes_on && !is_violated && self.seconds < self.total && spent + launch_seconds <= self.total;
        if goes_on {
            self.seconds = self.total;
        }
        goes_on
    }

    /// Gives the later steps' seconds back as soon as something is violated.
    pub(super) fn heed(&mut self, is_violated: bool) {
        if is_violated {
            self.seconds = self.allowed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Allowance = Allowance {
        seconds: 35.0,
        goes_on: true,
    };

    #[test]
    fn while_nothing_is_violated_the_seconds_of_the_search_are_taken_and_given_back() {
        let mut limit = Limit::new(FIRST, 1.0, 100.0);
        assert_eq!((limit.seconds, limit.left(30.0), limit.left(40.0)), (36.0, 6.0, 0.0));
        assert_eq!(limit.most_left(30.0), 70.0);
        assert!(limit.goes_on_for(36.0, 5.0, false));
        assert_eq!(limit.left(36.0), 64.0);
        assert!(!limit.goes_on_for(98.0, 5.0, false), "it has them already");
        limit.heed(false);
        assert_eq!(limit.left(50.0), 50.0);
        limit.heed(true);
        assert_eq!(limit.left(50.0), 0.0);
        assert!(!limit.goes_on_for(50.0, 5.0, true));
    }

    #[test]
    fn a_screening_that_took_everything_leaves_seconds_to_decide() {
        let mut limit = Limit::new(FIRST, 0.0, 100.0);
        limit.leave_to_decide(10.0);
        assert!((limit.left(10.0) - 31.5).abs() < 1e-9, "more than what is left of 35");
        let mut late = Limit::new(FIRST, 0.0, 100.0);
        late.leave_to_decide(60.0);
        assert!((late.left(60.0) - 14.0).abs() < 1e-9);
        late.heed(true);
        assert!(
            (late.left(60.0) - 14.0).abs() < 1e-9,
            "what is violated has to be decided, too"
        );
        late.leave_to_decide(200.0);
        assert_eq!(late.left(200.0), 0.0);
        let mut all = Limit::new(Allowance::ALL, 0.0, 100.0);
        all.leave_to_decide(60.0);
        assert_eq!(all.left(60.0), 40.0);
    }

    #[test]
    fn nothing_is_taken_for_less_than_a_launch_nor_where_something_else_waits() {
        assert!(!Limit::new(FIRST, 0.0, 100.0).goes_on_for(97.0, 5.0, false));
        let waited_for = Allowance {
            goes_on: false,
            ..FIRST
        };
        assert!(!Limit::new(waited_for, 0.0, 100.0).goes_on_for(36.0, 5.0, false));
        assert_eq!(Limit::new(waited_for, 0.0, 100.0).most_left(30.0), 5.0);
        assert_eq!(Limit::new(Allowance::ALL, 20.0, 100.0).seconds, 100.0);
        assert!(Limit::NONE.left(1e9) > 0.0);
    }
}
