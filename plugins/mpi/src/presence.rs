//! Finds out, right after `MPI_Init` and within a limit of time, if every rank of the program has loaded a preloaded
//! library.
//!
//! A collective that only some ranks make hangs. The ranks therefore report their presence by messages along a tree:
//! each waits for its children, tells its parent which ranks are missing, and waits for rank 0's answer. If all are
//! there, all these messages have been received when the program gets to its first line, and none of its own can match
//! them. If some are missing, waiting ranks give up after the limit; a message that comes later is still received,
//! until MPI ends. A message to a rank without the library stays unreceived. Its tag is one of the highest three,
//! which a receive from anybody with any tag matches. Messages therefore go to the lowest ranks only: to rank 0 alone
//! up to 33 ranks.

mod missing;

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mpi_sys::{MPI_Comm, MPI_Request};

use crate::error::pmpi;
pub use missing::Missing;
use missing::NUMBERS;

use crate::{MpiError, attribute, constants, environment, info};

/// Children of a rank in the tree.
const FAN_OUT: usize = 32;

/// Time that a rank spins while it waits, and its pause between two looks afterwards: MPI has no wait with a limit.
const SPIN: Duration = Duration::from_millis(5);
const NAP: Duration = Duration::from_micros(200);

/// Default time that a rank waits for each level of the tree.
pub const LIMIT: Duration = Duration::from_secs(10);

/// The variable that says otherwise, in seconds.
pub const LIMIT_VARIABLE: &str = "KILTER_INIT_WAIT";

/// The library whose presence is asked for; each has its own tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// `libkilter.so`.
    Dropin,
    /// `libkilter_progress.so`.
    Progress,
    /// `libkilter_tracer.so`.
    Tracer,
}

impl Library {
    fn file(self) -> &'static str {
        match self {
            Library::Dropin => "libkilter.so",
            Library::Progress => "libkilter_progress.so",
            Library::Tracer => "libkilter_tracer.so",
        }
    }
}

/// Result; the same on all ranks that have the library, except those below a missing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Every rank has it.
    Everywhere,
    /// These have it not, or are too late.
    Missing(Missing),
    /// The rank above this one in the tree does not answer.
    Silent {
        /// That rank.
        parent: usize,
    },
}

/// Position of a rank in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    rank: usize,
    size: usize,
}

impl Place {
    fn parent(self) -> Option<usize> {
        self.rank.checked_sub(1).map(|before| before / FAN_OUT)
    }

    fn children(self) -> std::ops::Range<usize> {
        let first = self.rank * FAN_OUT + 1;
        first.min(self.size)..(first + FAN_OUT).min(self.size)
    }

    fn depth(self) -> u32 {
        let parent = self.parent().map(|rank| Place { rank, ..self });
        parent.map_or(0, |parent| 1 + parent.depth())
    }

    /// Levels below the deepest of its children, itself included, that may each take the limit.
    fn levels_below(self) -> u32 {
        let last = Place {
            rank: self.size - 1,
            ..self
        };
        last.depth() - self.depth()
    }

    /// Levels until rank 0 has heard of all.
    fn levels(self) -> u32 {
        1 + Place { rank: 0, ..self }.levels_below()
    }
}

/// True if a rank is the first of those that wait for the same one.
fn is_first_child(rank: usize) -> bool {
    rank % FAN_OUT == 1
}

/// The words of this rank where not all ranks are known to have the library; `None` where they have it, or another rank says it.
#[must_use]
pub fn objection(library: Library, found: &Result<Presence, MpiError>, rank: usize) -> Option<String> {
    let file = library.file();
    match found {
        Ok(Presence::Everywhere) => None,
        Ok(Presence::Missing(missing)) => (rank == 0).then(|| {
            format!(
                "{missing} did not load {file}, or came too late ({} s, {LIMIT_VARIABLE}): load it on all ranks of all nodes",
                limit().as_secs_f64()
            )
        }),
        // One of those that wait for it says so.
        Ok(Presence::Silent { parent }) => is_first_child(rank).then(|| {
            format!("rank {rank}: rank {parent} did not load {file}, or does not answer: load it on all ranks of all nodes")
        }),
        Err(error) => Some(format!("rank {rank}: {error}")),
    }
}

