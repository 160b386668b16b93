//! Findings: collectives that messages amount to, with their evidence.

use std::collections::BTreeMap;
use std::fmt;

use kilter_protocol::functions::Function;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::proof::Proof;

/// Answer to a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Detection {
    /// Findings, the most seconds first.
    pub findings: Vec<Finding>,
    /// Candidates that were not reported, counted by reason.
    pub filtered: BTreeMap<Reason, u64>,
    /// Events that fit nothing in the trace, counted.
    pub doubts: Doubts,
}

/// Events that could not be used as they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubts {
    /// Messages that were matched.
    pub matched: u64,
    /// Sends without a receive.
    pub sends_unmatched: u64,
    /// Receives without a send.
    pub receives_unmatched: u64,
    /// Matched messages whose data differ at the ends, or have no possible length; their data are not followed.
    pub data_differ: u64,
    /// Events that name a rank or a communicator that the trace does not have.
    pub impossible: u64,
}

/// Collective that a group of messages amounts to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its name.
    pub collective: Collective,
    /// Index of the communicator.
    pub communicator: u32,
    /// Ranks of the communicator that take part.
    pub ranks: Vec<u32>,
    /// True if these are a part of the communicator.
    pub is_subset: bool,
    /// Ranks of the communicator that a complete collective would need and that do not take part.
    pub missing: Vec<u32>,
    /// Root, of collectives that have one.
    pub root: Root,
    /// Operators of a reduction that all values allow, such as `MPI_SUM`; none for other collectives.
    pub operators: Vec<String>,
    /// Indexes of the call sites of all participants.
    pub sites: Vec<u32>,
    /// Occurrences.
    pub instances: Vec<Instance>,
    /// Bytes that an instance moves, as its collective counts them: the whole data of a root, or the block of a rank; the median.
    pub bytes: u64,
    /// Seconds from the first entry to the last exit; the sum over the instances.
    pub seconds: f64,
    /// Grade.
    pub confidence: Confidence,
    /// Grounds of the grade, one a line.
    pub why: Vec<String>,
    /// Proposal.
    pub replacement: Replacement,
    /// Times of its messages beside those of replacements, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

impl Finding {
    /// True if its blocks differ in length, or lie apart: the proposal is a function such as `MPI_Gatherv`.
    #[must_use]
    pub fn varies(&self) -> bool {
        let (Replacement::Blocking(function)
        | Replacement::NonBlocking(function)
        | Replacement::Deadlock { function, .. }) = &self.replacement;
        Function::named(function).is_some_and(Function::varies)
    }
}

/// Occurrence of a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    /// First entry.
    pub begin_ns: u64,
    /// Last exit.
    pub end_ns: u64,
    /// Root, of collectives that have one.
    pub root: Option<u32>,
    /// Bytes, as in [`Finding::bytes`].
    pub bytes: u64,
    /// Messages.
    pub messages: Vec<Sent>,
}

impl Instance {
    /// Seconds from the first entry to the last exit.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 * 1e-9
    }
}

/// Message of an instance. Ranks are those of the communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Length.
    pub bytes: u64,
    /// Beginning of the send.
    pub sent_ns: u64,
    /// End of the receive.
    pub received_ns: u64,
    /// Index of the send among the events of its rank.
    pub send_event: u32,
    /// Index of the receive among the events of its rank.
    pub receive_event: u32,
}

/// Root of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Root {
    /// The collective has none.
    None,
    /// The same rank in all instances.
    One(u32),
    /// Ranks of which each may be the root.
    Either(Vec<u32>),
    /// It differs from instance to instance.
    Varies,
}

/// Collectives that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Collective {
    Broadcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Barrier,
    Reduce,
    Allreduce,
    Scan,
}

impl Collective {
    /// True if it combines data with an operator.
    #[must_use]
    pub fn combines(self) -> bool {
        matches!(self, Self::Reduce | Self::Allreduce | Self::Scan)
    }

