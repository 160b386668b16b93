//! A case with its data: the inputs, and the outputs that must come out.

use std::hint::black_box;
use std::sync::Once;

use kilter_algorithms::reference::Elements;
use kilter_algorithms::threads::{Network, Outcome, ThreadTransport, run, run_each};
use kilter_algorithms::{Collective, Transport, TransportError};

use super::content::MadeOnce;
use super::failing::Failing;
use super::{Case, races};

/// The byte that fills outputs before a call.
const UNTOUCHED: u8 = 0xa5;

/// Lets the allocator keep memory that is freed. glibc gives it back to the system where more than 128 KiB are free in a row, and takes twice the length of
/// the longest piece that was ever freed for that limit (`mallopt(3)`): the megabytes of each group of cases would cost a page fault for each page once
/// more.
fn keep_memory() {
    static ONCE: Once = Once::new();
    // The longest piece that raises the limit has 32 MiB.
    ONCE.call_once(|| drop(black_box(Vec::<u8>::with_capacity(31 << 20))));
}

/// A case, the data that each rank gives, and each rank's output after the call: its result, and unchanged bytes where the collective
/// defines no result.
pub(crate) struct Prepared<'c> {
    pub(crate) case: &'c Case,
    /// A broadcast's data lies in the root's output before the call.
    inputs: Vec<Vec<u8>>,
    pub(crate) expected: Vec<Vec<u8>>,
}

impl Case {
    pub(crate) fn prepared(&self) -> Prepared<'_> {
        keep_memory();
        let call = self.call_of_reference();
        let content = MadeOnce(Elements {
            operator: self.op,
            bytes: self.element_bytes,
        });
        let expected = |rank| {
            let mut output = call.delivered(&content, rank);
            output.resize(call.room(rank) * self.element_bytes, UNTOUCHED);
            output
        };
        let expected = (0..self.p).map(expected).collect();
        Prepared {
            case: self,
            inputs: (0..self.p).map(|rank| call.given(&content, rank)).collect(),
            expected,
        }
    }

    /// Runs the case and compares with the reference; panics with what reproduces it.
    pub(crate) fn check(&self, network: Network) -> Outcome<Vec<u8>> {
        let prepared = self.prepared();
        let outcome = prepared.run(network);
        prepared.compare(&outcome);
        outcome
    }
}

impl Prepared<'_> {
    /// Compares what came out with the reference; panics with what reproduces it.
    pub(crate) fn compare(&self, outcome: &Outcome<Vec<u8>>) {
        let case = self.case;
        let failures: Vec<String> = outcome
            .ranks
            .iter()
            .zip(&self.expected)
            .enumerate()
            .filter_map(|(rank, (outcome, expected))| match &outcome.result {
                Err(error) => Some(format!("rank {rank}: {error}")),
                Ok(output) => (output.iter().zip(expected).position(|(got, wanted)| got != wanted))
                    .map(|byte| format!("rank {rank}: byte {byte} of {} is the first wrong one", expected.len())),
            })
            .collect();
        assert!(failures.is_empty(), "{}\nin {case}", failures.join("\n"));
        for (rank, outcome) in outcome.ranks.iter().enumerate() {
            let open = (outcome.statistics.requests_open, outcome.statistics.scratch_open);
            assert_eq!(
                open,
                (0, 0),
                "rank {rank}: requests and scratch buffers left open\nin {case}"
            );
        }
        assert_eq!(outcome.undelivered, 0, "messages that nobody received\nin {case}");
    }

    /// One call on every rank.
    pub(crate) fn run(&self, network: Network) -> Outcome<Vec<u8>> {
        self.run_by(network, |transport| self.call(transport))
    }

    /// The ranks' own ways to make the call.
    pub(crate) fn run_by<R: Send>(
        &self,
        network: Network,
        body: impl Fn(&mut ThreadTransport<'_>) -> Result<R, TransportError> + Sync,
    ) -> Outcome<R> {
        run(self.case.p, &self.case.config(network), body)
    }

    /// The same several times, by number, on ranks that are started once, and race if the case's do.
    pub(crate) fn run_each_by<R: Send>(
        &self,
        count: usize,
        body: impl Fn(usize, &mut ThreadTransport<'_>) -> Result<R, TransportError> + Sync,
    ) -> Vec<Outcome<R>> {
        let (config, _turn) = races::config(self.case, Network::FREE);
        run_each(self.case.p, count, &config, body)
    }

    /// One rank's call, and its output.
    pub(crate) fn call(&self, transport: &mut ThreadTransport<'_>) -> Result<Vec<u8>, TransportError> {
        self.call_over(&mut Failing::never(transport))
    }

    /// The same over a transport that may fail.
    pub(crate) fn call_over(&self, transport: &mut Failing<'_, '_>) -> Result<Vec<u8>, TransportError> {
        let rank = transport.rank();
        let mut output = self.output(rank);
        self.case.call(transport, &self.inputs[rank], &mut output)?;
        Ok(output)
    }

    /// A rank's output before the call: a pattern that no result has by chance, or a broadcast's data.
    fn output(&self, rank: usize) -> Vec<u8> {
        let expected = &self.expected[rank];
        if self.case.algorithm.collective == Collective::Bcast && rank == self.case.root {
            expected.clone()
        } else {
            vec![UNTOUCHED; expected.len()]
        }
    }
}
