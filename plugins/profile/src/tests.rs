use std::collections::BTreeMap;

use kilter_algorithms::{Collective, mockup, registry};
use kilter_protocol::row::{Needs, Parameter, Row};
use proptest::prelude::*;

use super::*;

fn rule(collective: &str, ranks: usize, bytes: (u64, u64), implementation: &str) -> Rule {
    Rule {
        collective: collective.to_owned(),
        communicators: Communicators::of_ranks(ranks),
        min_bytes: bytes.0,
        max_bytes: bytes.1,
        implementation: implementation.to_owned(),
        parameters: BTreeMap::new(),
    }
}

fn profile(rules: Vec<Rule>) -> Profile {
    Profile {
        version: VERSION,
        library: "Open MPI 4.1.4".to_owned(),
        plugins: vec!["libkilter_collectives.so".to_owned()],
        order: None,
        rules,
        online: Vec::new(),
    }
}

const GOOD: &str = r#"{
  "version": 2,
  "library": "Open MPI v4.1.4",
  "plugins": ["libkilter_collectives.so"],
  "rules": [
    { "collective": "reduce", "communicators": { "ranks": { "min": 8, "max": 8 } },
      "min_bytes": 65536, "max_bytes": 1048576, "implementation": "reduce.ring" },
    { "collective": "reduce", "communicators": { "ranks": { "min": 8, "max": 8 } }, "min_bytes": 1, "max_bytes": 65535, "implementation": "reduce.as_allreduce" },
    { "collective": "scan", "communicators": { "ranks": { "min": 8, "max": 8 }, "nodes": { "min": 1, "max": 8 } },
      "min_bytes": 65536, "max_bytes": 1048576, "implementation": "scan.pipelined_chain",
      "parameters": { "segment_bytes": 8192 } }
  ]
}
"#;

/// The same in version 1, but for the nodes.
const VERSION_1: &str = r#"{
  "version": 1,
  "library": "Open MPI v4.1.4",
  "plugins": ["libkilter_collectives.so"],
  "rules": [
    { "collective": "reduce", "ranks": 8, "min_bytes": 65536, "max_bytes": 1048576, "implementation": "reduce.ring" },
    { "collective": "reduce", "ranks": 8, "min_bytes": 1, "max_bytes": 65535, "implementation": "reduce.as_allreduce" },
    { "collective": "scan", "ranks": 8, "min_bytes": 65536, "max_bytes": 1048576, "implementation": "scan.pipelined_chain",
      "parameters": { "segment_bytes": 8192 } }
  ]
}
"#;

/// So many ranks on one node.
fn ranks(ranks: usize) -> Placement {
    Placement::even(1, ranks)
}

/// Reads a text in which each mistake was made by itself, so that nothing else is wrong with it.
fn mistakes(good: &str, all: &[(&str, &str, &str)]) {
    for (from, to, expected) in all {
        assert!(good.contains(from), "`{from}` is not in the good text");
        let error = Profile::parse(&good.replacen(from, to, 1), "p.json")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("profile p.json: ") && error.contains(expected),
            "`{to}`: {error}"
        );
    }
}

#[test]
fn a_profile_is_read_and_looked_up() {
    let profile = Profile::parse(GOOD, "p.json").unwrap();
    let table = Table::compile(&profile, &ranks(8));
    let id = |collective, bytes| {
        table
            .lookup(collective, bytes)
            .map(|entry| entry.implementation.as_str())
    };
    assert_eq!(id(Collective::Reduce, 0), None);
    assert_eq!(id(Collective::Reduce, 1), Some("reduce.as_allreduce"));
    assert_eq!(id(Collective::Reduce, 65_535), Some("reduce.as_allreduce"));
    assert_eq!(id(Collective::Reduce, 65_536), Some("reduce.ring"));
    assert_eq!(id(Collective::Reduce, 1_048_577), None);
    assert_eq!(id(Collective::Allreduce, 65_536), None);
    assert_eq!(
        table.lookup(Collective::Scan, 70_000).unwrap().parameters["segment_bytes"],
        8192
    );
    assert!(table.has(Collective::Scan) && !table.has(Collective::Gather));
    assert_eq!(Table::compile(&profile, &ranks(7)).ranges().count(), 0);
}