    /// Function of MPI without its prefix; `varied` if its blocks differ in length.
    #[must_use]
    pub fn function(self, varied: bool) -> &'static str {
        match (self, varied) {
            (Self::Broadcast, _) => "Bcast",
            (Self::Gather, false) => "Gather",
            (Self::Gather, true) => "Gatherv",
            (Self::Scatter, false) => "Scatter",
            (Self::Scatter, true) => "Scatterv",
            (Self::Allgather, false) => "Allgather",
            (Self::Allgather, true) => "Allgatherv",
            (Self::Alltoall, false) => "Alltoall",
            (Self::Alltoall, true) => "Alltoallv",
            (Self::Barrier, _) => "Barrier",
            (Self::Reduce, _) => "Reduce",
            (Self::Allreduce, _) => "Allreduce",
            (Self::Scan, _) => "Scan",
        }
    }
}

/// Grades of a finding, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Confidence {
    /// The messages have the form of the collective; the data do not speak against it.
    Possible,
    /// The data show it, but for a part that no message carries.
    Likely,
    /// The data show it.
    Certain,
}

/// Proposal for a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Replacement {
    /// The blocking collective, such as `MPI_Bcast`.
    Blocking(String),
    /// The non-blocking collective, such as `MPI_Ibcast`: the program polls for the messages and works meanwhile.
    NonBlocking(String),
    /// A blocking collective would wait for itself.
    Deadlock {
        /// The function that must not replace the messages as they stand.
        function: String,
        /// Steps of the circle: each happens before the next one, the last before the first.
        cycle: Vec<Step>,
    },
}

/// Step of a circle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Step {
    /// An instance of the finding, by index: the collective that would be called.
    Collective(usize),
    /// A call of the program.
    Call {
        /// Rank of the world.
        rank: u32,
        /// Index of the rank's event.
        event: usize,
        /// Index of the call site.
        site: u32,
    },
}

/// Reasons why a candidate is not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Reason {
    /// All bytes of the data are equal: equal data need not be the same data.
    LowEntropy,
    /// Several ranks have the data from the beginning, and none of them brings it to all others.
    SeveralRoots,
    /// Instances interleave on a rank.
    OverlappingEpochs,
    /// Ranks take part in different numbers of instances.
    UnequalCounts,
    /// The group has fewer than three ranks.
    TooFewRanks,
    /// A set of ranks smaller than the communicator does not recur.
    SubsetOnce,
    /// Sets of ranks overlap as those of neighbours do.
    Neighbourhoods,
    /// Data go from one rank through another to a third, which need not be for the second.
    PassedOn,
    /// Blocks are received into, or sent from, the same memory, one after the other.
    BufferReused,
    /// Blocks lie apart at the root in no order, fewer than three times.
    NoOrder,
    /// No payload shows that anything was computed from what was received.
    NoArithmetic,
    /// A pair of ranks exchanges several messages within what would be one instance.
    RepeatedPairs,
    /// The data are cut into more pieces than are followed.
    TooManyPieces,
    /// Other data are equal, or are explained by arithmetic, as often without a collective.
    Chance,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LowEntropy => "data of equal bytes",
            Self::SeveralRoots => "several ranks have the data from the beginning",
            Self::OverlappingEpochs => "instances interleave",
            Self::UnequalCounts => "ranks take part in different numbers",
            Self::TooFewRanks => "fewer than three ranks",
            Self::SubsetOnce => "a part of the ranks that does not recur",
            Self::Neighbourhoods => "sets of neighbours",
            Self::PassedOn => "data that pass through a rank",
            Self::BufferReused => "blocks share their memory",
            Self::NoOrder => "blocks lie in no order",
            Self::NoArithmetic => "no arithmetic is seen",
            Self::RepeatedPairs => "a pair of ranks exchanges several messages",
            Self::TooManyPieces => "too many pieces",
            Self::Chance => "equal, or explained, by chance",
        })
    }
}
