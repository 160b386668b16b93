//! The state machine of a site: quiet calls, timed calls of an epoch, an exchange under way, and what follows from it.

mod booking;
mod pacing;

use booking::ENOUGH;

use crate::account::Account;
use crate::acts::{self, Acts, Timed};
use crate::epoch::{Epoch, VOID};
use crate::exploration::{Exploration, permille};
use crate::knowledge::Entry;
use crate::order::Slot;
use crate::record::{Beside, Record};
use crate::span::Span;
use crate::{Act, Arm, Settings, Spent, Step};

/// Calls before the first look at what was chosen. Each further look comes after twice as many.
const FIRST_INTERVAL: u64 = 64;
/// Calls before the first look at what another job chose.
const FIRST_OF_KNOWN: u64 = 16;
/// Calls before a doubt is looked at once more.
const DOUBT_INTERVAL: u64 = 16;
/// Looks in succession that have to speak against a choice.
const DOUBTS: u32 = 2;

/// A site with its knowledge and its next step.
#[derive(Debug, Clone)]
pub struct Site {
    phase: Phase,
    /// The arm of calls that are not timed.
    running: u16,
    /// Such calls since the last adoption.
    untimed: u64,
    aim: Aim,
    chosen: Chosen,
    /// The default's time for a call, as last measured.
    default_ns: Option<u64>,
    /// Its medians by epoch.
    levels: Option<Span>,
    account: Account,
    records: Vec<Record>,
    slots: Vec<Slot>,
    /// Time laid aside for the epoch's challengers.
    reserve: i128,
    acts: Acts,
    /// Time laid aside for the acts of the exchange before, which this epoch's tells, and for those of this epoch's own.
    laid_aside: (i128, i128),
    gives: Vec<i64>,
    epochs: u32,
    restarts: u32,
    epoch_calls: u32,
    adopt_after: u32,
    risk_percent: u32,
}

/// The incumbent, which runs where nothing is tried, and what is known of it; the library's own until there is a choice.
#[derive(Debug, Clone, Default)]
struct Chosen {
    arm: u16,
    /// The site's profile states the arm, and no look has spoken against it.
    is_trusted: bool,
    /// Its medians over the default's, in thousandths, by epoch.
    ratios: Option<Span>,
    /// It beside the default, lately.
    beside: Beside,
    /// Looks in succession that spoke against it.
    doubts: u32,
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
            chosen: Chosen::default(),
            default_ns: None,
            levels: None,
            account: Account::new(settings.alpha_ppm(), settings.constant_ns),
            records: (0..arms)
                .map(|arm| seen(arm).map_or_else(Record::default, Record::known))
                .collect(),
            slots: Vec::new(),
            reserve: 0,
            acts: Acts::default(),
            laid_aside: (0, 0),
            gives: vec![VOID; 2 * settings.epoch_calls as usize + acts::INTEGERS],
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

    /// The site, beginning with an arm that a profile states, unless a job settled on another one: somebody measured it and deployed it, so that nothing is
    /// laid aside for its getting slow. Looks that speak against it take that back.
    #[must_use]
    pub fn trusting(mut self, arm: Arm) -> Site {
        let is_arm = (1..self.records.len()).contains(&usize::from(arm.0));
        if is_arm && self.epochs == 0 && [0, arm.0].contains(&self.chosen.arm) {
            self.chosen.arm = arm.0;
            self.chosen.is_trusted = true;
            self.watch(FIRST_OF_KNOWN);
        }
        self
    }

    /// The next call's step. Called once for each call, in order, on every rank.
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

    /// This rank's readings of the common clock before and after the act of the latest step, which was made. They are told with the next exchange.
    pub fn acted(&mut self, act: Act, started_ns: i64, ended_ns: i64) {
        let act = match act {
            Act::Nothing => return,
            Act::Exchange => Timed::Begun,
            Act::Adopt => Timed::Adopted,
        };
        acts::give(&mut self.gives, act, (started_ns, ended_ns));
    }

    /// The same of the making of the site, where that took messages. Not called after the first step.
    pub fn made(&mut self, started_ns: i64, ended_ns: i64) {
        self.acted(Act::Adopt, started_ns, ended_ns);
    }