#[test]
fn a_profile_is_written_and_read_back() {
    let profile = Profile::parse(GOOD, "p.json").unwrap();
    assert_eq!(Profile::parse(&profile.to_json().unwrap(), "p.json").unwrap(), profile);
}

#[test]
fn mistakes_are_named_with_their_place_and_what_is_allowed() {
    const EIGHT: &str = "{ \"ranks\": { \"min\": 8, \"max\": 8 } }, \"min_bytes\": 1,";
    mistakes(
        GOOD,
        &[
            (
                "\"version\": 2,",
                "\"version\": 3,",
                "profile p.json: version 3 is not supported; allowed: 1, 2; ",
            ),
            (
                "\"library\":",
                "\"libary\":",
                "profile p.json: unknown field `libary`, expected one of `version`, `library`",
            ),
            ("\"library\":", "\"libary\":", "at line 3 column 10"),
            (
                EIGHT,
                "{ \"ranks\": 8 }, \"min_bytes\": 1,",
                "invalid type: integer `8`, expected struct Bounds at line 8",
            ),
            (
                EIGHT,
                "{ \"ranks\": { \"min\": 8, \"min\": 9 } }, \"min_bytes\": 1,",
                "duplicate field `min` at line 8",
            ),
            (
                EIGHT,
                "{ \"rank\": { \"min\": 8 } }, \"min_bytes\": 1,",
                "unknown field `rank`, expected one of `ranks`, `nodes`, `ranks_per_node`",
            ),
            (
                EIGHT,
                "{ \"nodes\": { \"max\": 0 } }, \"min_bytes\": 1,",
                "rules[1].communicators.nodes.max: 0; allowed: 1 to 2147483647",
            ),
            (
                EIGHT,
                "{ \"ranks\": { \"min\": 9, \"max\": 8 } }, \"min_bytes\": 1,",
                "rules[1].communicators: there is no communicator of 9 to 8 ranks; exchange `min` and `max`, or state fewer",
            ),
            (
                EIGHT,
                "{ \"ranks\": { \"min\": 8, \"max\": 9 }, \"nodes\": { \"min\": 5 }, \"ranks_per_node\": { \"min\": 2 } }, \"min_bytes\": 1,",
                "there is no communicator of 8 to 9 ranks on at least 5 nodes with at least 2 ranks on each node",
            ),
            (
                "\"min_bytes\": 1,",
                "\"min_bytes\": 1.5,",
                "invalid type: floating point `1.5`",
            ),
            (
                "\"collective\": \"scan\"",
                "\"collective\": \"skan\"",
                "rules[2].collective: `skan` is not a collective that can be",
            ),
            (
                "\"collective\": \"scan\"",
                "\"collective\": \"reduce_local\"",
                "allowed: allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, bcast, exscan, gather,",
            ),
            (
                "\"collective\": \"scan\"",
                "\"collective\": \"gatherv\"",
                "rules[2]: not every rank of a call knows the volume of gatherv, so that a rule cannot depend on it; set min_bytes \
                 to 0 and max_bytes to 18446744073709551615",
            ),
            (
                "\"scan.pipelined_chain\"",
                "\"scan.pipelined\"",
                "rules[2].implementation: `scan.pipelined` is unknown; known for scan: scan.",
            ),
            (
                "\"scan.pipelined_chain\"",
                "\"reduce.ring\"",
                "rules[2].implementation: `reduce.ring` carries out reduce, not scan",
            ),
            (
                "segment_bytes",
                "segment",
                "has no parameter `segment`; allowed: segment_bytes",
            ),
            (
                "8192",
                "0",
                "rules[2].parameters.segment_bytes: 0 is out of range; allowed for `scan.pipelined_chain`: ",
            ),
            (
                "8192 }",
                "8192, \"segment_bytes\": 4096 }",
                "duplicate parameter `segment_bytes`",
            ),
            (
                "\"max_bytes\": 65535",
                "\"max_bytes\": 0",
                "rules[1]: min_bytes 1 is above max_bytes 0",
            ),
            (
                "\"max_bytes\": 65535",
                "\"max_bytes\": 65540",
                "rules[0] and rules[1] overlap for reduce on 8 ranks: both match 65536 to 65540 bytes; shorten one of them, or let \
                 the profile say `\"order\": \"first\"`",
            ),
            (
                "\"rules\": [",
                "\"order\": \"last\", \"rules\": [",
                "unknown variant `last`, expected `first`",
            ),
            ("libkilter_collectives.so", "", "plugins[0]: \"\" is no path"),
            (
                "libkilter_collectives.so",
                "lib\\u0000.so",
                "plugins[0]: \"lib\\0.so\" is no path",
            ),
            ("  ]\n}\n", "  ]\n", "EOF while parsing an object at line 13"),
            ("  ]\n}\n", "  ]\n} {}\n", "trailing characters at line 13 column 3"),
        ],
    );
}