/// The limit in force.
#[must_use]
pub fn limit() -> Duration {
    let text = environment::variable(LIMIT_VARIABLE);
    let seconds = text.and_then(|text| text.to_str()?.trim().parse().ok());
    let given = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    given.unwrap_or(LIMIT)
}

/// Finds out whether all ranks have `library`, waiting at most for [`limit`] at each level of the tree.
///
/// # Safety
/// MPI was just initialised; every rank that has `library` makes this call once, and nothing of the program's has been sent yet.
pub unsafe fn find_out(library: Library) -> Result<Presence, MpiError> {
    let world = constants::comm_world();
    let place = Place {
        rank: info::rank(world)?,
        size: info::size(world)?,
    };
    let tag = highest_tag(world) - library as c_int;
    let limit = limit();
    let mut missing = Missing::default();
    // SAFETY: MPI runs, by this function's contract. A child with the library sends a matching message; one without it sends none.
    let receive = |child| unsafe { Receive::from(world, child, tag) };
    let children: Vec<Receive> = place.children().map(receive).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    let mut there = Vec::new();
    let mut open = Vec::new();
    for mut child in children {
        let left = (limit * place.levels_below()).saturating_sub(begun.elapsed());
        // SAFETY: the receive was posted above, and only this function uses it.
        match unsafe { child.wait(left) }? {
            Some(numbers) => {
                missing.take(&numbers);
                there.push(child.peer);
            }
            None => {
                missing.add(child.peer as u64);
                open.push(child);
            }
        }
    }
    if let Some(parent) = place.parent() {
        // SAFETY: MPI runs, by this function's contract. A parent with the library makes the matching calls; one without it makes none.
        let (answer, answered) = unsafe {
            send(world, parent, tag, missing.numbers(), limit)?;
            let mut answer = Receive::from(world, parent, tag)?;
            let answered = answer.wait(limit * (1 + place.levels()))?;
            (answer, answered)
        };
        missing = Missing::default();
        match answered {
            Some(numbers) => missing.take(&numbers),
            None => {
                // Its own children wait as long, and find it silent.
                open.push(answer);
                keep(open)?;
                return Ok(Presence::Silent { parent });
            }
        }
    }
    keep(open)?;
    for child in there {
        // SAFETY: MPI runs, by this function's contract; the child waits for this message.
        unsafe { send(world, child, tag, missing.numbers(), limit)? };
    }
    Ok(missing.presence())
}

/// The highest tag that messages may have.
fn highest_tag(world: MPI_Comm) -> c_int {
    // The least that MPI allows.
    const LEAST: c_int = 32767;
    // SAFETY: a predefined attribute, which is the address of an int.
    let found = unsafe { attribute::get(world, constants::tag_ub()).map(|address| *address.cast::<c_int>()) };
    found.unwrap_or(LEAST)
}

/// Receives that nothing has come for.
static OPEN: Mutex<Vec<Receive>> = Mutex::new(Vec::new());

/// Keeps receives until MPI ends: a message that comes late ends there, and not in a receive of the program's.
fn keep(open: Vec<Receive>) -> Result<(), MpiError> {
    static ANY: u8 = 0;
    if open.is_empty() {
        return Ok(());
    }
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).extend(open);
    // SAFETY: MPI runs; the attribute is nothing that is followed. Attributes of this communicator go first of all when MPI ends.
    unsafe {
        let key = attribute::create_key(end)?;
        attribute::set(constants::comm_self(), key, (&raw const ANY).cast())
    }
}

/// MPI ends.
unsafe extern "C" fn end(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    for receive in &mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner) {
        // SAFETY: MPI still runs; the request is this receive's, and what it writes to lives.
        unsafe {
            let cancelled = pmpi!(PMPI_Cancel(&raw mut receive.request));
            if cancelled.is_ok() {
                let _ = pmpi!(PMPI_Wait(&raw mut receive.request, constants::status_ignore()));
            }
        }
    }
    0
}

/// A receive that may never be completed: what it writes to is never given back then.
struct Receive {
    peer: usize,
    numbers: Box<[u64; NUMBERS]>,
    request: MPI_Request,
}

// SAFETY: a handle, which any thread may use that may call MPI, and memory of its own.
unsafe impl Send for Receive {}

