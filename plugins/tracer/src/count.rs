//! A call as it is counted.

use kilter_mpi::constants;
use kilter_protocol::functions::Function;

use crate::amount::{amount, is_own_rank};
use crate::call::{Call, Volume};
use crate::communicator::State;
use crate::datatype;
use crate::key::Key;
use crate::number::Number;
use crate::polled::Polled;
use crate::samples::Sample;
use crate::site;
use crate::start::Counts;
use crate::table::Ended;
use crate::trace::act::{Act, known};

/// Adds a call to the counts: to the cell of its kind, to the messages of its receiver, to the receives of its sender, and to the samples.
///
/// # Safety
/// The call was valid, and its communicator and types still are.
#[inline]
pub(crate) unsafe fn count<N: Number>(
    counts: &Counts,
    (function, state): (Function, Option<&State>),
    (site, begin_ticks, ticks, stands_for): (usize, u64, u64, u64),
    call: &Volume<N>,
    act: &Act,
) {
    // SAFETY: by this function's contract.
    unsafe {
        let (amount, class) = amount(state, call);
        let operator = call.op.map_or(0, datatype::operator);
        let key = Key::new(function, state.map(|state| state.id), amount, class, operator);
        let ended = Ended {
            site,
            ticks,
            stands_for,
            amount,
        };
        let is_programs = counts.table.add(key, ended, |site| site != 0 && site::is_own(site));
        if let Some(to) = call.to
            && is_programs
            && to != mpi_sys::MPI_PROC_NULL
        {
            let peers = state.map(State::peers).zip(u32::try_from(to).ok());
            let receiver = peers.and_then(|(peers, to)| peers.world_rank(to));
            counts.messages.add(receiver, amount);
        }
        if function.waits_for_sender()
            && is_programs
            && let Some(from) = sender(act)
            && let Some(from) = state.and_then(|state| state.peers().world_rank(from))
        {
            let came = || known(act.status).and_then(constants::received_bytes);
            let amount = if function.waits_to_probe() {
                0
            } else {
                came().unwrap_or(0) as u64
            };
            let from = Key::of_receives(function, from);
            counts.receives.add(from, Ended { amount, ..ended }, |_| false);
        }
        if let Some(number) = counts.samples.number(function, state) {
            counts.samples.add(Sample {
                key,
                site,
                number,
                begin_ticks,
                took_ticks: ticks,
                is_root: call.root.is_some_and(|(root, _)| is_own_rank(root, state)),
            });
        }
    }
}

/// Adds a poll: the cell of its kind has all that counts it. False if the cell is not found at once ([`known`](crate::table::Table::known)); then
/// [`count`] has to add the call.
///
/// # Safety
/// As for [`count`].
#[inline(always)]
pub(crate) unsafe fn count_poll<N: Number>(
    counts: &Counts,
    polled: &mut Polled,
    function: Function,
    (site, ticks, stands_for): (usize, u64, u64),
    call: &Call<N>,
) -> bool {
    // SAFETY: by this function's contract; requests and probes have an amount that no communicator tells.
    let (amount, class) = unsafe { amount(None, &call.volume) };
    let cell = match polled.cell(function, site, call.asked()) {
        Some(cell) => cell,
        None => {
            // SAFETY: by this function's contract.
            let state = unsafe { call.place.state() };
            let key = Key::new(function, state.map(|state| state.id), amount, class, 0);
            let Some(cell) = counts.table.known(key, site) else {
                return false;
            };
            polled.move_to(site, call.asked(), &counts.table, cell);
            cell
        }
    };
    let ended = Ended {
        site,
        ticks,
        stands_for,
        amount,
    };
    cell.add(ended, counts.table.is_shared());
    true
}

/// The rank from which a message was received or found; none for `MPI_PROC_NULL`.
///
/// # Safety
/// The library has filled the status, or it is none.
#[inline]
unsafe fn sender(act: &Act) -> Option<u32> {
    let asked = act.receives?.peer;
    if asked == mpi_sys::MPI_ANY_SOURCE {
        // SAFETY: by this function's contract.
        return u32::try_from(unsafe { known(act.status) }?.MPI_SOURCE).ok();
    }
    u32::try_from(asked).ok()
}