#[test]
fn mistakes_in_version_1_are_named_by_its_keys() {
    mistakes(
        VERSION_1,
        &[
            (
                "\"ranks\": 8, \"min_bytes\": 1,",
                "\"min_bytes\": 1,",
                "missing field `ranks` at line 7 column",
            ),
            (
                "\"ranks\": 8, \"min_bytes\": 1,",
                "\"ranks\": 8, \"ranks\": 9, \"min_bytes\": 1,",
                "duplicate field `ranks` at line 7",
            ),
            (
                "\"ranks\": 8, \"min_bytes\": 1,",
                "\"ranks\": -8, \"min_bytes\": 1,",
                "invalid value: integer `-8`",
            ),
            (
                "\"ranks\": 8, \"min_bytes\": 1,",
                "\"ranks\": 0, \"min_bytes\": 1,",
                "rules[1].ranks: 0; allowed: 1 to 2147483647",
            ),
            (
                "\"ranks\": 8, \"min_bytes\": 1,",
                "\"communicators\": {}, \"min_bytes\": 1,",
                "unknown field `communicators`",
            ),
            (
                "8192 }",
                "8192, \"segment_bytes\": 4096 }",
                "duplicate parameter `segment_bytes`",
            ),
            (
                "\"max_bytes\": 65535",
                "\"max_bytes\": 65540",
                "rules[0] and rules[1] overlap for reduce on 8 ranks: both match 65536 to 65540 bytes",
            ),
        ],
    );
}

/// A profile of version 1 holds on any nodes, as it did, and is written as one of the present version.
#[test]
fn a_profile_of_version_1_holds_for_its_number_of_ranks() {
    let read = Profile::parse(VERSION_1, "p.json").unwrap();
    let mut today = Profile::parse(GOOD, "p.json").unwrap();
    today.rules[2].communicators = Communicators::of_ranks(8);
    assert_eq!(read, today);
    assert!(!read.asks_for_nodes(8));
    for placement in [Placement::even(1, 8), Placement::even(4, 2)] {
        assert_eq!(Table::compile(&read, &placement).ranges().count(), 3);
    }
    assert_eq!(Profile::parse(&read.to_json().unwrap(), "p.json").unwrap(), read);
}

fn on(rule: Rule, nodes: usize, ranks_per_node: usize) -> Rule {
    Rule {
        communicators: Communicators::of_layout(nodes, ranks_per_node),
        ..rule
    }
}

#[test]
fn layouts_of_one_number_of_ranks_have_rules_of_their_own() {
    let bytes = (1, 99);
    let rules = vec![
        on(rule("bcast", 0, bytes, "bcast.linear"), 8, 2),
        on(rule("bcast", 0, bytes, "bcast.binomial"), 16, 1),
    ];
    let profile = profile(rules);
    profile.check(&Catalogue::built_in(), "p.json").unwrap();
    let chosen = |placement: &Placement| {
        let table = Table::compile(&profile, placement);
        table
            .lookup(Collective::Bcast, 8)
            .map(|entry| entry.implementation.clone())
    };
    assert_eq!(chosen(&Placement::even(8, 2)).as_deref(), Some("bcast.linear"));
    assert_eq!(chosen(&Placement::even(16, 1)).as_deref(), Some("bcast.binomial"));
    assert_eq!(chosen(&Placement::even(4, 4)), None);
    // One node has three of the 16 ranks, another one.
    let uneven = Placement::of([0, 0, 0, 1].into_iter().chain((2..8).flat_map(|node| [node, node])));
    assert_eq!(uneven.map(|uneven| (uneven.ranks, uneven.nodes)), Some((16, 8)));
    assert_eq!(chosen(&uneven.unwrap()), None);
    assert!(profile.asks_for_nodes(16) && !profile.asks_for_nodes(15));
}

