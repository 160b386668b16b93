//! The buffers of a rank before and after the call of a case: the reference's data, at its places in the buffers.

use std::ops::Range;

use kilter_algorithms::reference::{Call, Content, Division, Operator};
use kilter_algorithms::{Collective, Shape};

use crate::case::Case;
use crate::elements::{Element, TYPES};
use crate::image::Placed;
use crate::operators::OPERATORS;

/// Blocks of one buffer: elements, and where they begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) counts: Vec<usize>,
    pub(crate) displacements: Vec<usize>,
}

impl Blocks {
    /// Behind each other.
    fn packed(counts: Vec<usize>) -> Blocks {
        let displacements = (0..counts.len()).map(|rank| counts[..rank].iter().sum()).collect();
        Blocks { counts, displacements }
    }

    /// In the reverse order of ranks, with an element that belongs to nobody before each.
    fn with_gaps(counts: Vec<usize>) -> Blocks {
        let p = counts.len();
        let displacements = (0..p)
            .map(|rank| counts[rank + 1..].iter().sum::<usize>() + p - rank)
            .collect();
        Blocks { counts, displacements }
    }

    /// Elements from first to last.
    fn span(&self) -> usize {
        let ends = self
            .counts
            .iter()
            .zip(&self.displacements)
            .map(|(count, at)| count + at);
        ends.max().unwrap_or(0)
    }

    /// Data from index `at` on, at its places in the buffer.
    fn placed(&self, at: usize, data: &[Element]) -> Vec<Placed> {
        let (mut list, mut begin) = (Vec::new(), 0);
        for (count, displacement) in self.counts.iter().zip(&self.displacements) {
            let (first, end) = (begin.max(at), (begin + count).min(at + data.len()));
            if first < end {
                list.push((displacement + first - begin, data[first - at..end - at].to_vec()));
            }
            begin += count;
        }
        list
    }
}

/// Buffers and counts of one rank's call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problem {
    /// Elements of the send buffer; the data in it.
    pub(crate) send_span: usize,
    pub(crate) send: Vec<Placed>,
    /// Elements of the receive buffer; its data before and after.
    pub(crate) recv_span: usize,
    pub(crate) before: Vec<Placed>,
    pub(crate) after: Vec<Placed>,
    /// Data of the receive buffer that MPI leaves undefined: index, number.
    pub(crate) open: Vec<(usize, usize)>,
    pub(crate) send_in_place: bool,
    pub(crate) recv_in_place: bool,
    /// True if the buffers mean anything on this rank.
    pub(crate) has_send: bool,
    pub(crate) has_recv: bool,
    /// Counts of one block, or of the whole.
    pub(crate) send_count: usize,
    pub(crate) recv_count: usize,
    /// Counts and displacements, for collectives whose blocks may differ.
    pub(crate) send_blocks: Blocks,
    pub(crate) recv_blocks: Blocks,
    /// Elements of the total volume where all ranks know it.
    pub(crate) volume: Option<usize>,
}

/// A length that differs from rank to rank.
fn unequal(count: usize, key: usize) -> usize {
    match key % 3 {
        0 => count,
        1 => count / 2,
        _ => count + 1,
    }
}

/// The elements that the ranks of a case give.
struct Contributions {
    fields: usize,
    operator: Operator,
}

impl Contributions {
    fn of(case: &Case) -> Contributions {
        Contributions {
            fields: TYPES[case.type_].fields.len(),
            // Data that is only moved may be anything.
            operator: case.op.map_or(Operator::WrappingSum, |op| OPERATORS[op].operator),
        }
    }
}

impl Content for Contributions {
    type Unit = Element;

    fn given(&self, rank: usize, at: Range<usize>) -> Vec<Element> {
        let element = |at| {
            let mut element = [0; 2];
            self.operator.words(rank, at, &mut element[..self.fields]);
            element
        };
        at.map(element).collect()
    }

    fn combine(&self, lower: &[Element], upper: &mut [Element]) {
        for (a, b) in lower.iter().zip(upper) {
            self.operator.combine_words(&a[..self.fields], &mut b[..self.fields]);
        }
    }
}

/// The call of a case as the reference sees it.
fn call_of(collective: Collective, case: &Case, p: usize) -> Call {
    let lengths: Vec<usize> = (0..p).map(|rank| unequal(case.count, rank)).collect();
    let pair = |from: usize, to: usize| {
        // In place, what two ranks exchange must be equally long.
        let key = if case.in_place { from + to } else { 2 * from + to };
        unequal(case.count, key)
    };
    let (volume, division) = match collective {
        Collective::Barrier => (0, Division::Equal),
        Collective::Alltoallv => {
            let pairs = (0..p).map(|from| (0..p).map(|to| pair(from, to)).collect());
            (0, Division::Pairs(pairs.collect()))
        }
        _ if collective.has_counts() => (lengths.iter().sum(), Division::Listed(lengths)),
        _ if collective.has_blocks() => (case.count * p, Division::Equal),
        _ => (case.count, Division::Equal),
    };
    Call {
        in_place: case.in_place,
        ..Call::new(collective, p, case.root, volume, division)
    }
}

