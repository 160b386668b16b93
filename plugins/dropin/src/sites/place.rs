//! A site of a communicator: what is tried there, and how far that has come.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use kilter_mpi::MPI_Comm;
use kilter_online::knowledge::{DEFAULT, Entry};
use kilter_online::{Act, Arm, Settings, Site, Spent, Step, last_ended};

use crate::private::Private;
use crate::rules::{Action, Implementation};
use crate::sites::exchange::Exchange;
use crate::sites::key::Key;
use crate::sites::learnt::Shared;
use crate::sites::lease::Lease;

/// A site of a communicator. It lives as long as the communicator's state.
pub(crate) struct Place {
    pub(crate) key: Key,
    settings: Settings,
    /// Calls that are made without asking.
    lease: Lease,
    inner: RefCell<Inner>,
    /// The communicator of the exchange: it must not go before that.
    private: Arc<Private>,
}

struct Inner {
    site: Site,
    exchange: Exchange,
    /// Common time at which the last call ended that was adopted.
    ended_ns: Option<i64>,
    /// The actions of the arms, but for arm 0, the library's own.
    actions: Vec<Rc<Action>>,
    calls: u64,
}

/// An exchange whose communicator is gone.
pub(super) struct Left {
    exchange: Exchange,
    /// The communicator that the exchange is on, which must not go before.
    _private: Arc<Private>,
}

impl Left {
    /// Waits for it.
    ///
    /// # Safety
    /// As for [`Exchange::complete`].
    pub(super) unsafe fn complete(&mut self) {
        // SAFETY: by this function's contract.
        unsafe { self.exchange.complete() };
    }
}

/// The outcome of a site.
pub(crate) struct Account {
    pub(crate) key: Key,
    pub(crate) ids: Vec<String>,
    pub(crate) calls: u64,
    pub(crate) learnt: Entry,
    pub(crate) spent: Spent,
}

/// The ids of the arms.
fn ids(actions: &[Rc<Action>]) -> Vec<String> {
    let own = actions.iter().map(|action| action.text());
    std::iter::once(DEFAULT.to_owned()).chain(own).collect()
}

fn arms(actions: &[Rc<Action>]) -> u16 {
    u16::try_from(actions.len() + 1).unwrap_or(u16::MAX)
}

impl Place {
    /// A site where these actions are tried, which begins with what a rule of the profile names.
    pub(super) fn new(
        key: Key,
        (actions, of_rule): (Vec<Rc<Action>>, Option<usize>),
        private: Arc<Private>,
        Shared { known, settings }: &Shared,
    ) -> Place {
        let entry = || known.entry(key.collective.name(), u32::from(key.class), &ids(&actions));
        let entry = key.is_usual().then(entry).flatten();
        let site = Site::new(settings, arms(&actions), entry.as_ref());
        let first = of_rule.and_then(|place| u16::try_from(place + 1).ok());
        Place {
            key,
            settings: settings.clone(),
            lease: Lease::new(arms(&actions)),
            inner: RefCell::new(Inner {
                site: match first {
                    Some(arm) => site.trusting(Arm(arm)),
                    None => site,
                },
                exchange: Exchange::new(private.comm()),
                ended_ns: None,
                actions,
                calls: 0,
            }),
            private,
        }
    }

    /// The number of calls left in which this arm runs and nothing else happens: a call that takes one off does not ask for a step. It stays in its
    /// place as long as the site lives.
    pub(crate) fn left(&self, arm: Arm) -> Option<NonNull<Cell<u64>>> {
        self.lease.left(arm)
    }

    /// True if the next call is one of those.
    pub(crate) fn has_settled_on(&self, arm: Arm) -> bool {
        self.lease.has(arm)
    }

    /// The step of the next call, whose act is still to be done ([`Place::act`]). `None` where another call on the communicator is under way, which MPI does not
    /// allow. All ranks of the communicator make this call, and no rank leaves one out.
    #[inline]
    pub(crate) fn step(&self) -> Option<Step> {
        let mut inner = self.inner.try_borrow_mut().ok()?;
        let passed = self.lease.end(&mut inner.site);
        inner.calls += 1 + passed;
        let step = inner.site.step();
        if step.before == Act::Nothing {
            self.lease.grant(&inner.site);
        }
        Some(step)
    }

