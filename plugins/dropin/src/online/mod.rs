//! Selection while the program runs (`KILTER_ONLINE`): candidates are tried in its own calls, and the fastest one stays.
//!
//! All ranks of a communicator must run the same in each call. So what is run follows from the calls that were made on it and from times that
//! all ranks have agreed on (`kilter_online::Site`), never from a rank's own clock. Nothing waits for another rank but what is told in [`exchange`].
//!
//! * [`wanted`]: the variables. [`world`]: facts about all ranks, found out in `MPI_Init`.
//! * [`key`]: which calls are compared with each other. [`candidates`]: what is tried for them. [`place`]: how far that has come.
//! * [`exchange`]: how ranks agree on times. [`tell`]: collectives by which they tell each other what they know.
//! * [`learnt`]: what jobs leave for later ones. [`report`]: what they say of it.

mod candidates;
mod exchange;
mod key;
mod learnt;
mod place;
mod report;
mod tell;
mod wanted;
mod world;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kilter_algorithms::Collective;
use kilter_mpi::MPI_Comm;
use kilter_online::Arm;
use kilter_online::knowledge::Layout;

use crate::communicator::State;
use crate::describe::bytes_of;
use crate::given::{Given, Number};
use crate::online::key::{Key, is_comparable};
use crate::online::learnt::Shared;
pub(crate) use crate::online::place::Place;
pub(crate) use crate::online::world::{World, at_begin, found};
use crate::prepared::{OfSite, Prepared};
use crate::replace::{Function, again, by_rule, carry_out, prepare_default};
use crate::rules::{Implementation, Rules};
use crate::started::{self, Started};

type Sites = Vec<(Key, Option<Rc<Place>>)>;

/// A communicator on which candidates are tried.
pub(crate) struct Online {
    world: &'static World,
    layout: Layout,
    /// What its sites begin with, once there is one.
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

/// Bits of the collectives for which rows are tried.
pub(crate) fn collectives(rules: &'static Rules) -> u32 {
    candidates::collectives(rules)
}

impl Online {
    /// For a communicator of ranks of the world.
    pub(crate) fn new(world: &'static World, comm: MPI_Comm) -> Option<Online> {
        let mut alive = alive();
        alive.0 += 1;
        Some(Online {
            world,
            layout: world.layout(comm)?,
            shared: OnceCell::new(),
            sites: [const { RefCell::new(Vec::new()) }; Collective::ALL.len()],
            number: alive.0,
        })
    }

    /// Its place in memory is the last one: from now on it is found at the end of MPI.
    pub(crate) fn settle_down(&self) {
        alive().1.insert(self.number, Alive(self));
    }

    /// The site of a call; `None`, on all ranks alike, leaves the call to the library.
    ///
    /// # Safety
    /// All ranks of the state's communicator make the call whose arguments are `given`.
    unsafe fn site<F: Function, N: Number, D: Number>(
        &self,
        state: &State,
        started: &'static Started,
        given: &Given<N, D>,
    ) -> Option<(Rc<Place>, u64)> {
        // SAFETY: by this function's contract.
        let bytes = unsafe { bytes_of(F::COLLECTIVE, state, *given) }?;
        let key = Key::of(F::COLLECTIVE, state, given, bytes)?;
        let sites = &self.sites[F::COLLECTIVE as usize];
        let find = |(known, place): &(Key, Option<Rc<Place>>)| (*known == key).then(|| place.clone());
        if let Some(found) = sites.borrow().iter().find_map(find) {
            return found.map(|place| (place, bytes));
        }
        // SAFETY: by this function's contract.
        let made = unsafe { self.made(state, started, key) }?;
        sites.borrow_mut().push((key, made.clone()));
        made.map(|place| (place, bytes))
    }

    /// A new site; `None` within where there is nothing to try, and without where the communicator is not ready for it yet.
    ///
    /// # Safety
    /// As for [`Online::site`].
    #[cold]
    unsafe fn made(&self, state: &State, started: &'static Started, key: Key) -> Option<Option<Rc<Place>>> {
        let actions = candidates::of(key, state);
        if actions.is_empty() {
            return Some(None);
        }
        // SAFETY: by this function's contract.
        let private = unsafe { state.private(started) }?;
        if self.shared.get().is_none() {
            // SAFETY: by this function's contract; the private communicator has the same ranks in the same order.
            let shared = unsafe { learnt::share(private.comm(), state.rank == 0, &self.layout, &self.world.wanted) };
            let shared = shared.unwrap_or_else(|error| {
                kilter_mpi::say(format_args!(
                    "error: what is known cannot be told: {error}; ending the job"
                ));
                // SAFETY: MPI is running.
                unsafe { kilter_mpi::abort(state.comm, 1) }
            });
            let _ = self.shared.set(shared);
        }
        let place = Place::new(key, actions, private, self.shared.get()?);
        Some(Some(Rc::new(place)))
    }

