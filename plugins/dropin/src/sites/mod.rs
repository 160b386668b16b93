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

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kilter_algorithms::Collective;
use kilter_mpi::MPI_Comm;
use kilter_online::knowledge::Layout;

use crate::private::Private;
use crate::rules::{Action, Implementation, Rules};
use crate::sites::common_clock::CommonClock;
pub(crate) use crate::sites::key::{Key, is_comparable};
use crate::sites::learnt::Shared;
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
}

/// One that lives, by its address. It does not move: it is part of a state, which is an attribute of a communicator.
struct Alive(*const Online);

// SAFETY: it is followed in `MPI_Finalize` alone, when no other thread may call MPI.
unsafe impl Send for Alive {}

/// Those that live.
static ALIVE: Mutex<(u64, BTreeMap<u64, Alive>)> = Mutex::new((0, BTreeMap::new()));

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
    /// For a communicator of ranks of the world.
    pub(crate) fn new(world: &'static World, comm: MPI_Comm) -> Option<Online> {
        let mut alive = alive();
        alive.0 += 1;
        Some(Online {
            world,
            layout: world.layout(comm)?,
            clock: CommonClock::new(world, comm)?,
            shared: OnceCell::new(),
            sites: [const { RefCell::new(Vec::new()) }; Collective::ALL.len()],
            number: alive.0,
        })
    }

    /// Its place in memory is the last one: from now on it is found at the end of MPI.
    pub(crate) fn settle_down(&self) {
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

    /// A site has adopted what was exchanged: the common clock may have to be compared.
    ///
    /// # Safety
    /// All ranks of the communicator make this call, after the same step of the same site.
    #[cold]
    pub(crate) unsafe fn adopted(&self, place: &Place) {
        if let Some(ended_ns) = place.ended_ns() {
            // SAFETY: by this function's contract.
            unsafe { self.clock.adopted(ended_ns, place.private()) };
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

    /// Ends what is under way, and keeps what was learnt.
    ///
    /// # Safety
    /// The communicator is being freed, or MPI ends.
    pub(crate) unsafe fn finish(&self) {
        alive().1.remove(&self.number);
        // Nothing is under way after the end of MPI has begun.
        let is_logged = started::found().is_some_and(|started| started.log && started.rank == 0);
        for sites in &self.sites {
            let places = std::mem::take(&mut *sites.borrow_mut());
            for (_, place) in places {
                // SAFETY: by this function's contract.
                let account = place.and_then(|place| unsafe { place.finish() });
                let Some(account) = account else { continue };
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
        unsafe { (*online).finish() };
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
