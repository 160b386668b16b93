//! Items of a plan that measure the overlap of communication and computation.
//!
//! After Denis, Trahay: MPI Overlap: Benchmark and Analysis (ICPP 2016, doi:10.1109/ICPP.2016.37). A cell of a map is one block whose
//! items are the parts of one benchmark at one size and one computation time, their repetitions interleaved, so that a machine that
//! changes its speed changes all of them. Times are those of rank 0.

use serde::{Deserialize, Serialize};

/// Measurement of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overlap {
    /// The communication beside the computation.
    pub benchmark: Benchmark,
    /// The one of the benchmark's times that is taken.
    pub part: Part,
    /// Duration of the computation by itself, in nanoseconds of an undisturbed core.
    pub computation_ns: u64,
    /// Kind of computation.
    pub model: Model,
    /// Threads that compute: beside the communicating one for [`Benchmark::ThreadLoad`], else 1.
    pub threads: u32,
    /// Non-blocking operations that are under way at once, 1 but where the benchmark is about that.
    pub requests: u32,
}

/// The communication beside the computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Benchmark {
    /// Rank 0: `Isend`, computation, `Wait`, and an acknowledgement of zero bytes.
    Sender,
    /// Rank 0: zero bytes that clear the sender, `Irecv`, computation, `Wait`.
    Receiver,
    /// Both ranks: `Isend`, computation, `Wait`, then `Irecv`, computation, `Wait`; half the time.
    BothSides,
    /// [`Benchmark::Sender`] with a vector of 32 characters at a stride of 64.
    NonContiguous,
    /// Rank 0: `Isend`, computation, `Wait`, no acknowledgement; communication is a blocking `Send`.
    CpuOverhead,
    /// Blocking round trips while threads compute; half the time.
    ThreadLoad,
    /// [`Benchmark::Sender`] with the bytes divided over several requests to one peer.
    ManyRequests,
    /// [`Benchmark::Sender`] with the bytes divided over requests to all other ranks.
    ManyPeers,
    /// All ranks: `Ibcast` from rank 0, computation, `Wait`.
    Ibcast,
    /// All ranks: `Iallreduce`, computation, `Wait`.
    Iallreduce,
    /// All ranks: `Iallgather`, computation, `Wait`.
    Iallgather,
    /// All ranks: `Ialltoall`, computation, `Wait`.
    Ialltoall,
}

impl Benchmark {
    /// All benchmarks: first the six of the paper.
    pub const ALL: [Benchmark; 12] = [
        Benchmark::Sender,
        Benchmark::Receiver,
        Benchmark::BothSides,
        Benchmark::NonContiguous,
        Benchmark::CpuOverhead,
        Benchmark::ThreadLoad,
        Benchmark::ManyRequests,
        Benchmark::ManyPeers,
        Benchmark::Ibcast,
        Benchmark::Iallreduce,
        Benchmark::Iallgather,
        Benchmark::Ialltoall,
    ];

    /// The word in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Benchmark::Sender => "sender",
            Benchmark::Receiver => "receiver",
            Benchmark::BothSides => "both-sides",
            Benchmark::NonContiguous => "non-contiguous",
            Benchmark::CpuOverhead => "cpu-overhead",
            Benchmark::ThreadLoad => "thread-load",
            Benchmark::ManyRequests => "many-requests",
            Benchmark::ManyPeers => "many-peers",
            Benchmark::Ibcast => "ibcast",
            Benchmark::Iallreduce => "iallreduce",
            Benchmark::Iallgather => "iallgather",
            Benchmark::Ialltoall => "ialltoall",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Benchmark> {
        Benchmark::ALL.into_iter().find(|benchmark| benchmark.name() == name)
    }

    /// True if all ranks take part, rather than two.
    #[must_use]
    pub const fn is_of_all_ranks(self) -> bool {
        matches!(
            self,
            Benchmark::ManyPeers
                | Benchmark::Ibcast
                | Benchmark::Iallreduce
                | Benchmark::Iallgather
                | Benchmark::Ialltoall
        )
    }
}

/// The one of a benchmark's times that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Half a round trip of zero bytes, the term that the benchmark's acknowledgement adds.
    Latency,
    /// The benchmark's sequence without computation, latency included where [`Part::Overlapped`] includes it.
    Communication,
    /// The computation, nothing being under way.
    Computation,
    /// The whole sequence.
    Overlapped,
}

/// Kind of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// A fixed amount of work, calibrated before `MPI_Init`: stolen cycles make it longer.
    #[default]
    FixedWork,
    /// Spinning until the clock says so, as the paper does: stolen cycles do not show.
    ClockSpin,
}
