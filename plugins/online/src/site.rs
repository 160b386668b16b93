//! The state machine of a site: quiet calls, timed calls of an epoch, an exchange under way, and what follows from it.

use crate::account::Account;
use crate::epoch::{Epoch, VOID};
use crate::exploration::{BLOCKS_OF_WATCH, Exploration, Means, Plan, permille};
use crate::knowledge::Entry;
use crate::order::{self, Slot};
use crate::record::{Beside, Record};
use crate::span::Span;
use crate::{Act, Arm, Settings, Spent, Step};

/// Calls before the first look at what was chosen. Each further look comes after twice as many.
const FIRST_INTERVAL: u64 = 64;
/// Calls before a doubt is looked at once more.
const DOUBT_INTERVAL: u64 = 16;
/// Looks in succession that have to speak against a choice.
const DOUBTS: u32 = 2;
/// Calls after which a site that waits for its budget measures the default again.
const LONGEST_WAIT: u64 = 1 << 20;
/// Intervals double up to this one.
const LONGEST_INTERVAL: u64 = 1 << 40;
/// Calls that a ratio or a level of an epoch needs.
const ENOUGH: u64 = 4;

/// What a site knows and does next.
#[derive(Debug, Clone)]
pub struct Site {
    phase: Phase,
    /// The arm of calls that are not timed.
    running: u16,
    /// Such calls since the last adoption.
    untimed: u64,
    aim: Aim,
    incumbent: u16,
    /// The default's time for a call, as last measured.
    default_ns: Option<u64>,
    /// Its medians by epoch.
    levels: Option<Span>,
    /// The incumbent's medians over the default's, in thousandths, by epoch.
    ratios: Option<Span>,
    /// The incumbent beside the default, lately.
    beside: Beside,
    doubts: u32,
    account: Account,
    records: Vec<Record>,
    slots: Vec<Slot>,
    /// Time laid aside for the epoch.
    reserve: i128,
    gives: Vec<i64>,
    epochs: u32,
    restarts: u32,
    epoch_calls: u32,
    adopt_after: u32,
    risk_percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// So many calls are left that are neither timed nor sent.
    Quiet(u64),
    /// The next slot of the epoch, and if the call before it that is not timed is over.
    Timing(usize, bool),
    /// An exchange is under way, adopted after so many calls.
    UnderWay(u32),
    /// [`Site::adopt`] is due. Where it never comes, the site stays as it is.
    Due,
}

#[derive(Debug, Clone)]
enum Aim {
    Explore(Exploration),
    /// Look after so many calls.
    Watch(u64),
}

impl Site {
    /// A site with `arms` implementations, the default among them. What is known of it is in the order of its arms. More arms than half the calls of
    /// an epoch are not tried.
    #[must_use]
    pub fn new(settings: &Settings, arms: u16, known: Option<&Entry>) -> Site {
        let arms = arms.clamp(1, u16::try_from(settings.epoch_calls / 2).unwrap_or(u16::MAX).max(1));
        let seen = |arm: u16| known.and_then(|known| known.arms.get(usize::from(arm)));
        let mut site = Site {
            phase: Phase::Quiet(0),
            running: 0,
            untimed: 0,
            aim: Aim::Explore(Exploration::new(arms)),
            incumbent: 0,
            default_ns: None,
            levels: None,
            ratios: None,
            beside: Beside::default(),
            doubts: 0,
            account: Account::new(settings.alpha_ppm(), settings.constant_ns),
            records: (0..arms).map(|arm| seen(arm).map_or_else(Record::default, Record::known)).collect(),
            slots: Vec::new(),
            reserve: 0,
            gives: vec![VOID; 2 * settings.epoch_calls as usize],
            epochs: 0,
            restarts: 0,
            epoch_calls: settings.epoch_calls,
            adopt_after: settings.adopt_after,
            risk_percent: settings.risk_percent,
        };
        if let Some(known) = known {
            site.begin_with(known);
        }
        site
    }

    /// What the next call does. Called once for each call, in order, on every rank.
    #[inline]
    pub fn step(&mut self) -> Step {
        match &mut self.phase {
            Phase::Quiet(left) if *left > 0 => {
                *left -= 1;
                self.untimed(Act::Nothing)
            }
            _ => self.step_of_epoch(),
        }
    }