#[test]
fn of_rules_that_meet_the_first_holds_where_the_profile_says_so() {
    let rules = vec![
        on(rule("bcast", 0, (1, 99), "bcast.linear"), 8, 2),
        rule("bcast", 16, (50, 199), "bcast.binomial"),
    ];
    let mut profile = profile(rules);
    let error = profile.check(&Catalogue::built_in(), "p.json").unwrap_err().to_string();
    assert!(
        error.contains(
            "rules[0] and rules[1] overlap for bcast on 16 ranks on 8 nodes with 2 each: both match 50 to 99 bytes"
        ),
        "{error}"
    );
    profile.order = Some(Order::First);
    let profile = Profile::parse(&profile.to_json().unwrap(), "p.json").unwrap();
    let rule_at = |placement: &Placement, bytes| {
        let table = Table::compile(&profile, placement);
        table.lookup(Collective::Bcast, bytes).map(|entry| entry.rule)
    };
    let placement = Placement::even(8, 2);
    assert_eq!(
        [1, 99, 100, 200].map(|bytes| rule_at(&placement, bytes)),
        [Some(0), Some(0), Some(1), None]
    );
    assert_eq!(rule_at(&Placement::even(4, 4), 99), Some(1));
}

#[test]
fn an_algorithm_for_powers_of_two_is_refused_elsewhere() {
    let mut catalogue = Catalogue::built_in();
    let row = Row {
        id: "bcast.example".to_owned(),
        collective: Collective::Bcast,
        needs: Needs {
            power_of_two_ranks: true,
            ..Needs::default()
        },
        parameters: Vec::new(),
        scratch: None,
    };
    assert_eq!(catalogue.add(row.clone()), None);
    let refused = profile(vec![rule("bcast", 6, (1, 2), "bcast.example")]);
    let error = refused.check(&catalogue, "p.json").unwrap_err().to_string();
    assert!(
        error.contains("rules[0]: `bcast.example` needs a power of two ranks, not 6"),
        "{error}"
    );
    assert!(
        profile(vec![rule("bcast", 8, (1, 2), "bcast.example")])
            .check(&catalogue, "p.json")
            .is_ok()
    );
}

#[test]
fn an_algorithm_for_even_ranks_is_refused_elsewhere() {
    let catalogue = Catalogue::built_in();
    let checked = |ranks| {
        profile(vec![rule("allgather", ranks, (1, 2), "allgather.neighbour_exchange")]).check(&catalogue, "p.json")
    };
    let error = checked(5).unwrap_err().to_string();
    assert!(
        error.contains("rules[0]: `allgather.neighbour_exchange` needs an even number of ranks, not 5"),
        "{error}"
    );
    assert!(checked(6).is_ok());
    let with = |communicators| {
        let rule = rule("allgather", 6, (1, 2), "allgather.neighbour_exchange");
        profile(vec![Rule { communicators, ..rule }]).check(&catalogue, "p.json")
    };
    let between = |ranks_per_node| Communicators {
        ranks: Bounds::between(4, 16),
        ranks_per_node,
        ..Communicators::default()
    };
    assert!(with(between(Bounds::exactly(2))).is_ok());
    let error = with(between(Bounds::default())).unwrap_err().to_string();
    assert!(error.contains("needs an even number of ranks, not 4 to 16"), "{error}");
}

/// A plugin's row is unknown until it is added, and never takes the place of another.
#[test]
fn rows_of_plugins_are_known_once_they_are_added() {
    let text = profile(vec![rule("bcast", 6, (1, 2), "bcast.example")])
        .to_json()
        .unwrap();
    assert!(
        Profile::parse(&text, "p.json")
            .unwrap_err()
            .to_string()
            .contains("`bcast.example` is unknown")
    );
    let read = Profile::read(&text, "p.json").unwrap();
    let mut catalogue = Catalogue::built_in();
    let segment = Parameter {
        name: "segment_bytes".to_owned(),
        min: 1,
        max: 9,
        default: 3,
    };
    let row = Row {
        id: "bcast.example".to_owned(),
        collective: Collective::Bcast,
        needs: Needs::default(),
        parameters: vec![segment],
        scratch: None,
    };
    assert_eq!(catalogue.add(row.clone()), None);
    assert!(read.check(&catalogue, "p.json").is_ok());
    let other = Row {
        collective: Collective::Scan,
        ..row.clone()
    };
    assert_eq!(catalogue.add(other), Some(&row));
    assert!(read.check(&catalogue, "p.json").is_ok());
}