impl Receive {
    /// # Safety
    /// As for [`find_out`].
    unsafe fn from(comm: MPI_Comm, peer: usize, tag: c_int) -> Result<Receive, MpiError> {
        let mut receive = Receive {
            peer,
            numbers: Box::new([0; NUMBERS]),
            request: constants::request_null(),
        };
        // SAFETY: the buffer lives until the receive is completed, or for ever.
        unsafe {
            pmpi!(PMPI_Irecv(
                receive.numbers.as_mut_ptr().cast(),
                NUMBERS as c_int,
                constants::uint64(),
                peer as c_int,
                tag,
                comm,
                &raw mut receive.request
            ))?;
        }
        Ok(receive)
    }

    /// Message that came within the time.
    ///
    /// # Safety
    /// MPI runs.
    unsafe fn wait(&mut self, limit: Duration) -> Result<Option<[u64; NUMBERS]>, MpiError> {
        // SAFETY: the request is this receive's.
        let came = unsafe { completed(&mut self.request, limit)? };
        // Before it came, the library may write there.
        Ok(if came { Some(*self.numbers) } else { None })
    }
}

impl Drop for Receive {
    fn drop(&mut self) {
        if self.request != constants::request_null() {
            // The library may still write.
            std::mem::forget(std::mem::replace(&mut self.numbers, Box::new([0; NUMBERS])));
        }
    }
}

/// Sends a message that fits into what libraries send without being asked.
///
/// # Safety
/// As for [`find_out`].
unsafe fn send(
    comm: MPI_Comm,
    peer: usize,
    tag: c_int,
    numbers: [u64; NUMBERS],
    limit: Duration,
) -> Result<(), MpiError> {
    let buffer = Box::leak(Box::new(numbers));
    let mut request = constants::request_null();
    // SAFETY: the buffer lives until it is freed below, and for ever where the send does not end.
    unsafe {
        pmpi!(PMPI_Isend(
            buffer.as_ptr().cast(),
            NUMBERS as c_int,
            constants::uint64(),
            peer as c_int,
            tag,
            comm,
            &raw mut request
        ))?;
        if completed(&mut request, limit)? {
            drop(Box::from_raw(buffer));
        }
    }
    Ok(())
}

/// True if the request is completed within the time.
///
/// # Safety
/// MPI runs; the request is the caller's own.
unsafe fn completed(request: &mut MPI_Request, limit: Duration) -> Result<bool, MpiError> {
    let begun = Instant::now();
    loop {
        let mut done: c_int = 0;
        // SAFETY: by this function's contract; an int is written.
        unsafe { pmpi!(PMPI_Test(request, &raw mut done, constants::status_ignore()))? };
        let waited = begun.elapsed();
        if done != 0 {
            return Ok(true);
        }
        if waited >= limit {
            return Ok(false);
        }
        if waited < SPIN {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::missing::NAMED;
    use super::{Missing, Place, Presence};

    /// Every rank but the first has one parent, whose child it is; nobody waits shorter than those below it.
    #[test]
    fn the_tree_reaches_every_rank_once() {
        for size in [1, 2, 32, 33, 34, 1000, 1057, 1058, 40_000] {
            let place = |rank| Place { rank, size };
            let mut children = 0;
            for rank in 0..size {
                for child in place(rank).children() {
                    assert_eq!(place(child).parent(), Some(rank));
                    assert!(
                        place(child).levels_below() < place(rank).levels_below(),
                        "{rank} of {size}"
                    );
                    children += 1;
                }
            }
            assert_eq!(children, size - 1, "{size}");
            assert_eq!(place(0).parent(), None);
        }
        assert_eq!(Place { rank: 0, size: 1000 }.levels(), 3);
    }

    #[test]
    fn who_is_missing_is_named_as_far_as_there_is_room() {
        let mut here = Missing::default();
        assert_eq!(here.presence(), Presence::Everywhere);
        here.add(5);
        assert_eq!(here.to_string(), "rank 5");
        let mut above = Missing::default();
        above.add(1);
        above.take(&here.numbers());
        assert_eq!(above.to_string(), "ranks 1, 5");
        (10..18).for_each(|rank| here.add(rank));
        above.take(&here.numbers());
        assert_eq!(above.to_string(), "ranks 1, 5, 5, 10, 11, 12, 13 and 4 more");
        let mut told = Missing::default();
        told.take(&above.numbers());
        assert_eq!(told, above);
        assert_eq!(told.number as usize, NAMED + 4);
    }
}
