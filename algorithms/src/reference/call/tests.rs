use super::{Call, Division, Own};
use crate::Collective;
use crate::reference::{Content, Elements, Operator};

const ELEMENTS: Elements = Elements {
    operator: Operator::Compose,
    bytes: 4,
};

type Lengths = Vec<usize>;

/// Lengths of blocks: as long as each other, ever longer with none for rank 0, and one that is all.
fn divisions(p_ranks: usize, count: usize) -> [Lengths; 3] {
    let lone = |rank| if rank == p_ranks / 2 { count * p_ranks } else { 0 };
    [
        vec![count; p_ranks],
        (0..p_ranks).map(|rank| rank * count).collect(),
        (0..p_ranks).map(lone).collect(),
    ]
}

fn combination(inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut total = inputs[0].clone();
    for input in &inputs[1..] {
        let mut next = input.clone();
        ELEMENTS.combine(&total, &mut next);
        total = next;
    }
    total
}

/// The result of the collective on `rank`, computed from all inputs without the module's formulas. `cut(data, rank)` is a rank's block.
fn carry_out(
    collective: Collective,
    inputs: &[Vec<u8>],
    rank: usize,
    root: usize,
    cut: impl Fn(&[u8], usize) -> Vec<u8>,
) -> Vec<u8> {
    match collective {
        Collective::Allgather | Collective::Allgatherv => inputs.concat(),
        Collective::Gather | Collective::Gatherv if rank == root => inputs.concat(),
        Collective::Reduce if rank == root => combination(inputs),
        Collective::Gather | Collective::Gatherv | Collective::Reduce | Collective::Barrier => Vec::new(),
        Collective::Alltoall | Collective::Alltoallv => inputs.iter().flat_map(|input| cut(input, rank)).collect(),
        Collective::Bcast => inputs[root].clone(),
        Collective::Scatter | Collective::Scatterv => cut(&inputs[root], rank),
        Collective::Allreduce => combination(inputs),
        Collective::ReduceScatter | Collective::ReduceScatterBlock => cut(&combination(inputs), rank),
        Collective::Exscan if rank == 0 => Vec::new(),
        Collective::Exscan => combination(&inputs[..rank]),
        Collective::Scan => combination(&inputs[..=rank]),
        Collective::ReduceLocal => unreachable!("not a collective of several ranks"),
    }
}

fn check(call: &Call, lengths: &[usize]) {
    let inputs: Vec<Vec<u8>> = (0..call.p_ranks).map(|rank| call.given(&ELEMENTS, rank)).collect();
    let cut = |data: &[u8], rank: usize| {
        let begin = 4 * lengths[..rank].iter().sum::<usize>();
        data[begin..begin + 4 * lengths[rank]].to_vec()
    };
    for rank in 0..call.p_ranks {
        let delivered = call.delivered(&ELEMENTS, rank);
        let plain = carry_out(call.collective, &inputs, rank, call.root, cut);
        if !call.receives_in_place(rank) {
            assert_eq!(delivered, plain, "{call:?} rank {rank}");
        }
        assert_eq!(delivered.len(), 4 * call.result(rank), "{call:?} rank {rank}");
        assert!(call.result(rank) <= call.room(rank), "{call:?} rank {rank}");
        if let Some(Own { at, given }) = call.own(rank) {
            assert!(given.end <= call.gives(rank), "{call:?} rank {rank}");
            assert!(at + given.len() <= call.room(rank), "{call:?} rank {rank}");
        }
    }
}

#[test]
fn results_are_those_of_the_collective() {
    for collective in Collective::of_several_ranks() {
        for p_ranks in [1, 2, 3, 4, 5, 8, 13] {
            for count in [0, 1, 6, 17] {
                for (index, lengths) in divisions(p_ranks, count).into_iter().enumerate() {
                    let equal = index == 0;
                    if !equal && (!collective.has_counts() || collective == Collective::Alltoallv) {
                        continue;
                    }
                    let volume = lengths.iter().sum::<usize>() * usize::from(collective.has_data());
                    for root in [0, p_ranks / 3, p_ranks - 1] {
                        let division = Division::Listed(lengths.clone());
                        let call = Call::new(collective, p_ranks, root, volume, division);
                        check(&call, &lengths);
                        let in_place = Call {
                            in_place: true,
                            ..call.clone()
                        };
                        check(&in_place, &lengths);
                        if equal {
                            check(&Call::new(collective, p_ranks, root, volume, Division::Equal), &lengths);
                        }
                    }
                }
            }
        }
    }
}