#[test]
fn every_algorithm_and_mockup_can_stand_in_a_profile() {
    let algorithms = registry::algorithms().map(|row| {
        let parameters = row.parameters.iter().map(|p| (p.name.to_owned(), p.default)).collect();
        Rule {
            parameters,
            ..rule(row.collective.name(), 8, (0, u64::MAX), row.id)
        }
    });
    let mockups = mockup::MOCKUPS
        .iter()
        .map(|row| rule(row.collective.name(), 8, (0, u64::MAX), row.id));
    let rules: Vec<Rule> = algorithms.chain(mockups).collect();
    assert!(rules.len() > 15);
    for rule in rules {
        profile(vec![rule]).check(&Catalogue::built_in(), "p.json").unwrap();
    }
}

/// Searches propose such rows by their plain names; profiles of before have the others.
#[test]
fn either_name_of_a_row_with_two_can_stand_in_a_profile() {
    for alias in kilter_algorithms::alias::ALIASES {
        let row = registry::find(alias.id).unwrap();
        let names = row.parameters.iter().map(|parameter| parameter.name.to_owned());
        let with_values = Rule {
            parameters: names.zip(alias.parameters.iter().copied()).collect(),
            ..rule(row.collective.name(), 8, (0, 1023), alias.id)
        };
        let plain = rule(row.collective.name(), 8, (1024, u64::MAX), alias.plain);
        let both = profile(vec![with_values, plain]);
        both.check(&Catalogue::built_in(), "p.json").unwrap();
        assert_eq!(Profile::parse(&both.to_json().unwrap(), "p.json").unwrap(), both);
    }
}