    /// Does the act before the call of the latest step.
    ///
    /// # Safety
    /// All ranks of the communicator have made the same step, and make this call.
    pub(super) unsafe fn act(&self, act: Act) {
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return;
        };
        // SAFETY: by this function's contract.
        unsafe { inner.act(act) };
        self.lease.grant(&inner.site);
    }

    /// The readings of the clock around the act of the latest step.
    pub(super) fn acted(&self, act: Act, started_ns: i64, ended_ns: i64) {
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            inner.site.acted(act, started_ns, ended_ns);
        }
    }

    /// The readings of the clock around the making of the site.
    pub(super) fn made(&self, started_ns: i64, ended_ns: i64) {
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            inner.site.made(started_ns, ended_ns);
        }
    }

    /// Waits for the exchange that is under way, if any, whose result is still to be taken.
    ///
    /// # Safety
    /// All ranks of the communicator make this call, or have begun the exchange and do not wait for this rank.
    pub(super) unsafe fn complete(&self) {
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            // SAFETY: by this function's contract.
            unsafe { inner.exchange.complete() };
        }
    }

    /// The readings of the clock around the call of the latest step.
    pub(crate) fn timed(&self, started_ns: i64, ended_ns: i64) {
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            inner.site.timed(started_ns, ended_ns);
        }
    }

    /// Common time at which the last call ended that was adopted, the same on all ranks; `None` where no rank timed any.
    pub(super) fn ended_ns(&self) -> Option<i64> {
        self.inner.try_borrow().ok()?.ended_ns
    }

    /// The communicator of the exchange.
    pub(super) fn private(&self) -> MPI_Comm {
        self.private.comm()
    }

    /// The action of an arm other than the library's own.
    pub(crate) fn action(&self, arm: Arm) -> Option<Rc<Action>> {
        let inner = self.inner.try_borrow().ok()?;
        let place = usize::from(arm.0).checked_sub(1)?;
        inner.actions.get(place).cloned()
    }

    /// An implementation said, on all ranks, that it cannot run on this communicator: the site begins anew without it.
    ///
    /// # Safety
    /// All ranks of the communicator make this call.
    pub(super) unsafe fn forgo(&self, implementation: &'static Implementation) {
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return;
        };
        let is_other = |action: &Rc<Action>| !std::ptr::eq(action.implementation, implementation);
        if inner.actions.iter().all(is_other) {
            return;
        }
        let passed = self.lease.end(&mut inner.site);
        inner.calls += passed;
        // SAFETY: all ranks have begun it by now, since all make this call.
        let _ = unsafe { inner.exchange.wait() };
        inner.actions.retain(is_other);
        inner.site = Site::new(&self.settings, arms(&inner.actions), None);
    }

    /// Ends what is under way, and tells what came of it. An exchange that must not be waited for here is returned, with the communicator that it is on.
    ///
    /// # Safety
    /// The communicator is being freed, or MPI ends: all ranks have made as many calls, or make them without waiting for this one.
    pub(super) unsafe fn finish(&self, may_wait: bool) -> Option<(Account, Option<Left>)> {
        let mut inner = self.inner.try_borrow_mut().ok()?;
        let passed = self.lease.end(&mut inner.site);
        inner.calls += passed;
        let Inner { site, exchange, .. } = &mut *inner;
        let left = (exchange.is_under_way() && !may_wait).then(|| Left {
            exchange: std::mem::replace(exchange, Exchange::new(self.private.comm())),
            _private: Arc::clone(&self.private),
        });
        // SAFETY: by this function's contract.
        if let Some(maxima) = unsafe { exchange.wait() } {
            site.adopt(maxima);
        }
        let account = Account {
            key: self.key,
            ids: ids(&inner.actions),
            calls: inner.calls,
            learnt: inner.site.learnt(),
            spent: inner.site.spent(),
        };
        Some((account, left))
    }
}

impl Inner {
    /// # Safety
    /// As for [`Place::act`].
    unsafe fn act(&mut self, act: Act) {
        // SAFETY: by this function's contract, all ranks do the same in the same call; see `exchange`.
        unsafe {
            match act {
                Act::Nothing => {}
                Act::Exchange => self.exchange.begin(self.site.gives()),
                Act::Adopt => {
                    if let Some(maxima) = self.exchange.wait() {
                        self.site.adopt(maxima);
                        self.ended_ns = last_ended(maxima);
                    }
                }
            }
        }
    }
}
