//! Steps of each rank of a row, recorded without other ranks: schedules do not depend on data, so that a rank can be run alone on a transport that
//! delivers nothing.

use std::sync::Arc;

use kilter_algorithms::threads::Arena;
use kilter_algorithms::{Algorithm, Arguments, Nodes, Shape, Transport, TransportError, registry};

/// A step of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Hands a message over.
    Send { to: usize, bytes: usize },
    /// Waits until the message of this number to a rank may be forgotten, the first one being 0.
    Sent { to: usize, number: usize },
    /// Posts the receive of the message of this number from a rank.
    Post { from: usize, number: usize },
    /// Waits for the message of this number from a rank.
    Receive { from: usize, number: usize },
    /// Combines data.
    Combine { bytes: usize },
}

/// Schedules of more messages at either end, and combinations, are not recorded: their times would take seconds to find.
const MOST_STEPS: usize = 60_000;

/// Steps of all ranks of a call with root 0. `None` if the row does not run there, exchanges lengths, or has too many steps.
pub(super) fn record(row: &Algorithm, parameters: &[u64], nodes: &Arc<Nodes>, bytes: u64) -> Option<Vec<Vec<Step>>> {
    let collective = row.collective;
    let ranks: usize = (0..nodes.count()).map(|node| nodes.members(node).len()).sum();
    let is_given = parameters.len() == row.parameters.len();
    if collective.has_counts() || !is_given || row.unmet(ranks, true, nodes.count() == 1).is_some() {
        return None;
    }
    let n_bytes = usize::try_from(bytes).ok()?;
    let n_bytes = if collective.has_blocks() {
        n_bytes.next_multiple_of(ranks)
    } else {
        n_bytes
    };
    let is_bcast = matches!(
        (collective.input(), collective.output()),
        (Shape::AtRoot, Shape::Everywhere)
    );
    let given = vec![0; n_bytes];
    let mut taken = vec![0; n_bytes];
    let mut arena = Arena::default();
    let (mut steps, mut left) = (Vec::with_capacity(ranks), MOST_STEPS);
    for rank in 0..ranks {
        let mut recorder = Recorder {
            rank,
            ranks,
            nodes,
            arena: &mut arena,
            sent: vec![0; ranks],
            received: vec![0; ranks],
            steps: Vec::new(),
            left,
        };
        let length = |shape: Shape| match shape {
            Shape::Nothing => 0,
            Shape::AtRoot if rank > 0 => 0,
            Shape::Blocks => n_bytes / ranks,
            _ => n_bytes,
        };
        let input = if is_bcast { 0 } else { length(collective.input()) };
        let arguments = Arguments {
            input: &given[..input],
            output: &mut taken[..length(collective.output())],
            input_blocks: &[],
            output_blocks: &[],
            root: 0,
            parameters,
        };
        registry::run(row, &mut recorder, arguments).ok()?;
        left = recorder.left;
        steps.push(recorder.steps);
    }
    Some(steps)
}

/// One rank, alone.
struct Recorder<'a> {
    rank: usize,
    ranks: usize,
    nodes: &'a Arc<Nodes>,
    arena: &'a mut Arena,
    /// Messages that were handed over, by receiver.
    sent: Vec<usize>,
    /// Receives that were posted, by sender.
    received: Vec<usize>,
    steps: Vec<Step>,
    /// Messages and combinations for which there is room.
    left: usize,
}

impl Recorder<'_> {
    /// A message at one end, or a combination.
    fn add(&mut self, step: Step) -> Result<(), TransportError> {
        // Any error ends the recording.
        self.left = self.left.checked_sub(1).ok_or(TransportError::NoMemory { bytes: 0 })?;
        self.steps.push(step);
        Ok(())
    }

    /// Hands a message over: the step that completes it.
    fn hand_over(&mut self, to: usize, bytes: usize) -> Result<Step, TransportError> {
        self.add(Step::Send { to, bytes })?;
        let number = self.sent[to];
        self.sent[to] += 1;
        Ok(Step::Sent { to, number })
    }

    /// Posts a receive: the step that completes it.
    fn post(&mut self, from: usize) -> Result<Step, TransportError> {
        let number = self.received[from];
        self.received[from] += 1;
        self.add(Step::Post { from, number })?;
        Ok(Step::Receive { from, number })
    }
}

