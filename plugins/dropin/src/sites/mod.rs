//! The sites of communicators: what is tried there, how ranks agree on times, and what comes of it ([`crate::online`] runs it).
//!
//! * [`key`]: which calls are compared with each other. [`place`]: a site, and how far that has come. [`lease`]: calls that need not ask it.
//! * [`exchange`]: how ranks agree on times. [`common_clock`]: the clock of these times. [`learnt`]: what jobs leave for later ones. [`report`]: what they say of it.

mod common_clock;
mod exchange;
mod key;
mod learnt;
mod lease;
mod place;
mod report;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kilter_algorithms::Collective;
use kilter_mpi::MPI_Comm;
use kilter_online::Act;
use kilter_online::knowledge::Layout;

use crate::private::Private;
use crate::rules::{Action, Implementation, Rules};
use crate::sites::common_clock::CommonClock;
pub(crate) use crate::sites::common_clock::own_ns;
pub(crate) use crate::sites::key::{Key, is_comparable};
use crate::sites::learnt::Shared;
use crate::sites::place::Left;
pub(crate) use crate::sites::place::Place;
use crate::started;
use crate::world::{self, World};

type Sites = Vec<(Key, Option<Rc<Place>>)>;

/// A communicator on which candidates are tried.
pub(crate) struct Online {
    world: &'static World,
    layout: Layout,
    clock: CommonClock,
    /// The beginning of its sites, once there is one.
    shared: OnceCell<Shared>,
    /// Sites by collective; `None` where there is nothing to try.
    sites: [RefCell<Sites>; Collective::ALL.len()],
    /// Its number among those that live.
    number: u64,
    /// This rank's time of the beginning of the agreement on the communicator, and then the time that it took, which counts for the first site.
    agreement_ns: Cell<i64>,
}

/// One that lives, by its address. It does not move: it is part of a state, which is an attribute of a communicator.
struct Alive(*const Online);

// SAFETY: it is followed in `MPI_Finalize` alone, when no other thread may call MPI.
unsafe impl Send for Alive {}

/// Those that live.
static ALIVE: Mutex<(u64, BTreeMap<u64, Alive>)> = Mutex::new((0, BTreeMap::new()));

/// Exchanges of communicators that are gone. They stay, since a communicator is freed by all of its ranks together.
static LEFT: Mutex<Vec<Left>> = Mutex::new(Vec::new());

fn left() -> MutexGuard<'static, Vec<Left>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn alive() -> MutexGuard<'static, (u64, BTreeMap<u64, Alive>)> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bits of the collectives for which rows are tried on communicators of any size.
pub(crate) fn collectives(rules: &'static Rules) -> u32 {
    let tried = rules
        .tried()
        .map(|action| action.implementation.callable.row.collective);
    let comparable = tried.filter(|collective| is_comparable(*collective));
    comparable.fold(0, |bits, collective| bits | bit(collective))
}

/// The place of a collective in a set of them.
pub(crate) const fn bit(collective: Collective) -> u32 {
    1 << collective as u32
}

impl Online {
    /// For a communicator of ranks of the world, on which they began to agree when this rank's clock said `begun_ns`.
    pub(crate) fn new(world: &'static World, comm: MPI_Comm, begun_ns: i64) -> Option<Online> {
        let mut alive = alive();
        alive.0 += 1;
        Some(Online {
            world,
            layout: world.layout(comm)?,
            clock: CommonClock::new(world, comm)?,
            shared: OnceCell::new(),
            sites: [const { RefCell::new(Vec::new()) }; Collective::ALL.len()],
            number: alive.0,
            agreement_ns: Cell::new(begun_ns),
        })
    }

    /// Its place in memory is the last one: from now on it is found at the end of MPI.
    pub(crate) fn settle_down(&self) {
        self.agreement_ns.set(own_ns() - self.agreement_ns.get());
        alive().1.insert(self.number, Alive(self));
    }

    /// The site with this key. `None` if there is none yet, and within if nothing is tried there.
    pub(crate) fn find(&self, key: Key) -> Option<Option<Rc<Place>>> {
        let sites = self.sites[key.collective as usize].borrow();
        let mut places = sites.iter();
        places.find_map(|(known, place)| (*known == key).then(|| place.clone()))
    }

