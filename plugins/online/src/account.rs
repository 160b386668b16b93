//! The account of a site: how far it is behind the untouched library, and how far it may be.

/// Times in ns. All of it are integers, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    alpha_ppm: i128,
    constant: i128,
    behind: i128,
    default_time: i128,
    /// Most that an epoch took beyond what had been laid aside for it.
    surprise: i128,
    /// Laid aside for acts of which no exchange has told yet.
    owed: i128,
}

impl Account {
    pub(crate) fn new(alpha_ppm: i128, constant_ns: u64) -> Account {
        Account {
            alpha_ppm,
            constant: i128::from(constant_ns),
            behind: 0,
            default_time: 0,
            surprise: 0,
            owed: 0,
        }
    }

    /// Calls that would have taken the untouched library so long, each.
    pub(crate) fn calls(&mut self, calls: u64, default_ns: u64) {
        self.default_time += i128::from(calls) * i128::from(default_ns);
    }

    /// Time beyond the default's (below zero: time won).
    pub(crate) fn charge(&mut self, ns: i128) {
        self.behind += ns;
    }

    /// An exchange is begun, for whose acts so much is laid aside until they are told.
    pub(crate) fn owe(&mut self, reserve: i128) {
        self.owed += reserve;
    }

    /// Acts were told, for which so much had been laid aside.
    pub(crate) fn told(&mut self, ns: i128, reserve: i128) {
        self.owed -= reserve;
        self.behind += ns;
    }

    /// Time that may be planned with: half of the constant is kept for surprises, or as much as the largest one took.
    pub(crate) fn free(&self) -> i128 {
        self.slack() - self.owed - (self.constant / 2).max(self.surprise)
    }

    /// An epoch took so much beyond what had been laid aside for it.
    pub(crate) fn took(&mut self, beyond: i128) {
        self.surprise = self.surprise.max(beyond);
    }

    /// Time that may still be lost: below zero if the bound is broken.
    pub(crate) fn slack(&self) -> i128 {
        self.constant + self.share(self.default_time) - self.behind
    }

    /// Further calls of the default, each of so long, until so much is free.
    pub(crate) fn calls_until(&self, free: i128, default_ns: u64) -> u64 {
        let lacking = (free - self.free()).max(0);
        let each = (i128::from(default_ns) * self.alpha_ppm).max(1);
        u64::try_from((lacking * 1_000_000).div_euclid(each) + 1).unwrap_or(u64::MAX)
    }

    pub(crate) fn behind(&self) -> i128 {
        self.behind
    }

    pub(crate) fn default_time(&self) -> i128 {
        self.default_time
    }

    fn share(&self, time: i128) -> i128 {
        time * self.alpha_ppm / 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slack_is_the_constant_and_a_share_less_what_was_lost() {
        let mut account = Account::new(30_000, 1_000);
        assert_eq!(account.slack(), 1_000);
        account.calls(100, 500);
        account.charge(2_000);
        assert_eq!(account.slack(), 1_000 + 1_500 - 2_000);
        account.charge(-700);
        assert_eq!(
            (account.slack(), account.behind(), account.default_time()),
            (1_200, 1_300, 50_000)
        );
    }

    #[test]
    fn acts_are_owed_until_they_are_told() {
        let mut account = Account::new(30_000, 1_000);
        let free = account.free();
        account.owe(70);
        account.owe(30);
        assert_eq!((account.free(), account.slack()), (free - 100, 1_000));
        account.told(50, 70);
        assert_eq!((account.free(), account.behind()), (free - 30 - 50, 50));
    }

    #[test]
    fn the_calls_until_something_can_be_paid_are_enough_and_hardly_more() {
        let mut account = Account::new(30_000, 0);
        let calls = account.calls_until(9_000, 500);
        account.calls(calls - 2, 500);
        assert!(account.slack() < 9_000);
        account.calls(2, 500);
        assert!(account.slack() >= 9_000, "{calls}");
        assert_eq!(account.calls_until(0, 500), 1);
        assert!(
            account.calls_until(i128::from(i64::MAX), 0) > 1 << 40,
            "no time is known of the default"
        );
    }
}
