//! A trace as data.

pub use kilter_profiling::profile::Site;
use kilter_protocol::functions::Function;
use kilter_protocol::trace::WhenFull;
pub use kilter_protocol::trace::digest::Chunk;
pub use kilter_protocol::trace::record::{ANY_TAG, Part, Piece, Plain, Role, class_name, flag, operator_name, peer};
use schemars::JsonSchema;
use serde::Serialize;

use crate::job::Job;

/// The events of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// The job; the default where nobody says it.
    pub job: Job,
    /// First line of `MPI_Get_library_version`.
    pub library: String,
    /// Size of `MPI_COMM_WORLD`.
    pub world: u32,
    /// Ranks that left a file, in their order.
    pub ranks: Vec<Rank>,
    /// Communicators; their numbers are their places here.
    pub communicators: Vec<Communicator>,
    /// Call sites; their numbers are their places here.
    pub sites: Vec<Site>,
    /// Names of the functions; their numbers are their places here.
    pub functions: Vec<String>,
    /// The clocks that became one; none where those of the day put the hosts together.
    pub common_clock: Option<CommonClock>,
}

/// Clocks that became one, that of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommonClock {
    /// Number of clocks: hosts of the ranks.
    pub clocks: usize,
    /// The most by which a time can be wrong at the begin and at the end of the program, in nanoseconds.
    pub bound_ns: u64,
}

/// A rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its node.
    pub host: String,
    /// Its process number.
    pub process: u32,
    /// End of `MPI_Init`.
    pub begin_ns: u64,
    /// Call of `MPI_Finalize`, or end of the process; none if it was killed.
    pub end_ns: Option<u64>,
    /// True if the program called `MPI_Finalize`.
    pub finalized: bool,
    /// Behaviour of a full file.
    pub when_full: WhenFull,
    /// Bytes that the file may have.
    pub limit: u64,
    /// Bytes of a payload that were hashed at most.
    pub hash_limit: u64,
    /// Calls for which there was no space, or that were overwritten.
    pub lost_calls: u64,
    /// Parts of calls that are not in the file, and parts whose calls are not.
    pub lost_parts: u64,
    /// Definitions of call sites and communicators for which there was no space.
    pub lost_definitions: u64,
    /// Calls that returned an error.
    pub failed_calls: u64,
    /// Calls of all threads, by their begin.
    pub events: Vec<Event>,
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// Name: the same on all ranks and in every run of the same program on as many ranks.
    pub name: String,
    /// Name that the program gave it; empty if it gave none.
    pub label: String,
    /// World ranks of its members; none for a process outside of the world.
    pub members: Vec<Option<u32>>,
    /// Members of the other side of an intercommunicator.
    pub remote: Option<Vec<Option<u32>>>,
}

/// A call. Times are nanoseconds on the clock of all ranks, which begins when the first rank has left `MPI_Init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// Begin.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Place in [`Trace::functions`].
    pub function: usize,
    /// Place in [`Trace::communicators`].
    pub communicator: Option<usize>,
    /// Place in [`Trace::sites`].
    pub site: Option<usize>,
    /// Calls after each other that found nothing; 0 for one call that did something.
    pub polls: u32,
    /// Its parts. Communicators are places in [`Trace::communicators`] and 1.
    pub parts: Vec<Part>,
}

impl Trace {
    /// Name of an event's function.
    #[must_use]
    pub fn function(&self, event: &Event) -> &str {
        self.functions.get(event.function).map_or("MPI_?", String::as_str)
    }

    /// An event's function, if the table has it.
    #[must_use]
    pub fn known_function(&self, event: &Event) -> Option<Function> {
        Function::named(self.function(event))
    }

    /// The communicator of a part or, if it has none, of its event.
    #[must_use]
    pub fn communicator(&self, event: &Event, part: Option<&Part>) -> Option<&Communicator> {
        let of_part = part.and_then(communicator_of);
        self.communicators.get(of_part.or(event.communicator)?)
    }

    /// The rank of this number.
    #[must_use]
    pub fn rank(&self, rank: u32) -> Option<&Rank> {
        let at = self.ranks.binary_search_by_key(&rank, |one| one.rank).ok()?;
        self.ranks.get(at)
    }

    /// Ranks that left no file.
    #[must_use]
    pub fn missing(&self) -> Vec<u32> {
        (0..self.world).filter(|rank| self.rank(*rank).is_none()).collect()
    }
}

/// Place of a part's communicator.
#[must_use]
pub fn communicator_of(part: &Part) -> Option<usize> {
    part.plain.communicator.checked_sub(1).map(|number| number as usize)
}
