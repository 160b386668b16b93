//! Selection while the program runs (`KILTER_ONLINE`): candidates are tried in its own calls, and the fastest one stays.
//!
//! All ranks of a communicator must run the same in each call. So what is run follows from the calls that were made on it and from times that
//! all ranks have agreed on (`kilter_online::Site`), never from a rank's own clock. Nothing waits for another rank but what the exchange of [`crate::sites`] says.

use std::ffi::c_int;
use std::rc::Rc;

use kilter_online::{Act, Arm};

use crate::communicator::State;
use crate::describe::bytes_of;
use crate::given::{Given, Number};
use crate::prepared::{OfSite, Prepared};
use crate::replace::{Function, again, by_rule, carry_out, prepare_default};
use crate::rules::Action;
use crate::sites::{Key, Online, Place, is_comparable, own_ns};
use crate::started::Started;

/// Candidates at a site beside the library's own: implementations that the profile's rules name for its sizes, then the rows that are named to be tried. The
/// order is the same on all ranks, and none is there twice.
fn candidates(key: Key, state: &State) -> Vec<Rc<Action>> {
    let (from, to) = key.bytes();
    let ruled = state.table.within(key.collective, from, to).cloned();
    let mut actions: Vec<Rc<Action>> = Vec::new();
    for action in ruled.chain(state.rules.tried()) {
        let is_there = |known: &Rc<Action>| known.is_same(&action);
        let is_legal =
            key.admits(action.implementation, (state.size, state.one_node)) && state.may_run(action.implementation);
        if is_legal && !actions.iter().any(is_there) {
            actions.push(Rc::new(action));
        }
    }
    actions
}

/// The site of a call, and its volume; `None`, on all ranks alike, leaves the call to the library.
///
/// # Safety
/// All ranks of the state's communicator make the call whose arguments are `given`.
unsafe fn site<F: Function, N: Number, D: Number>(
    (state, online): (&State, &Online),
    started: &'static Started,
    given: &Given<N, D>,
) -> Option<(Rc<Place>, u64)> {
    // SAFETY: by this function's contract.
    let bytes = unsafe { bytes_of(F::COLLECTIVE, state, *given) }?;
    let key = Key::of(F::COLLECTIVE, state.size, given, bytes)?;
    let place = match online.find(key) {
        Some(found) => found,
        // SAFETY: by this function's contract.
        None => unsafe { made((state, online), started, (key, bytes)) },
    };
    place.map(|place| (place, bytes))
}

/// A new site, for a call of so many bytes; `None` where there is nothing to try, or where the communicator is not ready for it yet.
///
/// # Safety
/// As for [`site`].
#[cold]
unsafe fn made(
    (state, online): (&State, &Online),
    started: &'static Started,
    (key, bytes): (Key, u64),
) -> Option<Rc<Place>> {
    let begun_ns = own_ns();
    let actions = candidates(key, state);
    let rule = state.table.lookup(key.collective, bytes);
    let of_rule = rule.and_then(|rule| actions.iter().position(|action| action.is_same(rule)));
    // SAFETY: by this function's contract; the private communicator has the same ranks in the same order.
    unsafe {
        if actions.is_empty() {
            return online.add(key, (actions, None), None);
        }
        let private = state.private(started)?;
        let place = online.add(key, (actions, of_rule), Some((private, state.rank == 0)))?;
        online.made(&place, begun_ns);
        Some(place)
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
            let Some((place, bytes)) = (unsafe { site::<F, N, D>((state, online), started, given) }) else {
                return library();
            };
            // SAFETY: sites stay in the list until the communicator is freed, which no call on it outlives.
            (unsafe { &*Rc::as_ptr(&place) }, Some(bytes))
        }
    };
    let Some(step) = place.step() else {
        return library();
    };
    if step.before != Act::Nothing {
        // SAFETY: all ranks make this call, by this function's contract, and have made the same step of the same site.
        unsafe { online.act(place, step.before) };
    }
    let begin_ns = if step.timed { online.now_ns() } else { 0 };
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
            place.timed(begin_ns, online.now_ns());
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
    let of_site = OfSite::new(place, Arm::DEFAULT);
    if let (Some(bytes), Some(_)) = (bytes, of_site) {
        // SAFETY: by this function's contract.
        unsafe { prepare_default::<F, N, D>(state, given, bytes, of_site) };
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
    let of_site = OfSite::new(place, arm)?;
    // SAFETY: by this function's contract; all ranks run the same arm.
    unsafe { carry_out::<F, N, D>(state, started, given, (bytes, &action), Some(of_site)) }
}