    /// Makes the site with this key, at which these actions are tried. It begins with the one at the place that a rule of the profile names.
    ///
    /// # Safety
    /// All ranks of the communicator, whose private one this is, make this call.
    pub(crate) unsafe fn add(
        &self,
        key: Key,
        actions: (Vec<Rc<Action>>, Option<usize>),
        private: Option<(Arc<Private>, bool)>,
    ) -> Option<Rc<Place>> {
        let place = private.and_then(|(private, is_first)| {
            if self.shared.get().is_none() {
                let comm = private.comm();
                // SAFETY: by this function's contract.
                let shared = unsafe { learnt::share(comm, is_first, &self.layout, &self.world.wanted) };
                let shared = shared.unwrap_or_else(|error| {
                    kilter_mpi::say(format_args!(
                        "error: what is known cannot be told: {error}; ending the job"
                    ));
                    // SAFETY: MPI is running.
                    unsafe { kilter_mpi::abort(comm, 1) }
                });
                let _ = self.shared.set(shared);
            }
            let shared = self.shared.get()?;
            Some(Rc::new(Place::new(key, actions, private, shared)))
        });
        self.sites[key.collective as usize]
            .borrow_mut()
            .push((key, place.clone()));
        place
    }

    /// Nanoseconds now, on the common clock of the communicator's ranks.
    pub(crate) fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// Does the act before the call of a site's latest step. Where that was an adoption, the common clock may have to be compared. The site hears how long it took.
    ///
    /// # Safety
    /// All ranks of the communicator make this call, after the same step of the same site.
    #[cold]
    pub(crate) unsafe fn act(&self, place: &Place, act: Act) {
        let begun_ns = own_ns();
        // SAFETY: by this function's contract.
        unsafe {
            place.act(act);
            if let (Act::Adopt, Some(ended_ns)) = (act, place.ended_ns()) {
                self.clock.adopted(ended_ns, place.private());
            }
        }
        // Both on the clock as it is now: it may have become another one.
        place.acted(act, self.clock.at_ns(begun_ns), self.clock.now_ns());
    }

    /// A site was made, since this rank's clock said `begun_ns`. The first one also answers for the ranks' agreement on the communicator.
    pub(crate) fn made(&self, place: &Place, begun_ns: i64) {
        let begun_ns = begun_ns - self.agreement_ns.take();
        place.made(self.clock.at_ns(begun_ns), self.clock.now_ns());
    }

    /// Completes the exchanges that are under way.
    ///
    /// # Safety
    /// The program frees the communicator: all its ranks make this call, or wait for none that makes it.
    #[cold]
    pub(crate) unsafe fn complete(&self) {
        for sites in &self.sites {
            for (_, place) in sites.borrow().iter() {
                if let Some(place) = place {
                    // SAFETY: by this function's contract.
                    unsafe { place.complete() };
                }
            }
        }
    }

    /// An implementation cannot run here: no site tries it any more.
    ///
    /// # Safety
    /// All ranks of the communicator make this call.
    #[cold]
    pub(crate) unsafe fn forgo(&self, implementation: &'static Implementation) {
        for sites in &self.sites {
            for (_, place) in sites.borrow().iter() {
                if let Some(place) = place {
                    // SAFETY: by this function's contract.
                    unsafe { place.forgo(implementation) };
                }
            }
        }
    }

    /// Ends what is under way, and keeps what was learnt. What must not be waited for here is left to [`finish`].
    ///
    /// # Safety
    /// The communicator is being freed, or MPI ends.
    pub(crate) unsafe fn finish(&self, may_wait: bool) {
        alive().1.remove(&self.number);
        // Nothing is under way after the end of MPI has begun.
        let is_logged = started::found().is_some_and(|started| started.log && started.rank == 0);
        for sites in &self.sites {
            let places = std::mem::take(&mut *sites.borrow_mut());
            for (_, place) in places {
                // SAFETY: by this function's contract.
                let ended = place.and_then(|place| unsafe { place.finish(may_wait) });
                let Some((account, rest)) = ended else { continue };
                left().extend(rest);
                learnt::keep(&self.layout, &account);
                if is_logged {
                    report::add(&self.layout, &account);
                }
            }
        }
    }
}

/// Ends what is under way on all communicators, says what came of it, and leaves what was learnt. MPI still runs.
pub(crate) fn finish() {
    let all: Vec<Alive> = {
        let mut alive = alive();
        std::mem::take(&mut alive.1).into_values().collect()
    };
    for Alive(online) in all {
        // SAFETY: it lives, since its end would have taken it from the list; no other thread may call MPI now.
        unsafe { (*online).finish(true) };
    }
    for exchange in left().iter_mut() {
        // SAFETY: all ranks have begun it, or are on their way here and do so before.
        unsafe { exchange.complete() };
    }
    let (Some(started), Some(world)) = (started::found(), world::found()) else {
        return;
    };
    if started.rank == 0 {
        report::say();
        if let Some(directory) = &world.wanted.directory {
            learnt::write(directory);
        }
    }
}