/// Each pair's data comes from where the sender has it and goes to where the receiver wants it.
#[test]
fn pairs_get_what_they_are_sent() {
    let p_ranks = 5;
    let lengths: Vec<Vec<usize>> = (0..p_ranks)
        .map(|from| (0..p_ranks).map(|to| (2 * from + to) % 4).collect())
        .collect();
    let call = Call::new(Collective::Alltoallv, p_ranks, 0, 0, Division::Pairs(lengths.clone()));
    let inputs: Vec<Vec<u8>> = (0..p_ranks).map(|rank| call.given(&ELEMENTS, rank)).collect();
    for to in 0..p_ranks {
        let mut wanted = Vec::new();
        for (from, input) in inputs.iter().enumerate() {
            let begin = 4 * lengths[from][..to].iter().sum::<usize>();
            wanted.extend(&input[begin..begin + 4 * lengths[from][to]]);
        }
        assert_eq!(call.delivered(&ELEMENTS, to), wanted, "{to}");
        assert_eq!(4 * call.room(to), wanted.len(), "{to}");
    }
}

#[test]
fn the_owner_of_an_element_is_the_rank_whose_block_holds_it() {
    for p_ranks in [1, 2, 3, 8, 13] {
        for (division, volume) in [
            (Division::Triangle(1), 4 * 13 * 14),
            (Division::Triangle(8), 4 * 13 * 14),
            (Division::Triangle(1), 40),
            (Division::Lone(p_ranks / 2), 24),
            (Division::Equal, 3 * p_ranks),
        ] {
            let call = Call::new(Collective::Gatherv, p_ranks, 0, volume, division);
            let mut owned = 0;
            for rank in 0..p_ranks {
                let block = call.block(rank);
                assert_eq!(block.start, owned, "{call:?}");
                for i in block {
                    assert_eq!(call.owner(0, i), rank, "{call:?}: element {i}");
                    owned += 1;
                }
            }
            assert_eq!(owned, volume, "{call:?}");
        }
    }
}

#[test]
fn buffers_in_place_are_as_the_standard_has_them() {
    let of = |collective, rank| {
        let call = Call {
            in_place: true,
            ..Call::new(collective, 4, 1, 12, Division::Equal)
        };
        let own = call.own(rank).map(|own| (own.at, own.given));
        let flags = (call.sends_in_place(rank), call.receives_in_place(rank));
        (flags, own, call.result(rank), call.undefined(rank))
    };
    let (sends, receives, neither) = ((true, false), (false, true), (false, false));
    // Rank 1 is the root.
    assert_eq!(of(Collective::Allgather, 2), (sends, Some((6, 0..3)), 12, 12..12));
    assert_eq!(of(Collective::Gather, 1), (sends, Some((3, 0..3)), 12, 12..12));
    assert_eq!(of(Collective::Gather, 2), (neither, None, 0, 0..0));
    assert_eq!(of(Collective::Scatter, 1), (receives, None, 0, 0..0));
    assert_eq!(of(Collective::Scatter, 2), (neither, None, 3, 3..3));
    assert_eq!(of(Collective::Reduce, 1), (sends, Some((0, 0..12)), 12, 12..12));
    assert_eq!(of(Collective::Reduce, 0), (neither, None, 0, 0..0));
    assert_eq!(of(Collective::Alltoall, 3), (sends, Some((0, 0..12)), 12, 12..12));
    assert_eq!(
        of(Collective::ReduceScatterBlock, 3),
        (sends, Some((0, 0..12)), 3, 3..12)
    );
    assert_eq!(of(Collective::Exscan, 0), (sends, Some((0, 0..12)), 0, 0..12));
    assert_eq!(of(Collective::Bcast, 1), (neither, Some((0, 0..12)), 12, 12..12));
    assert_eq!(of(Collective::Bcast, 0), (neither, None, 12, 12..12));
}