impl Transport for Recorder<'_> {
    /// The step that completes it.
    type Request<'b> = Step;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.ranks
    }

    fn nodes(&mut self) -> Result<Arc<Nodes>, TransportError> {
        Ok(Arc::clone(self.nodes))
    }

    fn element_bytes(&self) -> usize {
        1
    }

    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError> {
        let sent = self.hand_over(to, data.len())?;
        self.wait(sent)
    }

    fn recv(&mut self, from: usize, _: &mut [u8]) -> Result<(), TransportError> {
        let received = self.post(from)?;
        self.wait(received)
    }

    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, _: &mut [u8]) -> Result<(), TransportError> {
        let received = self.post(from)?;
        let sent = self.hand_over(to, send.len())?;
        self.wait(sent)?;
        self.wait(received)
    }

    // Both are safe whatever the caller does: no buffer is kept.

    unsafe fn isend(&mut self, to: usize, data: &[u8]) -> Result<Step, TransportError> {
        self.hand_over(to, data.len())
    }

    unsafe fn irecv(&mut self, from: usize, _: &mut [u8]) -> Result<Step, TransportError> {
        self.post(from)
    }

    fn wait(&mut self, request: Step) -> Result<(), TransportError> {
        self.steps.push(request);
        Ok(())
    }

    fn reduce_local(&mut self, input: &[u8], _: &mut [u8]) -> Result<(), TransportError> {
        let bytes = input.len();
        self.add(Step::Combine { bytes })
    }

    fn copy(&mut self, _: &[u8], _: &mut [u8]) {}

    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        self.arena.take(bytes)
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.arena.give(scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(id: &str, ranks: usize, bytes: u64) -> Option<Vec<Vec<Step>>> {
        let row = registry::find(id).unwrap();
        record(
            row,
            &row.default_parameters(),
            &Arc::new(Nodes::each_alone(ranks)),
            bytes,
        )
    }

    #[test]
    fn a_rank_that_runs_alone_shows_its_part_of_the_schedule() {
        let send = |to| vec![Step::Send { to, bytes: 8 }, Step::Sent { to, number: 0 }];
        let first = |from| vec![Step::Post { from, number: 0 }, Step::Receive { from, number: 0 }];
        // The tree of the row's page, for five ranks.
        let tree = recorded("bcast.binomial", 5, 8).unwrap();
        let expected = [
            [send(4), send(2), send(1)].concat(),
            first(0),
            [first(0), send(3)].concat(),
            first(2),
            first(0),
        ];
        assert_eq!(tree, expected);
    }

    #[test]
    fn every_message_of_every_row_is_sent_and_received_once() {
        for row in registry::algorithms().filter(|row| !row.collective.has_counts()) {
            let Some(steps) = recorded(row.id, 6, 48) else {
                assert!(row.unmet(6, true, false).is_some(), "{}", row.id);
                continue;
            };
            let mut balance = vec![[0_i64; 6]; 6];
            for (rank, steps) in steps.iter().enumerate() {
                for step in steps {
                    match step {
                        Step::Send { to, .. } => balance[rank][*to] += 1,
                        Step::Receive { from, .. } => balance[*from][rank] -= 1,
                        Step::Sent { .. } | Step::Post { .. } | Step::Combine { .. } => {}
                    }
                }
            }
            assert!(balance.iter().flatten().all(|left| *left == 0), "{}", row.id);
        }
    }

    #[test]
    fn lengths_that_are_exchanged_and_schedules_without_end_are_not_recorded() {
        assert!(recorded("gatherv.binomial", 4, 64).is_none());
        assert!(recorded("allreduce.direct", 200, 200).is_none());
    }
}
