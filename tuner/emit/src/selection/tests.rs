use proptest::prelude::*;

use super::*;

/// A selection in the form of a library's: tests on the communicator before and behind tests on the call.
const BASE: &str = r#"{
    "collective=reduce": {
        "comm_type=intra": {
            "comm_size<8": {"avg_msg_size<=2048": {"algorithm=small": {}}, "avg_msg_size=any": {"algorithm=large": {}}},
            "comm_size=pow2": {"comm_hierarchy=parent": {"algorithm=smp": {}}, "comm_hierarchy=any": {"algorithm=flat": {}}},
            "comm_size=any": {"is_commutative=yes": {"comm_size<9": {"algorithm=few": {}}, "comm_size=any": {"algorithm=many": {"k=2": {}}}},
                              "is_commutative=no": {"algorithm=slow": {}}}
        },
        "comm_type=inter": {"algorithm=inter": {}}
    },
    "collective=exscan": {"algorithm=exscan": {}}
}"#;

const COMMUTATIVE: Guard = Guard {
    holds: "is_commutative=yes",
    fails: "is_commutative=no",
};
const ENOUGH: Guard = Guard {
    holds: "count=any",
    fails: "count<pow2",
};

fn base() -> Tree {
    Tree::parse(BASE).unwrap()
}

fn rule(range: (u64, u64), algorithm: &str, guards: &[Guard]) -> SizeRule {
    SizeRule {
        range,
        algorithm: algorithm.to_owned(),
        parameters: vec!["k=4".to_owned()],
        guards: guards.to_vec(),
    }
}

fn yes(_: &str) -> bool {
    true
}

fn no(_: &str) -> bool {
    false
}

fn reduce(ranks: u64, bytes: u64) -> Call<'static> {
    Call {
        collective: "reduce",
        ranks,
        nodes: 1,
        avg_msg_size: bytes,
        total_msg_size: bytes * ranks,
        count: bytes,
        parent: true,
        is: &yes,
    }
}

fn name<'a>(tree: &'a Tree, call: &Call<'_>) -> Option<&'a str> {
    tree.lookup(call).map(|(key, _)| key.as_str())
}

