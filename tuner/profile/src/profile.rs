//! A profile as data.

use kilter_protocol::calls::End;

use crate::split::Measured;

/// The calls of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// The command as it was typed.
    pub command: String,
    /// Exit status of the command.
    pub status: i32,
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
    /// Calls of each rank.
    pub calls: Vec<Calls>,
    /// Messages between ranks.
    pub messages: Vec<Messages>,
    /// Receives of each rank from each.
    pub received: Vec<Received>,
    /// Sampling of collective calls.
    pub sampling: Sampling,
}

impl Profile {
    /// A call site in words; `unknown` for none.
    #[must_use]
    pub fn place(&self, site: Option<usize>) -> String {
        let site = site.and_then(|site| self.sites.get(site));
        site.map_or_else(|| "unknown".to_owned(), Site::place)
    }

    /// The first thing in it that no program leaves: its file is damaged.
    #[must_use]
    pub fn objection(&self) -> Option<&'static str> {
        if self.has_impossible_times() {
            Some("times in it are negative, or no numbers")
        } else if self.is_beyond_counting() {
            Some("the counts in it are too large to be added")
        } else {
            None
        }
    }

    fn has_impossible_times(&self) -> bool {
        let calls = self.calls.iter().flat_map(|one| {
            let Measured {
                waiting,
                transfer,
                caused,
                ..
            } = one.measured;
            [one.seconds, one.shortest, one.longest, waiting, transfer, caused]
        });
        let ranks = self.ranks.iter().map(|rank| rank.seconds);
        let received = self.received.iter().map(|one| one.seconds);
        let mut all = calls.chain(ranks).chain(received);
        !all.all(|seconds| (0.0..f64::INFINITY).contains(&seconds))
    }

    fn is_beyond_counting(&self) -> bool {
        let calls = self
            .calls
            .iter()
            .flat_map(|one| [one.calls, one.measured.calls, one.measured.last]);
        let messages = self.messages.iter().map(|one| one.messages);
        let received = self.received.iter().map(|one| one.calls);
        let missing = self.ranks.iter().flat_map(|rank| {
            let End {
                lost_calls,
                lost_messages,
                lost_receives,
                failed_calls,
            } = rank.missing;
            [lost_calls, lost_messages, lost_receives, failed_calls]
        });
        let all = calls.chain(messages).chain(received).chain(missing);
        all.map(u128::from).sum::<u128>() > u128::from(u64::MAX)
    }
}

/// Sampling of collective calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sampling {
    /// One call in so many was sampled; 0 for none.
    pub interval: u32,
    /// Number of clocks: hosts of the ranks.
    pub clocks: u32,
    /// The most by which the begin of a rank can be wrong on the common clock, in nanoseconds.
    pub bound_ns: u64,
    /// Sampled calls that could not be split.
    pub unmatched: u64,
}

/// A rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its node.
    pub host: String,
    /// Seconds from `MPI_Init` to `MPI_Finalize`, or to the end of the process.
    pub seconds: f64,
    /// True if the program called `MPI_Finalize`.
    pub finalized: bool,
    /// Calls that were not counted.
    pub missing: End,
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// Name: the same on all ranks and in every run of the same program on as many ranks.
    pub name: String,
    /// Name that the program gave it; empty if it gave none.
    pub label: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Nodes of these ranks; 0 if not all of them left a file.
    pub nodes: u32,
    /// Ranks on the node that has most of them; 0 if not all of them left a file.
    pub ranks_per_node: u32,
}

/// A call site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// File of the program or library; empty if it is not known.
    pub module: String,
    /// Offset of the return address in it.
    pub offset: u64,
    /// Nearest symbol that the module exports.
    pub symbol: String,
    /// Function and line of the source; empty if they are not known.
    pub source: String,
}

impl Site {
    /// The site in words: the line of the source if it is known, else the symbol, else the offset.
    #[must_use]
    pub fn place(&self) -> String {
        let file = self.module.rsplit('/').next().unwrap_or_default();
        match (self.source.as_str(), self.symbol.as_str()) {
            ("", "") if file.is_empty() => "unknown".to_owned(),
            ("", "") => format!("{file}+{:#x}", self.offset),
            ("", symbol) => format!("{symbol} ({file})"),
            (source, _) => source.to_owned(),
        }
    }
}

/// Calls of one kind on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Calls {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Place in [`Profile::communicators`]; none for calls without a communicator.
    pub communicator: Option<usize>,
    /// Such as `MPI_Allreduce`.
    pub function: String,
    /// Place in [`Profile::sites`]; none if it is not known.
    pub site: Option<usize>,
    /// See [`kilter_protocol::calls::bucket`].
    pub bucket: u8,
    /// Class of the datatype; empty for none.
    pub datatype: String,
    /// Operator; empty for none.
    pub operator: String,
    /// Number of calls.
    pub calls: u64,
    /// Seconds in all of them.
    pub seconds: f64,
    /// Seconds in the shortest.
    pub shortest: f64,
    /// Seconds in the longest.
    pub longest: f64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Requests of all of them.
    pub requests: u64,
    /// Waiting of those that were sampled.
    pub measured: Measured,
}

/// Calls of a rank that waited for messages of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Receiver's rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Sender's rank in `MPI_COMM_WORLD`.
    pub from: u32,
    /// Such as `MPI_Recv`.
    pub function: String,
    /// Place in [`Profile::sites`]; none if it is not known.
    pub site: Option<usize>,
    /// Number of calls.
    pub calls: u64,
    /// Seconds in all of them.
    pub seconds: f64,
    /// Bytes that came.
    pub bytes: u64,
}

/// Messages from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// Sender's rank in `MPI_COMM_WORLD`.
    pub from: u32,
    /// Receiver's rank in `MPI_COMM_WORLD`.
    pub to: u32,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}
