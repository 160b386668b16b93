//! The counts of calls that `libkilter_tracer.so` leaves for `kilter profile`: a file of JSON lines for each rank.
//!
//! The first line is [`Line::Rank`], the last one [`Line::End`]; a file without it is torn. Only [`Line::ClockAtEnd`] may follow, which is learnt
//! when the file is there. Communicators and call sites have numbers that stand for them in the lines of calls. The numbers are those of one rank; members, modules and offsets are the same on all ranks.

use serde::{Deserialize, Serialize};

/// Version of the lines; a reader refuses any other.
pub const VERSION: u32 = 2;

/// Variable with the directory into which each rank writes its file. The tracer counts nothing without it.
pub const DIRECTORY_VARIABLE: &str = "KILTER_TRACER_DIR";

/// Variable with the memory of a rank's counts, in MiB.
pub const MEMORY_VARIABLE: &str = "KILTER_TRACER_MEMORY";

/// Memory of a rank's counts where nobody says otherwise, in MiB.
pub const MEMORY_MIB: usize = 16;

/// Most memory that may be asked for, in MiB.
pub const MAX_MEMORY_MIB: usize = 4096;

/// End of the name of a rank's file.
pub const EXTENSION: &str = "calls.jsonl";

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    /// The rank.
    Rank(Rank),
    /// A communicator that was used.
    Communicator(Communicator),
    /// A place in the program that makes calls.
    Site(Site),
    /// Calls of one kind.
    Calls(Calls),
    /// The calls of a kind whose waiting is measured.
    Samples(Samples),
    /// Messages to a rank.
    Messages(Messages),
    /// Receives from a rank.
    Received(Received),
    /// The end of the file.
    End(End),
    /// The other clock at the end of the program.
    ClockAtEnd(Reading),
}

/// A rank and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// [`VERSION`].
    pub v: u32,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// Name of the node, as `MPI_Get_processor_name` gives it.
    pub host: String,
    /// Process number.
    pub process: u32,
    /// First line of `MPI_Get_library_version`.
    pub library: String,
    /// Seconds from the end of `MPI_Init` to the begin of `MPI_Finalize`, or to the end of the process.
    pub seconds: f64,
    /// True if the program called `MPI_Finalize`.
    pub finalized: bool,
    /// Sampling of collective calls, if there was any.
    pub sampling: Option<Sampling>,
}

/// Sampling of collective calls on a rank: [`crate::sampling`] says which calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// One call in so many was sampled.
    pub interval: u32,
    /// Times that the memory for samples was full, and half of them were dropped.
    pub halvings: u32,
    /// The rank's clock.
    pub clock: Clock,
}

/// A rank's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The lowest rank with the same clock: ranks of a host have one.
    pub leader: u32,
    /// The rank that this one asks for the time, if it is a leader itself and not rank 0.
    pub asks: Option<u32>,
    /// The answer at the begin of the program.
    pub at_begin: Option<Reading>,
}

/// The time of another clock, asked for over a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Middle between question and answer on the asker's clock, in nanoseconds.
    pub own_ns: i64,
    /// The other clock less the asker's, in nanoseconds.
    pub offset_ns: i64,
    /// From question to answer, in nanoseconds. The offset is wrong by half of it at most.
    pub round_trip_ns: u64,
}

impl Reading {
    /// The reading of a question at `asked_ns`, the answer `theirs_ns`, which came at `answered_ns`.
    #[must_use]
    pub fn new(asked_ns: u64, theirs_ns: u64, answered_ns: u64) -> Reading {
        let round_trip_ns = answered_ns.saturating_sub(asked_ns);
        let own_ns = asked_ns.wrapping_add(round_trip_ns / 2).cast_signed();
        Reading {
            own_ns,
            offset_ns: theirs_ns.cast_signed().wrapping_sub(own_ns),
            round_trip_ns,
        }
    }
}

/// Collective calls of one kind whose begin and end are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Samples {
    /// Number of the line of these calls among the lines of calls of this file, from 0.
    pub of: usize,
    /// Number of each call among the sampled functions' calls on the communicator.
    pub numbers: Vec<u64>,
    /// Begin of each, in nanoseconds of the rank's clock.
    pub begins_ns: Vec<u64>,
    /// Duration of each, in nanoseconds.
    pub took_ns: Vec<u64>,
    /// Places of those, in these lists, of which this rank was the root.
    pub as_root: Vec<usize>,
}