    /// This rank's readings of the common clock before and after the call that was just made. Not called where the call did not run its
    /// arm; that must be so on all ranks.
    pub fn timed(&mut self, started_ns: i64, ended_ns: i64) {
        if let Phase::Timing(next, _) = self.phase
            && let Some(slot) = next.checked_sub(1)
        {
            // Or a reading would look like a call that was not timed.
            self.gives[2 * slot] = started_ns.min(VOID - 1);
            self.gives[2 * slot + 1] = ended_ns.min(VOID - 1);
        }
    }

    /// What this rank gives to the exchange: a vector of fixed length, reduced element by element with MAX over all ranks.
    #[must_use]
    pub fn gives(&self) -> &[i64] {
        &self.gives
    }

    /// Takes the result of the exchange, which is the same on all ranks.
    pub fn adopt(&mut self, maxima: &[i64]) {
        if self.phase != Phase::Due {
            return;
        }
        let slots = std::mem::take(&mut self.slots);
        let complete = if maxima.len() == self.gives.len() { maxima } else { &[] };
        let epoch = Epoch::new(&slots, complete);
        self.epochs = self.epochs.saturating_add(1);
        let doubt = self.doubt(&epoch);
        let new = self.account_for(&epoch, doubt.of_incumbent);
        if let (Some(default), true) = (epoch.batch(0), matches!(self.aim, Aim::Explore(_)))
            && default.calls >= ENOUGH
        {
            self.levels = Span::with(self.levels, default.median);
        }
        match &mut self.aim {
            Aim::Explore(exploration) => {
                exploration.learn(&epoch, &new);
                let incumbent = exploration.judge(self.incumbent);
                let ratios = exploration.ratios(incumbent);
                let is_changed = incumbent != self.incumbent;
                if is_changed {
                    self.beside = exploration.beside_default(incumbent);
                }
                self.incumbent = incumbent;
                self.ratios = ratios;
                self.doubts = if is_changed || !doubt.of_incumbent { 0 } else { self.doubts + 1 };
                if self.doubts >= DOUBTS {
                    self.restart(&epoch);
                }
                self.go_on_exploring();
            }
            Aim::Watch(interval) => {
                let interval = *interval;
                if doubt.of_incumbent || doubt.of_level {
                    self.doubts += 1;
                    if self.doubts >= DOUBTS {
                        self.restart(&epoch);
                        self.go_on_exploring();
                    } else {
                        self.rest(DOUBT_INTERVAL, doubt.of_incumbent);
                    }
                } else {
                    // A doubt that was not confirmed is no reason to look less often.
                    let next = if self.doubts > 0 { interval } else { interval.saturating_mul(2) };
                    self.doubts = 0;
                    self.watch(next);
                }
            }
        }
    }

    /// The arm that was chosen, while nothing is timed or sent.
    #[must_use]
    pub fn settled(&self) -> Option<Arm> {
        let is_quiet = matches!(self.phase, Phase::Quiet(left) if left > 0);
        (is_quiet && matches!(self.aim, Aim::Watch(_))).then_some(Arm(self.running))
    }

    /// What was learnt, in the order of the site's arms. A choice is in it also while it is watched.
    #[must_use]
    pub fn learnt(&self) -> Entry {
        let is_chosen = self.incumbent != 0 || matches!(self.aim, Aim::Watch(_));
        Entry {
            settled: is_chosen.then_some(self.incumbent),
            arms: self.records.iter().map(|record| record.seen).collect(),
        }
    }

