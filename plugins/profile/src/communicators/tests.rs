//! Conditions on communicators, by hand and against all placements of few ranks.

use proptest::prelude::*;

use super::*;

fn communicators(ranks: Bounds, nodes: Bounds, ranks_per_node: Bounds) -> Communicators {
    Communicators {
        ranks,
        nodes,
        ranks_per_node,
    }
}

const ANY: Bounds = Bounds { min: None, max: None };

#[test]
fn they_are_told_in_words() {
    let least = |min| Bounds {
        min: Some(min),
        max: None,
    };
    let most = |max| Bounds {
        min: None,
        max: Some(max),
    };
    for (one, words) in [
        (Communicators::default(), "any ranks"),
        (Communicators::of_ranks(1), "1 rank"),
        (Communicators::of_layout(8, 2), "16 ranks on 8 nodes with 2 each"),
        (Communicators::of_layout(1, 4), "4 ranks on 1 node with 4 each"),
        (
            communicators(Bounds::between(8, 16), Bounds::exactly(8), ANY),
            "8 to 16 ranks on 8 nodes",
        ),
        (
            communicators(ANY, ANY, Bounds::exactly(1)),
            "any ranks with 1 rank on each node",
        ),
        (
            communicators(least(2), most(1), Bounds::between(2, 4)),
            "at least 2 ranks on at most 1 node with 2 to 4 ranks on each node",
        ),
    ] {
        assert_eq!(one.to_string(), words);
    }
    let uneven = Placement::of(["a", "b", "a", "b", "b"]).unwrap();
    assert_eq!(uneven.to_string(), "5 ranks on 2 nodes with 2 to 3 ranks on each node");
}

#[test]
fn a_placement_is_counted_whatever_the_order_of_ranks() {
    assert_eq!(Placement::of([7, 3, 7, 3]), Some(Placement::even(2, 2)));
    assert_eq!(Placement::of([1, 1, 1]), Some(Placement::even(1, 3)));
    assert_eq!(Placement::of(Vec::<u8>::new()), None);
}

/// A node with fewer or more ranks than allowed is enough to be none of them.
#[test]
fn every_node_counts() {
    let two = communicators(ANY, ANY, Bounds::exactly(2));
    assert!(two.contains(&Placement::even(3, 2)));
    let uneven = Placement::of(["a", "a", "b"]).unwrap();
    assert!(!two.contains(&uneven));
    assert!(communicators(ANY, ANY, Bounds::between(1, 2)).contains(&uneven));
}

#[test]
fn sizes_leave_out_what_lies_between() {
    let pairs = |nodes| communicators(ANY, nodes, Bounds::exactly(2));
    assert_eq!(pairs(Bounds::between(2, 4)).sizes(), [(4, 4), (6, 6), (8, 8)]);
    assert_eq!(Communicators::default().sizes(), [(1, usize::MAX)]);
    assert_eq!(Communicators::of_ranks(7).sizes(), [(7, 7)]);
    let up_to = communicators(Bounds::between(2, 8), ANY, Bounds::exactly(3));
    assert_eq!(up_to.sizes(), [(3, 3), (6, 6)]);
}

#[test]
fn what_no_communicator_can_be_is_found() {
    for impossible in [
        communicators(Bounds::exactly(7), ANY, Bounds::exactly(2)),
        communicators(Bounds::exactly(16), Bounds::exactly(3), Bounds::exactly(2)),
        communicators(Bounds::exactly(2), Bounds::exactly(3), ANY),
        communicators(ANY, Bounds::between(3, 2), ANY),
        communicators(ANY, ANY, Bounds::between(2, 1)),
        communicators(Bounds::exactly(0), ANY, ANY),
    ] {
        assert_eq!(impossible.smallest(), None, "{impossible}");
    }
    let huge = Bounds::exactly(usize::MAX);
    assert_eq!(communicators(ANY, huge, huge).smallest(), None);
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let edge = prop_oneof![Just(None), (1..9_usize).prop_map(Some)];
    (edge.clone(), edge).prop_map(|(min, max)| Bounds { min, max })
}

fn any_communicators() -> impl Strategy<Value = Communicators> {
    (bounds(), bounds(), bounds()).prop_map(|(ranks, nodes, per_node)| communicators(ranks, nodes, per_node))
}

/// All placements of up to 12 ranks, as far as they are told apart.
fn placements() -> impl Iterator<Item = Placement> {
    (1..=12).flat_map(|ranks: usize| {
        (1..=ranks).flat_map(move |nodes| {
            (1..=ranks / nodes).flat_map(move |fewest| {
                (ranks.div_ceil(nodes)..=ranks).filter_map(move |most| {
                    let between = if nodes == 1 {
                        fewest == ranks && most == ranks
                    } else {
                        let others = nodes - 2;
                        fewest <= most
                            && (fewest + most + others * fewest..=fewest + most + others * most).contains(&ranks)
                            && (fewest < most || fewest * nodes == ranks)
                    };
                    between.then_some(Placement {
                        ranks,
                        nodes,
                        min_ranks_per_node: fewest,
                        max_ranks_per_node: most,
                    })
                })
            })
        })
    })
}

proptest! {
    /// Two conditions have a communicator in common exactly where some placement fits both, and the one that is named does.
    #[test]
    fn common_ones_are_found_where_there_are_any(one in any_communicators(), other in any_communicators()) {
        let fits = |placement: &Placement| one.contains(placement) && other.contains(placement);
        match one.common(&other) {
            Some(placement) => prop_assert!(fits(&placement), "{placement}"),
            None => prop_assert_eq!(placements().find(fits), None),
        }
        prop_assert_eq!(one.common(&other), other.common(&one));
    }

    /// The sizes are those of the placements.
    #[test]
    fn sizes_are_those_that_a_communicator_has(one in any_communicators()) {
        let sizes = one.sizes();
        for ranks in 1..=12 {
            let is_one = placements().any(|placement| placement.ranks == ranks && one.contains(&placement));
            let is_listed = sizes.iter().any(|(first, last)| (*first..=*last).contains(&ranks));
            prop_assert_eq!(is_one, is_listed, "{} ranks in {:?}", ranks, &sizes);
        }
        prop_assert!(sizes.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
    }

    /// A written text is read back.
    #[test]
    fn text_is_read_back(one in any_communicators()) {
        let text = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(serde_json::from_str::<Communicators>(&text).unwrap(), one);
    }
}