/// A communicator. Communicators of the same members are numbered in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Communicator {
    /// Number on this rank.
    pub id: u32,
    /// Number of its ranks; of this rank's side where there are two.
    pub size: u32,
    /// Ranks in `MPI_COMM_WORLD`, such as `0-7`, `0-6:2` (every second one) or `0,5,3`; `?` for a process outside of it.
    pub members: String,
    /// Members of the other side of an intercommunicator.
    pub remote: Option<String>,
    /// Number among the communicators of these members that exist at the same time, from 0.
    pub sequence: u32,
    /// Name that the program gave it; empty if it gave none.
    pub label: String,
}

/// A call site: a return address in a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Site {
    /// Number on this rank.
    pub id: u32,
    /// File of the program or library; empty if it is not known.
    pub module: String,
    /// Offset of the return address in it.
    pub offset: u64,
    /// Nearest symbol that the module exports before the address; empty if there is none.
    pub symbol: String,
}

/// Calls of one function that have everything below in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// Number of the communicator; none for calls without one.
    pub communicator: Option<u32>,
    /// Name of the function, such as `MPI_Allreduce`.
    pub function: String,
    /// Number of the call site; none if it is not known.
    pub site: Option<u32>,
    /// Binary logarithm of the bytes and 1; 0 for no bytes. See [`bucket`].
    pub bucket: u8,
    /// Class of the datatype; none for calls without one.
    pub datatype: Option<String>,
    /// Operator of a reduction.
    pub operator: Option<String>,
    /// Number of calls.
    pub calls: u64,
    /// Seconds inside of them, together.
    pub seconds: f64,
    /// Seconds inside of the shortest call.
    pub shortest: f64,
    /// Seconds inside of the longest call.
    pub longest: f64,
    /// Bytes of all calls together. See `docs/manual/profile.md` for the bytes of each function.
    pub bytes: u64,
    /// Requests that calls were given which start or complete operations; 0 for other calls.
    pub requests: u64,
}

/// Messages that this rank sent to one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Receiver's rank in `MPI_COMM_WORLD`.
    pub to: u32,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Calls that waited for messages of one rank, and received or found them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Sender's rank in `MPI_COMM_WORLD`.
    pub from: u32,
    /// Name of the function, such as `MPI_Recv`.
    pub function: String,
    /// Number of the call site; none if it is not known.
    pub site: Option<u32>,
    /// Number of calls.
    pub calls: u64,
    /// Seconds inside of them.
    pub seconds: f64,
    /// Bytes that came; 0 for probes.
    pub bytes: u64,
}

/// Numbers of what has not been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct End {
    /// Calls of kinds for which the memory did not reach.
    pub lost_calls: u64,
    /// Messages whose receiver is outside of `MPI_COMM_WORLD`, or for which the memory did not reach.
    pub lost_messages: u64,
    /// Receives for whose pairs of ranks the memory did not reach.
    pub lost_receives: u64,
    /// Calls that returned an error.
    pub failed_calls: u64,
}

/// Bucket of a number of bytes: 0 for 0, else 1 more than the binary logarithm, rounded down.
#[must_use]
pub fn bucket(bytes: u64) -> u8 {
    // At most 64.
    (u64::BITS - bytes.leading_zeros()) as u8
}

/// Smallest and largest number of bytes of a bucket.
#[must_use]
pub fn bytes_of(bucket: u8) -> (u64, u64) {
    match bucket {
        0 => (0, 0),
        1..=63 => (1 << (bucket - 1), (1 << bucket) - 1),
        _ => (1 << 63, u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_no_gap() {
        assert_eq!((bucket(0), bytes_of(0)), (0, (0, 0)));
        for exponent in 0..64 {
            let low = 1_u64 << exponent;
            let (first, last) = bytes_of(bucket(low));
            assert_eq!(first, low);
            assert_eq!(bucket(last), bucket(low));
            assert!(last == u64::MAX || bucket(last + 1) == bucket(low) + 1);
        }
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        let line = Line::Calls(Calls {
            communicator: Some(1),
            function: "MPI_Reduce".to_owned(),
            site: None,
            bucket: bucket(4096),
            datatype: Some("real".to_owned()),
            operator: Some("MPI_SUM".to_owned()),
            calls: 3,
            seconds: 0.1,
            shortest: 1e-9,
            longest: 0.05,
            bytes: 12288,
            requests: 0,
        });
        let text = serde_json::to_string(&line).unwrap();
        assert!(text.starts_with(r#"{"line":"calls","#), "{text}");
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
    }
}