/// The blocks that a send and a receive buffer of the rank consist of; none where a buffer is one piece.
fn blocks_of(call: &Call, rank: usize) -> [Option<Blocks>; 2] {
    let collective = call.collective;
    let blocks = |lengths: Vec<usize>| {
        if collective.has_counts() {
            Blocks::with_gaps(lengths)
        } else {
            Blocks::packed(lengths)
        }
    };
    let is_sent = collective.has_blocks() && matches!(collective.input(), Shape::AtRoot | Shape::BlocksForEach);
    let is_received = collective.has_blocks() && collective.output() != Shape::Blocks;
    let all = 0..call.p_ranks;
    [
        is_sent.then(|| blocks(all.clone().map(|to| call.sent(rank, to).len()).collect())),
        is_received.then(|| blocks(all.clone().map(|from| call.received(rank, from).len()).collect())),
    ]
}

impl Problem {
    /// The call of rank `rank` of `p`.
    pub(crate) fn new(collective: Collective, case: &Case, p: usize, rank: usize) -> Problem {
        if collective == Collective::Barrier {
            return Problem::default();
        }
        let (call, content) = (call_of(collective, case, p), Contributions::of(case));
        let is_root = rank == call.root;
        // A broadcast's data is in its one buffer.
        let has_send = collective != Collective::Bcast && (collective.input() != Shape::AtRoot || is_root);
        let has_recv = collective.output() != Shape::AtRoot || is_root;
        let [sent, received] = blocks_of(&call, rank);
        let (sent, received) = (sent.filter(|_| has_send), received.filter(|_| has_recv));
        let place = |blocks: &Option<Blocks>, at: usize, data: Vec<Element>| match blocks {
            Some(blocks) => blocks.placed(at, &data),
            None if data.is_empty() => Vec::new(),
            None => vec![(at, data)],
        };
        let span = |blocks: &Option<Blocks>, elements| blocks.as_ref().map_or(elements, Blocks::span);
        let own = call.own(rank);
        let before = own.map(|own| place(&received, own.at, content.given(rank, own.given)));
        let sends = has_send && !call.sends_in_place(rank);
        let of_lists = || Blocks::packed((0..p).map(|rank| call.block(rank).len()).collect());
        let scatters = collective.has_operator() && collective.has_blocks();
        let block = |lengths: fn(&Call, usize, usize) -> Range<usize>| match collective {
            _ if collective.has_operator() || !collective.has_blocks() => case.count,
            Collective::Alltoall | Collective::Alltoallv => lengths(&call, rank, 0).len(),
            _ => call.block(rank).len(),
        };
        let undefined = call.undefined(rank);
        Problem {
            send_span: if sends { span(&sent, call.gives(rank)) } else { 0 },
            send: if sends {
                place(&sent, 0, call.given(&content, rank))
            } else {
                Vec::new()
            },
            recv_span: span(&received, call.room(rank)),
            before: before.unwrap_or_default(),
            after: place(&received, 0, call.delivered(&content, rank)),
            open: Vec::from_iter((!undefined.is_empty()).then_some((undefined.start, undefined.len()))),
            send_in_place: call.sends_in_place(rank),
            recv_in_place: call.receives_in_place(rank),
            has_send,
            has_recv,
            send_count: block(Call::sent),
            recv_count: block(Call::received),
            send_blocks: sent.unwrap_or_default(),
            recv_blocks: received.or_else(|| scatters.then(of_lists)).unwrap_or_default(),
            volume: collective.volume_is_known().then_some(call.volume),
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_protocol::verifying::Depth;

    use super::{Blocks, Problem};
    use crate::case::cases;

    #[test]
    fn blocks_with_gaps_do_not_touch() {
        let blocks = Blocks::with_gaps(vec![2, 0, 3]);
        assert_eq!(blocks.displacements, [6, 5, 1]);
        assert_eq!(blocks.span(), 8);
    }

    #[test]
    fn contents_lie_within_the_spans_and_what_is_moved_is_what_somebody_has() {
        let p = 4;
        for collective in Collective::of_several_ranks() {
            for case in cases(collective, p, Depth::Reduced) {
                let problems: Vec<Problem> = (0..p).map(|rank| Problem::new(collective, &case, p, rank)).collect();
                for problem in &problems {
                    let within = |span: usize, contents: &[(usize, Vec<_>)]| {
                        contents.iter().all(|(at, elements)| at + elements.len() <= span)
                    };
                    assert!(within(problem.send_span, &problem.send), "{collective} {case}");
                    assert!(within(problem.recv_span, &problem.before), "{collective} {case}");
                    assert!(within(problem.recv_span, &problem.after), "{collective} {case}");
                    assert_eq!(problem.volume, problems[0].volume, "{collective} {case}");
                }
                if case.op.is_none() {
                    let sources: Vec<_> = problems
                        .iter()
                        .flat_map(|problem| problem.send.iter().chain(&problem.before))
                        .collect();
                    let goals = problems.iter().flat_map(|problem| &problem.after);
                    for (_, elements) in goals {
                        let found = sources.iter().any(|(_, source)| source.starts_with(elements));
                        assert!(found, "{collective} {case}");
                    }
                }
            }
        }
    }
}