#[test]
fn the_choices_for_a_range_of_volumes_are_found() {
    let rules = vec![
        rule("bcast", 8, (10, 19), "bcast.binomial"),
        rule("bcast", 8, (30, u64::MAX), "bcast.linear"),
    ];
    let table = Table::compile(&profile(rules), &ranks(8));
    let within = |from, to| {
        let found = table.within(Collective::Bcast, from, to);
        found.map(|entry| entry.implementation.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(within(0, 9), [""; 0]);
    assert_eq!(within(19, 29), ["bcast.binomial"]);
    assert_eq!(within(0, 31), ["bcast.binomial", "bcast.linear"]);
    assert_eq!(within(20, 29), [""; 0]);
    assert!(table.within(Collective::Scan, 0, u64::MAX).next().is_none());
    assert!(!Table::<()>::nothing().has(Collective::Bcast));
}

/// A profile of before has no rows to try, and one without them is written as before.
#[test]
fn rows_to_try_online_are_kept() {
    let mut written = Profile::parse(GOOD, "p.json").unwrap();
    assert!(written.online.is_empty() && !written.to_json().unwrap().contains("online"));
    written.online = vec!["scan.pipelined_chain@8192".to_owned()];
    assert_eq!(Profile::parse(&written.to_json().unwrap(), "p.json").unwrap(), written);
}

#[test]
fn a_table_is_carried_over_to_other_values() {
    let table = Table::compile(&Profile::parse(GOOD, "p.json").unwrap(), &ranks(8));
    let lengths = table
        .try_map(|_, entry| Ok::<_, ()>(entry.implementation.len()))
        .unwrap();
    assert_eq!(
        lengths.lookup(Collective::Reduce, 1),
        Some(&"reduce.as_allreduce".len())
    );
    let refused = table.try_map(|collective, _| {
        if collective == Collective::Scan {
            Err("no scan")
        } else {
            Ok(())
        }
    });
    assert_eq!(refused, Err("no scan"));
}

/// `KILTER_BLESS=1` writes it.
#[test]
fn the_published_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/schema/profile.schema.json");
    let current = Profile::schema().unwrap();
    if std::env::var_os("KILTER_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &current).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap();
    assert!(
        published == current,
        "configs/schema/profile.schema.json is old; run this test with KILTER_BLESS=1"
    );
}

/// Ranges that meet, touch, nest and end at the largest number.
fn any_rule() -> impl Strategy<Value = Rule> {
    let edge = prop_oneof![0..40_u64, Just(u64::MAX), Just(u64::MAX - 1)];
    let collective = prop_oneof![Just("reduce"), Just("scan"), Just("exscan"), Just("nonsense")];
    (collective, any_communicators(), edge.clone(), edge, 0..1000_u32).prop_map(
        |(collective, communicators, min, max, mark)| Rule {
            communicators,
            ..rule(collective, 0, (min, max), &format!("mark.{mark}"))
        },
    )
}

/// Those of one or two ranks, together and apart.
fn any_communicators() -> impl Strategy<Value = Communicators> {
    prop_oneof![
        (1..3_usize).prop_map(Communicators::of_ranks),
        Just(Communicators::of_layout(1, 1)),
        Just(Communicators::of_layout(1, 2)),
        Just(Communicators::of_layout(2, 1)),
    ]
}

proptest! {
    /// The table says what a scan of the rules from the first to the last says, in whatever profile.
    #[test]
    fn lookup_agrees_with_a_scan(rules in prop::collection::vec(any_rule(), 0..12)) {
        let profile = profile(rules);
        let probes = (0..45).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]);
        for placement in [(1, 1), (1, 2), (2, 1), (1, 3)].map(|(nodes, per_node)| Placement::even(nodes, per_node)) {
            let table = Table::compile(&profile, &placement);
            for bytes in probes.clone() {
                for collective in Collective::ALL {
                    let scanned = profile.rules.iter().position(|rule| {
                        rule.communicators.contains(&placement)
                            && rule.collective() == Some(*collective)
                            && (rule.min_bytes..=rule.max_bytes).contains(&bytes)
                    });
                    prop_assert_eq!(table.lookup(*collective, bytes).map(|entry| entry.rule), scanned);
                }
            }
        }
    }

    /// Disjoint, in order, none empty.
    #[test]
    fn ranges_are_disjoint_and_ascending(rules in prop::collection::vec(any_rule(), 0..12)) {
        let table = Table::compile(&profile(rules), &ranks(1));
        let ranges: Vec<_> = table.ranges().map(|(collective, min, max, _)| (collective, min, max)).collect();
        prop_assert!(ranges.iter().all(|(_, min, max)| min <= max));
        prop_assert!(ranges.windows(2).all(|pair| pair[0].0 < pair[1].0 || pair[0].2 < pair[1].1));
    }

    /// An overlap is refused exactly where two rules answer one call.
    #[test]
    fn overlaps_are_found(ranges in prop::collection::vec((any_communicators(), 0..30_u64, 0..10_u64), 0..8)) {
        let rules = ranges.iter().map(|(communicators, min, more)| Rule {
            communicators: *communicators,
            ..rule("reduce", 0, (*min, min + more), "reduce.ring")
        });
        let profile = profile(rules.collect());
        let twice = [(1, 1), (1, 2), (2, 1)].iter().any(|(nodes, per_node)| {
            let placement = Placement::even(*nodes, *per_node);
            (0..45).any(|bytes| {
                let holds = |r: &&Rule| r.communicators.contains(&placement) && (r.min_bytes..=r.max_bytes).contains(&bytes);
                profile.rules.iter().filter(holds).count() > 1
            })
        });
        prop_assert_eq!(profile.check(&Catalogue::built_in(), "p.json").is_err(), twice);
    }

    /// No text crashes the reader.
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", cut in 0..GOOD.len(), put in "[\\[\\]{}\",:0-9a-z-]{0,6}") {
        let _ = Profile::parse(&text, "p.json");
        let mut broken = GOOD.to_owned();
        broken.insert_str(cut, &put);
        let _ = Profile::parse(&broken, "p.json");
        let mut broken = VERSION_1.to_owned();
        broken.insert_str(cut % broken.len(), &put);
        let _ = Profile::parse(&broken, "p.json");
    }
}