    /// This rank's part in the exchange: a vector of fixed length, reduced element by element with MAX over all ranks.
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
        let acts = self.acts.told(complete);
        let doubt = self.doubt(&epoch);
        let new = self.account_for(&epoch, acts, doubt.of_incumbent);
        if let (Some(default), true) = (epoch.batch(0), matches!(self.aim, Aim::Explore(_)))
            && default.calls >= ENOUGH
        {
            self.levels = Span::with(self.levels, default.median);
        }
        match &mut self.aim {
            Aim::Explore(exploration) => {
                exploration.learn(&epoch, &new);
                let incumbent = exploration.judge(self.chosen.arm);
                let ratios = exploration.ratios(incumbent);
                let is_changed = incumbent != self.chosen.arm;
                if is_changed {
                    self.chosen.beside = exploration.beside_default(incumbent);
                }
                self.chosen.arm = incumbent;
                self.chosen.ratios = ratios;
                self.chosen.doubts = if is_changed || !doubt.of_incumbent {
                    0
                } else {
                    self.chosen.doubts + 1
                };
                if self.chosen.doubts >= DOUBTS {
                    self.restart(&epoch);
                }
                self.go_on_exploring();
            }
            Aim::Watch(interval) => {
                let interval = *interval;
                if doubt.of_incumbent || doubt.of_level {
                    self.chosen.doubts += 1;
                    // A second look that nothing pays for is not made.
                    let is_unpaid = doubt.of_incumbent && self.account.free() < self.risk() + self.exchange();
                    if self.chosen.doubts >= DOUBTS || is_unpaid {
                        self.restart(&epoch);
                        self.go_on_exploring();
                    } else {
                        self.rest(DOUBT_INTERVAL, doubt.of_incumbent);
                    }
                } else {
                    // A doubt that was not confirmed is no reason to look less often.
                    let next = if self.chosen.doubts > 0 {
                        interval
                    } else {
                        interval.saturating_mul(2)
                    };
                    self.chosen.doubts = 0;
                    self.remember(&epoch);
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

    /// The arm that was chosen, and the number of calls from the next one on in which it runs and nothing else happens; above 0.
    #[must_use]
    #[inline]
    pub fn settled_for(&self) -> Option<(Arm, u64)> {
        let Phase::Quiet(left) = self.phase else { return None };
        Some((self.settled()?, left))
    }

    /// The same as so many steps, of those that [`Site::settled_for`] has named.
    #[inline]
    pub fn pass(&mut self, calls: u64) {
        if let Phase::Quiet(left) = &mut self.phase {
            let calls = calls.min(*left);
            *left -= calls;
            self.untimed += calls;
        }
    }

    /// Knowledge of this job, in the order of the site's arms. A choice is in it also while it is watched.
    #[must_use]
    pub fn learnt(&self) -> Entry {
        let is_chosen = self.chosen.arm != 0 || matches!(self.aim, Aim::Watch(_));
        Entry {
            settled: is_chosen.then_some(self.chosen.arm),
            arms: self.records.iter().map(|record| record.seen).collect(),
        }
    }

    /// The cost of selection so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let narrow = |ns: i128| i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX });
        Spent {
            default_ns: narrow(self.account.default_time()),
            behind_ns: narrow(self.account.behind()),
            acts_ns: narrow(i128::from(self.acts.all_ns())),
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
        let (Some(default_ns), Some(chosen_ns)) = (self.records[0].mean(), self.records[usize::from(settled)].mean())
        else {
            return;
        };
        self.default_ns = Some(default_ns.max(1));
        self.levels = Span::with(None, default.median_ns);
        self.chosen.arm = settled;
        self.chosen.ratios = Span::with(None, permille(chosen.median_ns, default.median_ns));
        self.chosen.beside = Beside {
            own: chosen_ns,
            default: default_ns,
            calls: 1,
        };
        self.watch(FIRST_OF_KNOWN);
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

    /// A look at what was begun with unmeasured says what it is compared with from then on.
    fn remember(&mut self, epoch: &Epoch) {
        if self.chosen.ratios.is_none()
            && let (Some(own), Some(default)) = (epoch.batch(self.chosen.arm), epoch.batch(0))
        {
            self.chosen.ratios = Span::with(None, permille(own.median, default.median));
            self.levels = Span::with(None, default.median);
        }
    }

    fn restart(&mut self, epoch: &Epoch) {
        if let Some(default) = epoch.batch(0) {
            // Or a machine with two moods would start again at each change.
            self.levels = Span::with(self.levels, default.median);
        }
        self.restarts = self.restarts.saturating_add(1);
        self.aim = Aim::Explore(Exploration::new(u16::try_from(self.records.len()).unwrap_or(u16::MAX)));
        self.chosen = Chosen::default();
    }
}