    /// What selection cost so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let narrow = |ns: i128| i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX });
        Spent {
            default_ns: narrow(self.account.default_time()),
            behind_ns: narrow(self.account.behind()),
            slack_ns: narrow(self.account.slack()),
            epochs: self.epochs,
            restarts: self.restarts,
        }
    }

    /// Begins with what an earlier job chose, if it says what the default takes.
    fn begin_with(&mut self, known: &Entry) {
        let Some(settled) = known.settled.filter(|arm| usize::from(*arm) < self.records.len()) else {
            return;
        };
        let (Some(default), Some(chosen)) = (known.arms.first(), known.arms.get(usize::from(settled))) else {
            return;
        };
        let (Some(default_ns), Some(chosen_ns)) = (self.records[0].mean(), self.records[usize::from(settled)].mean()) else {
            return;
        };
        self.default_ns = Some(default_ns.max(1));
        self.levels = Span::with(None, default.median_ns);
        self.incumbent = settled;
        self.ratios = Span::with(None, permille(chosen.median_ns, default.median_ns));
        self.beside = Beside {
            own: chosen_ns,
            default: default_ns,
            calls: 1,
        };
        self.watch(FIRST_INTERVAL);
    }

    fn untimed(&mut self, before: Act) -> Step {
        self.untimed += 1;
        Step {
            arm: Arm(self.running),
            timed: false,
            before,
        }
    }

    fn step_of_epoch(&mut self) -> Step {
        if let Phase::Quiet(_) = self.phase {
            self.begin_epoch();
        }
        match self.phase {
            Phase::Timing(next, is_over) => match self.slots.get(next) {
                Some(slot) if slot.is_late && !is_over => {
                    self.phase = Phase::Timing(next, true);
                    self.untimed(Act::Nothing)
                }
                Some(slot) => {
                    self.phase = Phase::Timing(next + 1, false);
                    Step {
                        arm: Arm(slot.arm),
                        timed: true,
                        before: Act::Nothing,
                    }
                }
                None => {
                    self.phase = Phase::UnderWay(self.adopt_after - 1);
                    self.untimed(Act::Exchange)
                }
            },
            Phase::UnderWay(0) => {
                self.phase = Phase::Due;
                self.untimed(Act::Adopt)
            }
            Phase::UnderWay(left) => {
                self.phase = Phase::UnderWay(left - 1);
                self.untimed(Act::Nothing)
            }
            Phase::Quiet(_) | Phase::Due => self.untimed(Act::Nothing),
        }
    }

    fn begin_epoch(&mut self) {
        let arms = match &self.aim {
            Aim::Watch(_) => None,
            Aim::Explore(exploration) => {
                // What was waited for counts from here on; what it really was says the epoch.
                let mut account = self.account;
                if self.running == 0 {
                    account.calls(self.untimed, self.default_ns.unwrap_or(0));
                }
                match exploration.plan(&self.means(account.free())) {
                    Plan::Epoch(arms) => Some(arms),
                    Plan::Until(_) => None,
                }
            }
        };
        let arms = arms.unwrap_or_else(|| Exploration::without_challengers(self.incumbent, self.blocks_of_watch(), self.epoch_calls));
        let default_ns = self.default_ns.unwrap_or(0);
        let challengers = arms.iter().filter(|(arm, _)| *arm != 0 && *arm != self.incumbent);
        self.reserve = challengers.map(|(arm, calls)| self.records[usize::from(*arm)].reserve(u64::from(*calls), default_ns)).sum();
        self.slots = order::slots(&arms, u64::from(self.epochs));
        self.gives.fill(VOID);
        self.phase = Phase::Timing(0, false);
    }

    fn means(&self, free: i128) -> Means<'_> {
        Means {
            records: &self.records,
            incumbent: self.incumbent,
            default_ns: self.default_ns,
            free,
            epoch_calls: self.epoch_calls,
        }
    }

    /// Puts an epoch, and the calls before it that were not timed, into the account. Says which arms it timed for the first time.
    fn account_for(&mut self, epoch: &Epoch, is_doubted: bool) -> Vec<bool> {
        let measured = epoch.batch(0).map(|batch| batch.mean().max(1));
        let before = self.default_ns;
        let mut new = vec![false; self.records.len()];
        for (arm, record) in self.records.iter_mut().enumerate() {
            if let Some(batch) = epoch.batch(u16::try_from(arm).unwrap_or(u16::MAX)) {
                new[arm] = !record.is_warm;
                record.add(&batch);
            }
        }
        let Some(default_ns) = measured.or(before) else {
            return new;
        };
        self.default_ns = Some(default_ns);
        self.account.calls(epoch.timed(), default_ns);
        let mut challengers = 0;
        for arm in 1..u16::try_from(self.records.len()).unwrap_or(u16::MAX) {
            let Some(batch) = epoch.batch(arm) else { continue };
            let beyond = i128::from(batch.counted) - i128::from(batch.calls) * i128::from(default_ns);
            if arm == self.incumbent {
                self.account.charge(beyond);
            } else {
                // Luck of an arm of which nothing is shown pays for nothing.
                self.account.charge(beyond.max(0));
                challengers += beyond.max(0);
            }
        }
        self.account.took(challengers, self.reserve);
        self.account.calls(self.untimed, default_ns.min(before.unwrap_or(default_ns)));
        let excess_before = self.beside.excess(before.unwrap_or(default_ns));
        if self.incumbent != 0
            && let (Some(own), Some(default)) = (epoch.batch(self.incumbent), epoch.batch(0))
        {
            // An arm that has got slow is charged for that at once; luck of few calls is smoothed.
            let earlier = if is_doubted { Beside::default() } else { self.beside };
            self.beside = earlier.with(&own, &default);
        }
        if self.running != 0 {
            let each = excess_before.max(self.beside.excess(default_ns));
            self.account.charge(i128::from(self.untimed) * each);
        }
        self.untimed = 0;
        new
    }

    fn doubt(&self, epoch: &Epoch) -> Doubt {
        let mut doubt = Doubt::default();
        let Some(default) = epoch.batch(0).filter(|batch| batch.calls >= ENOUGH) else {
            return doubt;
        };
        doubt.of_level = self.levels.is_some_and(|levels| levels.is_left_by(default.median));
        if self.incumbent != 0
            && let Some(batch) = epoch.batch(self.incumbent).filter(|batch| batch.calls >= ENOUGH)
        {
            let high = self.ratios.map_or(1000, |ratios| ratios.high());
            // An arm that was a third faster has changed long before it is slower than the default.
            let most = high.max(1000).min(high + high / 4);
            doubt.of_incumbent = permille(batch.median, default.median) > most;
        }
        doubt
    }

    fn restart(&mut self, epoch: &Epoch) {
        if let Some(default) = epoch.batch(0) {
            // Or a machine with two moods would start again at each change.
            self.levels = Span::with(self.levels, default.median);
        }
        self.restarts = self.restarts.saturating_add(1);
        self.aim = Aim::Explore(Exploration::new(u16::try_from(self.records.len()).unwrap_or(u16::MAX)));
        self.incumbent = 0;
        self.ratios = None;
        self.beside = Beside::default();
        self.doubts = 0;
    }

    fn go_on_exploring(&mut self) {
        let Aim::Explore(exploration) = &self.aim else { return };
        if exploration.is_over() {
            self.watch(FIRST_INTERVAL);
            return;
        }
        let wait = match exploration.plan(&self.means(self.account.free())) {
            Plan::Epoch(_) => 0,
            Plan::Until(needed) => self.account.calls_until(needed, self.default_ns.unwrap_or(1)).min(LONGEST_WAIT),
        };
        self.rest(wait, self.doubts > 0);
    }

    fn watch(&mut self, interval: u64) {
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
    fn rest(&mut self, calls: u64, is_doubted: bool) {
        self.running = 0;
        if self.incumbent == 0 || is_doubted {
            self.phase = Phase::Quiet(calls);
            return;
        }
        let unwatched = self.unwatched();
        if unwatched > 0 {
            self.running = self.incumbent;
            self.phase = Phase::Quiet(calls.min(unwatched));
        } else {
            let wait = self.account.calls_until(self.risk(), self.default_ns.unwrap_or(1));
            let is_paid = self.account.free() >= self.risk();
            self.phase = Phase::Quiet(if is_paid { 0 } else { wait });
        }
    }

    /// Time beyond the default's that one call of the incumbent may take unseen.
    fn risk(&self) -> i128 {
        (i128::from(self.default_ns.unwrap_or(1)) * i128::from(self.risk_percent - 100) / 100).max(1)
    }

    /// Calls of the incumbent that the slack pays for if it gets slow after the last one that was timed, those until the next adoption left out.
    fn unwatched(&self) -> u64 {
        let in_all = self.account.free() / self.risk();
        let until_adopted = i128::from(BLOCKS_OF_WATCH) + i128::from(self.adopt_after) + 1;
        u64::try_from(in_all - until_adopted).unwrap_or(0)
    }

    /// Blocks of an epoch without challengers: as many as the slack pays for, where the incumbent takes part.
    fn blocks_of_watch(&self) -> u32 {
        if self.incumbent == 0 {
            return BLOCKS_OF_WATCH;
        }
        let paid = u32::try_from(self.account.free() / self.risk()).unwrap_or(if self.account.free() > 0 { u32::MAX } else { 1 });
        paid.clamp(1, BLOCKS_OF_WATCH)
    }
}

/// What an epoch says against what was chosen.
#[derive(Debug, Default, Clone, Copy)]
struct Doubt {
    /// The chosen arm is slower than it was, compared with the default.
    of_incumbent: bool,
    /// The default is faster or slower than it was.
    of_level: bool,
}
