//! A layer below that fails, at every operation of every rank in turn: the error comes out, no request is left behind,
//! nobody hangs.

use std::ops::Range;

use kilter_algorithms::shared_memory::Event;
use kilter_algorithms::threads::{Network, RankError, ThreadRequest, ThreadTransport};
use kilter_algorithms::{SharedMemory, Transport, TransportError, registry};

use crate::common::prepared::Prepared;
use crate::common::{Case, Place};

/// A transport whose operation of this number fails, and all after it that communicate, except waiting for what is
/// under way.
struct Failing<'t, 'a> {
    inner: &'t mut ThreadTransport<'a>,
    left: usize,
}

/// Runs for which ranks are started once.
const RUNS: usize = 64;

const FAULT: TransportError = TransportError::Library {
    operation: "PMPI_Test",
    peer: 0,
    code: 16,
};

impl Failing<'_, '_> {
    fn count(&mut self) -> Result<(), TransportError> {
        self.left = self.left.checked_sub(1).ok_or(FAULT)?;
        Ok(())
    }
}

impl<'a> Transport for Failing<'_, 'a> {
    type Request<'b> = <ThreadTransport<'a> as Transport>::Request<'b>;

    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn nodes(&mut self) -> Result<std::sync::Arc<kilter_algorithms::Nodes>, TransportError> {
        self.count()?;
        self.inner.nodes()
    }

    fn element_bytes(&self) -> usize {
        self.inner.element_bytes()
    }

    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.send(to, data)
    }

    fn recv(&mut self, from: usize, data: &mut [u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.recv(from, data)
    }

    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.sendrecv(to, send, from, recv)
    }

    unsafe fn isend<'b>(&mut self, to: usize, data: &'b [u8]) -> Result<ThreadRequest<'b>, TransportError> {
        self.count()?;
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.inner.isend(to, data) }
    }

    unsafe fn irecv<'b>(&mut self, from: usize, data: &'b mut [u8]) -> Result<ThreadRequest<'b>, TransportError> {
        self.count()?;
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.inner.irecv(from, data) }
    }

    fn wait(&mut self, request: ThreadRequest<'_>) -> Result<(), TransportError> {
        // A request is done for, whether or not it succeeds.
        let waited = self.inner.wait(request);
        self.count().and(waited)
    }

    fn reduce_local(&mut self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
        self.count()?;
        self.inner.reduce_local(input, inout)
    }

    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        self.count()?;
        self.inner.take_scratch(bytes)
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.inner.give_scratch(scratch);
    }

    fn take_shared(&mut self, piece_bytes: usize) -> Result<Box<SharedMemory>, TransportError> {
        self.count()?;
        self.inner.take_shared(piece_bytes)
    }

    fn give_shared(&mut self, memory: Box<SharedMemory>) {
        self.inner.give_shared(memory);
    }

    // The number of unsuccessful polls is random, so polls are not counted.
    fn relax(&mut self, rank: usize) -> Result<(), TransportError> {
        self.inner.relax(rank)
    }

    fn observe(&mut self, event: Event) {
        self.inner.observe(event);
    }
}

/// Operations of each rank in a call that nothing disturbs.
fn operations(prepared: &Prepared<'_>) -> Vec<usize> {
    let counted = prepared.run_by(Network::FREE, |transport| {
        let mut counting = Failing {
            inner: transport,
            left: usize::MAX,
        };
        prepared.call(&mut counting)?;
        Ok(usize::MAX - counting.left)
    });
    let counted = counted.results();
    counted.unwrap_or_else(|(rank, error)| panic!("rank {rank}: {error}\nin {}", prepared.case))
}

/// Runs the case with the fault on rank `failing` after so many operations, one run for each number. It has to strike before the last of `all`
/// operations and not behind.
fn inject(prepared: &Prepared<'_>, failing: usize, after: Range<usize>, all: usize) {
    let Prepared { case, expected, .. } = prepared;
    let outcomes = prepared.run_each_by(after.len(), |number, transport| {
        let rank = transport.rank();
        let left = if rank == failing {
            after.start + number
        } else {
            usize::MAX
        };
        let result = prepared.call(&mut Failing { inner: transport, left });
        assert_eq!(
            transport.statistics().requests_open,
            0,
            "rank {rank} left requests open"
        );
        result
    });
    for (operations, outcome) in after.zip(outcomes) {
        let at = format!("fault on rank {failing} after {operations} of {all} operations\nin {case}");
        let struck = outcome.ranks[failing].result == Err(FAULT.into());
        assert_eq!(struck, operations < all, "{at}");
        for (rank, outcome) in outcome.ranks.iter().enumerate() {
            match &outcome.result {
                Ok(output) => assert!(*output == expected[rank], "rank {rank} has a wrong result; {at}"),
                Err(RankError::Transport(error)) if rank == failing => assert_eq!(*error, FAULT, "{at}"),
                Err(RankError::Transport(TransportError::PeerGone { .. } | TransportError::Deadlock { .. })) => {
                    assert!(struck, "rank {rank} failed without a fault; {at}");
                }
                Err(error) => panic!("rank {rank}: {error}; {at}"),
            }
        }
    }
}

#[test]
fn every_fault_comes_out_and_ends_the_call() {
    for algorithm in registry::algorithms() {
        for p in [2, 3, 6]
            .into_iter()
            .filter(|&p| algorithm.unmet(p, true, true).is_none())
        {
            let parameters = algorithm.parameters.iter().map(|parameter| parameter.min).collect();
            let root = if algorithm.collective.has_root() { p / 2 } else { 0 };
            // Both levels are at work, and blocks are put right.
            let place = if algorithm.id.ends_with(".two_level") {
                Place::RoundRobin(2)
            } else {
                Case::place(algorithm)
            };
            // 12 segments of the smallest size: more than can be under way.
            let case = Case {
                parameters,
                root,
                place,
                ..Case::new(algorithm.id, p, 768)
            };
            let prepared = case.prepared();
            for (failing, all) in operations(&prepared).into_iter().enumerate() {
                assert!(
                    (1..1000).contains(&all),
                    "rank {failing} does {all} operations\nin {case}"
                );
                for first in (0..=all).step_by(RUNS) {
                    inject(&prepared, failing, first..(first + RUNS).min(all + 1), all);
                }
            }
        }
    }
}