#[test]
fn order_is_kept_and_what_is_written_is_read_back() {
    let tree = base();
    assert_eq!(Tree::parse(&tree.to_text()).unwrap(), tree);
    let keys: Vec<&str> = tree.0[0].1.0[0].1.0.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["comm_size<8", "comm_size=pow2", "comm_size=any"]);
    assert!(Tree::parse(r#"{"collective=bcast": 1}"#).is_err());
}

#[test]
fn no_file_is_a_multiple_of_a_page() {
    let tree = |length: usize| Tree(vec![("x".repeat(length), Tree::default())]);
    let bare = tree(0).to_text().len();
    for length in [4095 - bare, 4096 - bare, 4097 - bare] {
        let text = tree(length).to_text();
        assert!(Tree::is_length_read(text.len()), "{}", text.len());
    }
    assert_eq!(tree(4096 - bare).to_text().len(), 4097);
}

#[test]
fn a_rule_holds_for_its_ranks_and_sizes_and_nothing_else() {
    let rules = [rule((1000, 2000), "one", &[]), rule((2001, 4000), "two", &[])];
    let tree = base().with_rules("reduce", 6, Some("avg_msg_size"), &rules).unwrap();
    for (ranks, bytes, expected) in [
        (6, 999, "algorithm=small"),
        (6, 1000, "algorithm=one"),
        (6, 2000, "algorithm=one"),
        (6, 2001, "algorithm=two"),
        (6, 4000, "algorithm=two"),
        (6, 4001, "algorithm=large"),
        (5, 1500, "algorithm=small"),
        (7, 1500, "algorithm=small"),
        (8, 1500, "algorithm=smp"),
    ] {
        assert_eq!(
            name(&tree, &reduce(ranks, bytes)),
            Some(expected),
            "{ranks} ranks, {bytes} bytes"
        );
    }
    let (_, parameters) = tree.lookup(&reduce(6, 1000)).unwrap();
    assert_eq!(parameters.0[0].0, "k=4");
}

/// A range of numbers of ranks begins and ends where it was told to, and within it other calls keep what the library has for each number.
#[test]
fn a_range_of_sizes_keeps_the_librarys_choice_for_each_of_them() {
    let rules = [rule((1000, 2000), "one", &[])];
    let other = [rule((0, 10), "two", &[])];
    let sizes =
        [((6, 9), rules.to_vec()), ((12, 12), other.to_vec())].map(|(ranks, rules)| ForRanks::anywhere(ranks, rules));
    let before = base();
    let tree = before.with_sizes("reduce", Some("avg_msg_size"), &sizes).unwrap();
    for ranks in 1..=17 {
        for bytes in [0, 10, 11, 999, 1000, 2000, 2001, 4000] {
            for parent in [false, true] {
                let call = Call {
                    parent,
                    ..reduce(ranks, bytes)
                };
                let expected = match (ranks, bytes) {
                    (6..=9, 1000..=2000) => Some("algorithm=one"),
                    (12, 0..=10) => Some("algorithm=two"),
                    _ => name(&before, &call),
                };
                assert_eq!(name(&tree, &call), expected, "{ranks} ranks, {bytes} bytes");
            }
        }
    }
    let crossed =
        [((6, 9), rules.to_vec()), ((9, 12), other.to_vec())].map(|(ranks, rules)| ForRanks::anywhere(ranks, rules));
    let error = base().with_sizes("reduce", Some("avg_msg_size"), &crossed).unwrap_err();
    assert_eq!(error, RuleError::Ranks(9, 12));
}

/// 8 ranks on 8 nodes, on 4, and on one are told apart; ranks on 5 to 7 nodes are taken for those on 4, as the test knows whole numbers alone.
#[test]
fn rules_hold_for_their_ranks_on_a_node_and_other_communicators_keep_the_librarys_choice() {
    let size = Some("avg_msg_size");
    let rules = |algorithm: &str| vec![rule((1000, 2000), algorithm, &[])];
    let with = |per_node: &[(Range, &str)]| {
        let per_node = per_node.iter().map(|(range, name)| (*range, rules(name)));
        let sizes = [ForRanks {
            ranks: (8, 8),
            per_node: per_node.collect(),
        }];
        base().with_sizes("reduce", size, &sizes)
    };
    let on = |nodes: u64| Call {
        nodes,
        ..reduce(8, 1500)
    };
    let placed = with(&[((1, 1), "one each"), ((2, 2), "pairs"), ((8, 8), "one node")]).unwrap();
    let placed = Tree::parse(&placed.to_text()).unwrap();
    for (nodes, expected) in [
        (8, "algorithm=one each"),
        (7, "algorithm=pairs"),
        (4, "algorithm=pairs"),
        (3, "algorithm=smp"),
        (2, "algorithm=smp"),
        (1, "algorithm=one node"),
    ] {
        assert_eq!(name(&placed, &on(nodes)), Some(expected), "{nodes} nodes");
    }
    for (ranks, bytes) in [(7, 1500), (9, 1500), (8, 999), (8, 2001)] {
        let call = Call {
            nodes: ranks,
            ..reduce(ranks, bytes)
        };
        assert_eq!(
            name(&placed, &call),
            name(&base(), &call),
            "{ranks} ranks, {bytes} bytes"
        );
    }
    let from_two = with(&[((2, u64::MAX), "several each")]).unwrap();
    assert_eq!(name(&from_two, &on(8)), Some("algorithm=smp"));
    assert_eq!(name(&from_two, &on(7)), Some("algorithm=several each"));
    assert_eq!(name(&from_two, &on(1)), Some("algorithm=several each"));
    let anywhere = with(&[(ANYWHERE, "anywhere")]).unwrap();
    assert!(!anywhere.to_text().contains("comm_avg_ppn"));
    assert_eq!(
        with(&[((2, 3), "a"), ((3, 4), "b")]).unwrap_err(),
        RuleError::PerNode(3, 4)
    );
}

#[test]
fn calls_that_an_algorithm_cannot_carry_out_keep_the_librarys_choice() {
    let rules = [rule((0, u64::MAX), "new", &[COMMUTATIVE, ENOUGH])];
    let tree = base().with_rules("reduce", 8, Some("avg_msg_size"), &rules).unwrap();
    assert_eq!(name(&tree, &reduce(8, 64)), Some("algorithm=new"));
    assert_eq!(name(&tree, &reduce(8, 7)), Some("algorithm=smp"));
    let user_defined = Call {
        is: &no,
        ..reduce(8, 64)
    };
    assert_eq!(name(&tree, &user_defined), Some("algorithm=smp"));
}

#[test]
fn a_collective_without_kinds_of_communicators_gets_them() {
    let tree = base()
        .with_rules("exscan", 4, None, &[rule((0, u64::MAX), "nb", &[])])
        .unwrap();
    let exscan = |ranks| Call {
        collective: "exscan",
        ..reduce(ranks, 8)
    };
    assert_eq!(name(&tree, &exscan(4)), Some("algorithm=nb"));
    assert_eq!(name(&tree, &exscan(3)), Some("algorithm=exscan"));
    assert!(tree.get("collective=exscan").unwrap().get("comm_type=inter").is_some());
}

#[test]
fn what_no_file_can_carry_is_refused() {
    let with = |collective, test, rules: &[SizeRule]| base().with_rules(collective, 4, test, rules).unwrap_err();
    let size = Some("avg_msg_size");
    assert_eq!(with("scan", size, &[]), RuleError::Unknown("scan".to_owned()));
    let large = [rule((5, LARGEST + 1), "x", &[])];
    assert_eq!(with("reduce", size, &large), RuleError::TooLarge(LARGEST + 1));
    let crossed = [rule((5, 9), "x", &[]), rule((9, 12), "y", &[])];
    assert_eq!(with("reduce", size, &crossed), RuleError::Order(9, 12));
    assert_eq!(with("reduce", None, &crossed), RuleError::NoSizes("reduce".to_owned()));
}

proptest! {
    /// Rules for further numbers of ranks leave those of the others alone.
    #[test]
    fn numbers_of_ranks_do_not_disturb_each_other(
        first in 1_u64..20,
        second in 1_u64..20,
        ranks in 1_u64..20,
        bytes in 0_u64..10_000,
        parent: bool,
        commutative: bool,
    ) {
        prop_assume!(first != second);
        let size = Some("avg_msg_size");
        let one = [rule((1000, 2000), "one", &[COMMUTATIVE])];
        let two = [rule((1500, 4000), "two", &[])];
        let tree = base().with_rules("reduce", first, size, &one).unwrap();
        let tree = tree.with_rules("reduce", second, size, &two).unwrap();
        let is = |_: &str| commutative;
        let call = Call { parent, is: &is, ..reduce(ranks, bytes) };
        let before = base();
        let expected = if ranks == first && (1000..=2000).contains(&bytes) && commutative {
            Some("algorithm=one")
        } else if ranks == second && (1500..=4000).contains(&bytes) {
            Some("algorithm=two")
        } else {
            name(&before, &call)
        };
        prop_assert_eq!(name(&tree, &call), expected);
    }

    /// Outside a rule, every call keeps its algorithm, the library's slip on `comm_size<` included.
    #[test]
    fn everything_else_stays_as_it_was(
        tuned in 1_u64..20,
        ranks in 1_u64..20,
        bytes in 0_u64..10_000,
        low in 0_u64..5_000,
        length in 0_u64..3_000,
        parent: bool,
        commutative: bool,
        guarded: bool,
    ) {
        let guards = if guarded { &[COMMUTATIVE][..] } else { &[] };
        let rules = [rule((low, low + length), "new", guards)];
        let tree = base().with_rules("reduce", tuned, Some("avg_msg_size"), &rules).unwrap();
        let tree = Tree::parse(&tree.to_text()).unwrap();
        let is = |_: &str| commutative;
        let call = Call { parent, is: &is, ..reduce(ranks, bytes) };
        let inside = ranks == tuned && (low..=low + length).contains(&bytes) && (commutative || !guarded);
        let before = base();
        let expected = if inside { Some("algorithm=new") } else { name(&before, &call) };
        prop_assert!(expected.is_some());
        prop_assert_eq!(name(&tree, &call), expected);
    }
}
