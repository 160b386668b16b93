//! Reasons why an item's overlap is not measured.

use std::io;

use mpi::Threading;

/// Reason why an item's overlap is not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoOverlap {
    /// The item is in a block of items that measure none.
    #[error("overlap is measured in blocks of its own")]
    OutsideItsBlock,
    /// The block has an item that measures none.
    #[error("overlap is measured in blocks of its own: this block has items of both kinds")]
    BothKinds,
    /// Computation takes no simulated time.
    #[error("not available: no simulated time passes while a rank computes; measure overlap on a machine")]
    Simulated,
    /// The benchmark needs somebody to send to.
    #[error("not available: the overlap benchmark `{benchmark}` needs 2 ranks or more, and this job has {ranks}")]
    FewRanks { benchmark: &'static str, ranks: usize },
    /// The item has a setting of its own.
    #[error("`{0}` cannot be set for an item that measures overlap: set it for the whole job")]
    Setting(String),
    /// A computation during which the job would seem dead.
    #[error("a computation of {ns} ns is longer than {most_ns} ns, the longest that is measured")]
    LongComputation { ns: u64, most_ns: u64 },
    /// A number of threads that this host does not carry.
    #[error("`{benchmark}` with {threads} threads that compute: 1 to {most} can be measured on this host")]
    Threads {
        benchmark: &'static str,
        threads: u32,
        most: u32,
    },
    /// A number of requests that the benchmark does not have.
    #[error("`{benchmark}` with {requests} requests under way: 1 to {most} can be measured")]
    Requests {
        benchmark: &'static str,
        requests: u32,
        most: u32,
    },
    /// A strided message of another length than its blocks make.
    #[error("{bytes} bytes are no whole number of blocks of {block}: measure {} or {}", bytes / block * block, bytes / block * block + block)]
    Blocks { bytes: u64, block: u64 },
    /// The worker does not know the benchmark.
    #[error("not available: this worker has no benchmark `{0}`")]
    UnknownBenchmark(&'static str),
    /// The library allows no threads beside it.
    #[error("not available: beside threads that compute MPI needs MPI_THREAD_FUNNELED, and the library provides {0:?}")]
    Threading(Threading),
    /// The system starts no more threads.
    #[error("thread {number} of {threads} cannot be started: {error}")]
    Thread {
        number: u32,
        threads: u32,
        error: io::Error,
    },
}
