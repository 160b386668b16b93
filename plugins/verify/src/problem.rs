//! The sequential reference: from a case alone, what a rank has before a call and must have after it.

use kilter_algorithms::Collective;

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

    fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    fn span(&self) -> usize {
        let ends = self
            .counts
            .iter()
            .zip(&self.displacements)
            .map(|(count, at)| count + at);
        ends.max().unwrap_or(0)
    }
}

/// What one rank has and gets.
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
    /// Where blocks differ.
    pub(crate) send_blocks: Blocks,
    pub(crate) recv_blocks: Blocks,
    /// Elements of the total volume where all ranks know it.
    pub(crate) volume: Option<usize>,
}

/// What a number is made from, mixed well (splitmix64).
pub(crate) fn mix(parts: [usize; 3]) -> Element {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for part in parts {
        state = state.wrapping_add(part as u64 + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 32;
    }
    [state as u32, (state >> 32) as u32]
}

/// A length that differs from rank to rank.
fn unequal(count: usize, key: usize) -> usize {
    match key % 3 {
        0 => count,
        1 => count / 2,
        _ => count + 1,
    }
}

/// What `source` gives `destination` (0 where all get the same).
fn elements(case: &Case, source: usize, destination: usize, count: usize) -> Vec<Element> {
    let fields = TYPES[case.type_].fields.len();
    let same: fn(Element) -> Element = |element| element;
    let prepare = case.op.map_or(same, |op| OPERATORS[op].prepare);
    let element = |index| {
        let [a, b] = prepare(mix([source, destination, index]));
        [a, if fields > 1 { b } else { 0 }]
    };
    (0..count).map(element).collect()
}

/// The combination of the contributions of ranks `0..end`, element by element.
fn combined(case: &Case, end: usize, count: usize) -> Vec<Element> {
    let first: fn(Element, Element) -> Element = |a, _| a;
    let combine = case.op.map_or(first, |op| OPERATORS[op].combine);
    let mut result = elements(case, 0, 0, count);
    for rank in 1..end {
        let next = elements(case, rank, 0, count);
        result.iter_mut().zip(next).for_each(|(a, b)| *a = combine(*a, b));
    }
    let fields = TYPES[case.type_].fields.len();
    if fields < 2 {
        result.iter_mut().for_each(|element| element[1] = 0);
    }
    result
}

impl Problem {
    /// Of rank `rank` of `p`.
    pub(crate) fn new(collective: Collective, case: &Case, p: usize, rank: usize) -> Problem {
        let base = Problem {
            has_send: true,
            has_recv: true,
            send_in_place: case.in_place,
            ..Problem::default()
        };
        match collective {
            Collective::Barrier => Problem::default(),
            Collective::Bcast => bcast(base, case, rank),
            Collective::Allgather | Collective::Gather | Collective::Scatter | Collective::Alltoall => {
                let blocks = Blocks::packed(vec![case.count; p]);
                movement(base, collective, case, (p, rank), [blocks.clone(), blocks])
            }
            Collective::Alltoallv => {
                // In place, what two ranks exchange must be equally long.
                let length = |from: usize, to: usize| if case.in_place { from + to } else { 2 * from + to };
                let sent = (0..p).map(|to| unequal(case.count, length(rank, to))).collect();
                let received = (0..p).map(|from| unequal(case.count, length(from, rank))).collect();
                let blocks = [Blocks::with_gaps(sent), Blocks::with_gaps(received)];
                movement(base, collective, case, (p, rank), blocks)
            }
            Collective::Allgatherv | Collective::Gatherv | Collective::Scatterv => {
                let blocks = Blocks::with_gaps((0..p).map(|rank| unequal(case.count, rank)).collect());
                movement(base, collective, case, (p, rank), [blocks.clone(), blocks])
            }
            _ => reduction(base, collective, case, (p, rank)),
        }
    }
}

fn bcast(base: Problem, case: &Case, rank: usize) -> Problem {
    let data = vec![(0, elements(case, case.root, 0, case.count))];
    Problem {
        before: if rank == case.root { data.clone() } else { Vec::new() },
        after: data,
        recv_span: case.count,
        recv_count: case.count,
        send_in_place: false,
        has_send: false,
        volume: Some(case.count),
        ..base
    }
}

/// Collectives that move blocks; `blocks` are those of the send and of the receive buffer where these have any.
fn movement(
    base: Problem,
    collective: Collective,
    case: &Case,
    (p, rank): (usize, usize),
    [sent, received]: [Blocks; 2],
) -> Problem {
    let is_root = rank == case.root;
    let to_each = matches!(collective, Collective::Alltoall | Collective::Alltoallv);
    let from_root = matches!(collective, Collective::Scatter | Collective::Scatterv);
    let to_root = matches!(collective, Collective::Gather | Collective::Gatherv);
    let known = !matches!(
        collective,
        Collective::Alltoallv | Collective::Gatherv | Collective::Scatterv
    );
    let mut problem = Problem {
        volume: known.then(|| received.total()),
        send_count: sent.counts[if to_each { 0 } else { rank }],
        recv_count: received.counts[if to_each { 0 } else { rank }],
        ..base
    };
    if from_root {
        problem.send_in_place = false;
        problem.recv_in_place = case.in_place && is_root;
        problem.has_send = is_root;
        if is_root {
            problem.send = (0..p)
                .map(|to| (sent.displacements[to], elements(case, case.root, to, sent.counts[to])))
                .collect();
            problem.send_span = sent.span();
            problem.send_blocks = sent;
        }
        if !problem.recv_in_place {
            problem.recv_span = problem.recv_count;
            problem.after = vec![(0, elements(case, case.root, rank, problem.recv_count))];
        }
        return problem;
    }
    problem.send_in_place = case.in_place && (!to_root || is_root);
    problem.has_recv = !to_root || is_root;
    let given: Vec<Placed> = if to_each {
        (0..p)
            .map(|to| (sent.displacements[to], elements(case, rank, to, sent.counts[to])))
            .collect()
    } else {
        vec![(0, elements(case, rank, 0, sent.counts[rank]))]
    };
    if !problem.send_in_place {
        problem.send_span = if to_each { sent.span() } else { sent.counts[rank] };
        problem.send = given;
    } else if to_each {
        problem.before = given;
    } else {
        problem.before = given
            .into_iter()
            .map(|(_, own)| (received.displacements[rank], own))
            .collect();
    }
    if problem.has_recv {
        let to = if to_each { rank } else { 0 };
        problem.after = (0..p)
            .map(|from| {
                (
                    received.displacements[from],
                    elements(case, from, to, received.counts[from]),
                )
            })
            .collect();
        problem.recv_span = received.span();
        problem.recv_blocks = received;
    }
    if to_each {
        problem.send_blocks = sent;
    }
    problem
}

fn reduction(base: Problem, collective: Collective, case: &Case, (p, rank): (usize, usize)) -> Problem {
    let is_root = rank == case.root;
    let blocks = match collective {
        Collective::ReduceScatter => Blocks::packed((0..p).map(|rank| unequal(case.count, rank)).collect()),
        Collective::ReduceScatterBlock => Blocks::packed(vec![case.count; p]),
        _ => Blocks::default(),
    };
    let scattered = !blocks.counts.is_empty();
    let total = if scattered { blocks.total() } else { case.count };
    let to_root = collective == Collective::Reduce;
    let in_place = case.in_place && (!to_root || is_root);
    let has_recv = !to_root || is_root;
    let own = vec![(0, elements(case, rank, 0, total))];
    let end = match collective {
        Collective::Scan => rank + 1,
        Collective::Exscan => rank,
        _ => p,
    };
    let result = if end == 0 || !has_recv {
        Vec::new()
    } else {
        combined(case, end, total)
    };
    let (begin, length) = if scattered {
        (blocks.displacements[rank], blocks.counts[rank])
    } else {
        (0, total)
    };
    let mut open = Vec::new();
    if in_place && scattered {
        open.push((length, total - length));
    }
    if end == 0 {
        // Rank 0 of an exclusive scan.
        open.push((0, total));
    }
    Problem {
        send_span: if in_place { 0 } else { total },
        send: if in_place { Vec::new() } else { own.clone() },
        recv_span: match (has_recv, in_place) {
            (false, _) => 0,
            (true, true) => total,
            (true, false) => length,
        },
        before: if in_place { own } else { Vec::new() },
        after: if result.is_empty() {
            Vec::new()
        } else {
            vec![(0, result[begin..begin + length].to_vec())]
        },
        open,
        send_in_place: in_place,
        has_recv,
        recv_count: case.count,
        recv_blocks: blocks,
        volume: Some(total),
        ..base
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
