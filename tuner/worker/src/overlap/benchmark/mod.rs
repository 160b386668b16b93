//! The benchmarks: a file and a row each.
//!
//! Rank 0 runs `lead`, which is timed; the others run `follow`, which begins with saying that they are ready. So the *receiver is always ready
//! first*, by zero bytes that it sends before it begins to receive (or after, where that can be without waiting), and not by a barrier, which
//! does not tell who leaves it first (section III-A of the paper).

mod both_sides;
mod cpu_overhead;
mod iallgather;
mod iallreduce;
mod ialltoall;
mod ibcast;
mod many_peers;
mod many_requests;
mod non_contiguous;
mod receiver;
mod sender;
mod thread_load;

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MpiError};
use kilter_protocol::overlap::Benchmark;
use mpi::ffi::MPI_Request;

use super::calls::Started;
use super::flow::{Extent, Flow};
use super::messages::Form;
use super::operands::Operands;
use super::round::Round;
use crate::reason::NoOverlap;

/// A benchmark.
#[derive(Debug)]
pub(super) struct Row {
    /// The benchmark.
    pub(super) benchmark: Benchmark,
    /// Sequences of which one is reported: a round trip is halved.
    pub(super) sequences: u32,
    /// True if the other ranks compute as well.
    pub(super) all_compute: bool,
    /// Its communication.
    pub(super) how: How,
}

/// Communication of a benchmark.
#[derive(Debug)]
pub(super) enum How {
    /// Messages between ranks.
    Messages {
        /// Memory layout of their data.
        form: Form,
        /// Messages by sender and receiver.
        flows: fn(Extent) -> Vec<Flow>,
        /// Timed sequence of rank 0.
        lead: fn(Round<'_>) -> Result<(), MpiError>,
        /// Sequence of the other ranks that have messages.
        follow: fn(Round<'_>) -> Result<(), MpiError>,
    },
    /// A non-blocking collective of all ranks.
    Collective {
        /// Collective with the same data movement.
        collective: Collective,
        /// Starts it.
        start: Start,
    },
}

/// Starts a non-blocking collective on this rank.
type Start = fn(&Operands) -> Result<Started<'_>, MpiError>;

impl Row {
    /// A non-blocking collective, beside which all ranks compute.
    const fn of_all_ranks(benchmark: Benchmark, collective: Collective, start: Start) -> Row {
        Row {
            benchmark,
            sequences: 1,
            all_compute: true,
            how: How::Collective { collective, start },
        }
    }
}

/// An MPI function that starts a collective on a block for each rank.
type OnBlocks = unsafe extern "C" fn(
    *const c_void,
    c_int,
    MPI_Datatype,
    *mut c_void,
    c_int,
    MPI_Datatype,
    MPI_Comm,
    *mut MPI_Request,
) -> c_int;

/// Starts `function`, whose name is `name`, with as many elements in each block that goes out as in each that comes in.
///
/// # Safety
/// The function is one of MPI's, and all ranks call this with the same one.
unsafe fn start_on_blocks<'b>(
    name: &'static str,
    function: OnBlocks,
    on: &'b Operands,
) -> Result<Started<'b>, MpiError> {
    let (count, datatype) = (on.count, on.datatype);
    // SAFETY: the buffers are those of `on`, as long as its counts say; they live as long as it is borrowed, and nobody uses them
    // before the operation is complete. All ranks make the same call.
    unsafe {
        Started::new(name, |request| {
            function(on.send(), count, datatype, on.recv(), count, datatype, on.comm, request)
        })
    }
}

/// Every benchmark, in the order of [`Benchmark::ALL`].
static TABLE: [&Row; 12] = [
    &sender::ROW,
    &receiver::ROW,
    &both_sides::ROW,
    &non_contiguous::ROW,
    &cpu_overhead::ROW,
    &thread_load::ROW,
    &many_requests::ROW,
    &many_peers::ROW,
    &ibcast::ROW,
    &iallreduce::ROW,
    &iallgather::ROW,
    &ialltoall::ROW,
];

/// The row of a benchmark.
pub(super) fn row(benchmark: Benchmark) -> Result<&'static Row, NoOverlap> {
    let row = TABLE.iter().copied().find(|row| row.benchmark == benchmark);
    row.ok_or(NoOverlap::UnknownBenchmark(benchmark.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_has_a_row_and_every_file_too() {
        assert_eq!(TABLE.map(|row| row.benchmark), Benchmark::ALL);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/overlap/benchmark");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().replace('_', "-");
            assert!(
                stem == "mod" || Benchmark::find(&stem).is_some_and(|benchmark| row(benchmark).is_ok()),
                "{stem} has no row"
            );
        }
    }

    #[test]
    fn what_moves_is_between_rank_0_and_the_ranks_that_take_part() {
        for row in TABLE {
            let How::Messages { flows, .. } = row.how else {
                assert!(row.benchmark.is_of_all_ranks() && row.all_compute && row.sequences == 1);
                continue;
            };
            for (p_ranks, requests) in [(2, 1), (2, 5), (5, 1), (5, 9)] {
                let extent = Extent {
                    bytes: 1000,
                    p_ranks,
                    requests,
                };
                let flows = flows(extent);
                // Data that rank 0 gives, and data that it gets.
                for direction in [|flow: &Flow| (flow.from, flow.to), |flow: &Flow| (flow.to, flow.from)] {
                    let moved: Vec<&Flow> = flows.iter().filter(|flow| direction(flow).0 == 0).collect();
                    assert!(moved.is_empty() || moved.iter().map(|flow| flow.bytes).sum::<usize>() == 1000);
                    for flow in moved {
                        let peer = direction(flow).1;
                        assert!(peer == p_ranks - 1 || (peer > 0 && row.benchmark.is_of_all_ranks()));
                    }
                }
                assert!(flows.iter().all(|flow| (flow.from == 0) != (flow.to == 0)));
            }
        }
    }

    #[test]
    fn several_requests_are_made_where_the_benchmark_is_about_them() {
        let flows = |benchmark, p_ranks, requests| match row(benchmark).unwrap().how {
            How::Messages { flows, .. } => flows(Extent {
                bytes: 1000,
                p_ranks,
                requests,
            }),
            How::Collective { .. } => Vec::new(),
        };
        assert_eq!(flows(Benchmark::ManyRequests, 4, 9).len(), 9);
        assert!(flows(Benchmark::ManyRequests, 4, 9).iter().all(|flow| flow.to == 3));
        for (requests, made) in [(1, 3), (3, 3), (7, 7)] {
            let flows = flows(Benchmark::ManyPeers, 4, requests);
            assert_eq!(flows.len(), made);
            assert!((1..4).all(|peer| flows.iter().any(|flow| flow.to == peer)));
        }
    }
}