    /// An implementation cannot run here: no site tries it any more.
    ///
    /// # Safety
    /// As for [`Online::site`].
    #[cold]
    unsafe fn forgo(&self, implementation: &'static Implementation) {
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
    let (Some(started), Some(world)) = (started::found(), found()) else {
        return;
    };
    if started.rank == 0 {
        report::say();
        if let Some(directory) = &world.wanted.directory {
            learnt::write(directory);
        }
    }
}

/// Makes a call on a communicator on which candidates are tried. `library` calls the library's own function.
///
/// # Safety
/// `given` are the arguments of a valid call on the state's communicator, made by all its ranks; `library` makes it.
#[inline(never)]
pub(crate) unsafe fn call<F: Function, N: Number, D: Number>(
    state: &State,
    started: &'static Started,
    given: &Given<N, D>,
    library: &dyn Fn() -> c_int,
) -> c_int {
    let collective = F::COLLECTIVE;
    let Some(online) = &state.online else { return library() };
    if !is_comparable(collective) {
        // SAFETY: by this function's contract.
        return unsafe { by_rule::<F, N, D>(state, started, *given) }.unwrap_or_else(library);
    }
    let prepared = state.prepared.find(collective, *given);
    let of_site = if prepared.is_null() {
        None
    } else {
        // SAFETY: found just now.
        unsafe { Prepared::of_site(prepared) }
    };
    let (place, bytes) = match of_site {
        // SAFETY: a site lives as long as its communicator's state.
        Some(of_site) => (unsafe { of_site.site.as_ref() }, None),
        None => {
            // SAFETY: by this function's contract.
            let Some((place, bytes)) = (unsafe { online.site::<F, N, D>(state, started, given) }) else {
                return library();
            };
            // SAFETY: sites stay in the list until the communicator is freed, which no call on it outlives.
            (unsafe { &*Rc::as_ptr(&place) }, Some(bytes))
        }
    };
    // SAFETY: all ranks make this call, by this function's contract, and found the same site.
    let Some(step) = (unsafe { place.step(started.thread_multiple) }) else {
        return library();
    };
    let begin_ns = if step.timed { online.world.now_ns() } else { 0 };
    let code = if step.arm == Arm::DEFAULT {
        let code = library();
        let is_prepared = of_site.is_some_and(|of_site| of_site.arm == Arm::DEFAULT);
        // SAFETY: the call has returned.
        unsafe { prepare::<F, N, D>((state, place), given, (bytes, is_prepared)) };
        Some(code)
    } else if of_site.is_some_and(|of_site| of_site.arm == step.arm) {
        // SAFETY: found for this call; a step does not change what is prepared.
        unsafe { again(state, started, prepared, given.send, given.recv) }
    } else {
        // SAFETY: by this function's contract.
        unsafe { run::<F, N, D>((state, place), started, given, (bytes, step.arm)) }
    };
    match code {
        Some(0) if step.timed => {
            place.timed(begin_ns, online.world.now_ns());
            0
        }
        Some(code) => code,
        None => {
            if let Some(action) = place.action(step.arm)
                && !state.may_run(action.implementation)
            {
                // SAFETY: an implementation says on all ranks that it cannot run, or on none.
                unsafe { online.forgo(action.implementation) };
            }
            library()
        }
    }
}

/// Prepares calls like this one where the site has settled on the library's own.
///
/// # Safety
/// As for [`call`]; the call has returned on this rank.
#[inline]
unsafe fn prepare<F: Function, N: Number, D: Number>(
    (state, place): (&State, &Place),
    given: &Given<N, D>,
    (bytes, is_prepared): (Option<u64>, bool),
) {
    if !place.has_settled_on(Arm::DEFAULT) || is_prepared {
        return;
    }
    // SAFETY: by this function's contract.
    let bytes = bytes.or_else(|| unsafe { bytes_of(F::COLLECTIVE, state, *given) });
    if let (Some(action), Some(bytes)) = (place.action(Arm(1)), bytes) {
        let of_site = OfSite {
            site: NonNull::from(place),
            arm: Arm::DEFAULT,
        };
        // SAFETY: by this function's contract.
        unsafe { prepare_default::<F, N, D>(state, given, bytes, (of_site, action.implementation)) };
    }
}

/// Runs an arm of a site for a call that is not prepared for it. `None` leaves the call to the library.
///
/// # Safety
/// As for [`call`].
unsafe fn run<F: Function, N: Number, D: Number>(
    (state, place): (&State, &Place),
    started: &'static Started,
    given: &Given<N, D>,
    (bytes, arm): (Option<u64>, Arm),
) -> Option<c_int> {
    let action = place.action(arm)?;
    let bytes = match bytes {
        Some(bytes) => bytes,
        // SAFETY: by this function's contract.
        None => unsafe { bytes_of(F::COLLECTIVE, state, *given) }?,
    };
    let of_site = OfSite {
        site: NonNull::from(place),
        arm,
    };
    // SAFETY: by this function's contract; all ranks run the same arm.
    unsafe { carry_out::<F, N, D>(state, started, given, (bytes, &action), Some(of_site)) }
}
