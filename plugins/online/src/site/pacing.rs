//! Pace of a site: for how long it is quiet, with which arm, and what the next epoch times.

use crate::acts;
use crate::epoch::VOID;
use crate::exploration::{BLOCKS_OF_WATCH, Exploration, Means, Plan};
use crate::order;
use crate::site::{Aim, FIRST_INTERVAL, Phase, Site};

/// Calls after which a site that waits for its budget measures the default again.
const LONGEST_WAIT: u64 = 1 << 20;
/// Intervals double up to this one.
const LONGEST_INTERVAL: u64 = 1 << 40;

impl Site {
    /// Begins an epoch, or waits on where nothing pays for its exchange.
    pub(super) fn begin_epoch(&mut self) {
        // The calls of the wait count from here on; their real time says the epoch.
        let mut account = self.account;
        if self.running == 0 || self.chosen.is_trusted {
            account.calls(self.untimed, self.default_ns.unwrap_or(0));
        }
        let exchange = self.exchange();
        // An arm that runs unseen only does so until a look that is paid.
        let is_paid = self.running != 0 && !self.chosen.is_trusted || account.free() >= exchange;
        if self.epochs > 0 && !is_paid {
            let wait = account.calls_until(exchange, self.default_ns.unwrap_or(1));
            self.phase = Phase::Quiet(wait.min(LONGEST_WAIT));
            return;
        }
        let free = account.free() - exchange;
        let arms = match &self.aim {
            Aim::Watch(_) => None,
            Aim::Explore(exploration) => match exploration.plan(&self.means(free)) {
                Plan::Epoch(arms) => Some(arms),
                Plan::Until(_) => None,
            },
        };
        let arms = arms.unwrap_or_else(|| {
            Exploration::without_challengers(self.chosen.arm, self.blocks_of_watch(), self.epoch_calls)
        });
        let default_ns = self.default_ns.unwrap_or(0);
        let challengers = arms.iter().filter(|(arm, _)| *arm != 0 && *arm != self.chosen.arm);
        self.reserve = challengers
            .map(|(arm, calls)| self.records[usize::from(*arm)].reserve(u64::from(*calls), default_ns))
            .sum();
        self.account.owe(exchange);
        self.laid_aside.1 = exchange;
        self.slots = order::slots(&arms, u64::from(self.epochs));
        let of_calls = self.gives.len() - acts::INTEGERS;
        self.gives[..of_calls].fill(VOID);
        self.phase = Phase::Timing(0, false);
    }

    pub(super) fn means(&self, free: i128) -> Means<'_> {
        Means {
            records: &self.records,
            incumbent: self.chosen.arm,
            default_ns: self.default_ns,
            free,
            epoch_calls: self.epoch_calls,
        }
    }

    pub(super) fn go_on_exploring(&mut self) {
        let Aim::Explore(exploration) = &self.aim else { return };
        if exploration.is_over() {
            self.watch(FIRST_INTERVAL);
            return;
        }
        let exchange = self.exchange();
        let needed = match exploration.plan(&self.means(self.account.free() - exchange)) {
            Plan::Epoch(_) => exchange,
            Plan::Until(needed) => needed + exchange,
        };
        let wait = if self.account.free() >= needed {
            0
        } else {
            let default_ns = self.default_ns.unwrap_or(1);
            self.account.calls_until(needed, default_ns).min(LONGEST_WAIT)
        };
        self.rest(wait, self.chosen.doubts > 0);
    }

    pub(super) fn watch(&mut self, interval: u64) {
        let interval = interval.min(LONGEST_INTERVAL);
        self.rest(interval, false);
        // The interval that it really is: the budget may not have reached for more.
        let begun = match self.phase {
            Phase::Quiet(calls) => calls.max(1),
            _ => interval,
        };
        self.aim = Aim::Watch(begun);
    }

    /// Quiet calls: of the incumbent as long as nothing speaks against it and the slack would pay for its getting slow unseen, else of the default.
    pub(super) fn rest(&mut self, calls: u64, is_doubted: bool) {
        self.running = 0;
        if self.chosen.arm == 0 || is_doubted {
            self.phase = Phase::Quiet(calls);
            return;
        }
        let unwatched = self.unwatched();
        if unwatched > 0 {
            self.running = self.chosen.arm;
            self.phase = Phase::Quiet(calls.min(unwatched));
        } else {
            let needed = self.risk() + self.exchange();
            let wait = self.account.calls_until(needed, self.default_ns.unwrap_or(1));
            let is_paid = self.account.free() >= needed;
            self.phase = Phase::Quiet(if is_paid { 0 } else { wait });
        }
    }

    /// Time that is laid aside for the next exchange.
    pub(super) fn exchange(&self) -> i128 {
        self.acts.reserve(self.default_ns)
    }

    /// Time beyond the default's that one call of the incumbent may take unseen.
    pub(super) fn risk(&self) -> i128 {
        (i128::from(self.default_ns.unwrap_or(1)) * i128::from(self.risk_percent - 100) / 100).max(1)
    }

    /// Calls of the incumbent that the slack pays for if it gets slow after the last one that was timed, those until the next adoption left out.
    pub(super) fn unwatched(&self) -> u64 {
        if self.chosen.is_trusted {
            return LONGEST_INTERVAL;
        }
        let in_all = (self.account.free() - self.exchange()) / self.risk();
        // The look's own calls, those between them, and those until the exchange is adopted.
        let until_adopted = 3 * i128::from(BLOCKS_OF_WATCH) + i128::from(self.adopt_after) + 1;
        u64::try_from(in_all - until_adopted).unwrap_or(0)
    }

    /// Blocks of an epoch without challengers: as many as the slack pays for, where the incumbent takes part.
    pub(super) fn blocks_of_watch(&self) -> u32 {
        if self.chosen.arm == 0 || self.chosen.is_trusted {
            return BLOCKS_OF_WATCH;
        }
        let free = self.account.free() - self.exchange();
        let paid = u32::try_from(free / self.risk()).unwrap_or(if free > 0 { u32::MAX } else { 1 });
        paid.clamp(1, BLOCKS_OF_WATCH)
    }
}
