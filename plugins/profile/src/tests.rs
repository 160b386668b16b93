use std::collections::BTreeMap;

use kilter_algorithms::{Collective, mockup, registry};
use kilter_protocol::row::{Needs, Parameter, Row};
use proptest::prelude::*;

use super::*;

fn rule(collective: &str, ranks: usize, bytes: (u64, u64), implementation: &str) -> Rule {
    Rule {
        collective: collective.to_owned(),
        ranks,
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
        rules,
        online: Vec::new(),
    }
}

const GOOD: &str = r#"{
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

#[test]
fn a_profile_is_read_and_looked_up() {
    let profile = Profile::parse(GOOD, "p.json").unwrap();
    let table = Table::compile(&profile, 8);
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
    assert_eq!(Table::compile(&profile, 7).ranges().count(), 0);
}

#[test]
fn a_profile_is_written_and_read_back() {
    let profile = Profile::parse(GOOD, "p.json").unwrap();
    assert_eq!(Profile::parse(&profile.to_json().unwrap(), "p.json").unwrap(), profile);
}

/// Each mistake is made in the good text, so that nothing else is wrong with it.
#[test]
fn mistakes_are_named_with_their_place_and_what_is_allowed() {
    for (from, to, expected) in [
        (
            "\"version\": 1,",
            "\"version\": 2,",
            "profile p.json: version 2 is not supported; allowed: 1; ",
        ),
        (
            "\"library\":",
            "\"libary\":",
            "profile p.json: unknown field `libary`, expected one of `version`, `library`",
        ),
        ("\"library\":", "\"libary\":", "at line 3 column 10"),
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
            "\"min_bytes\": 1,",
            "\"min_bytes\": 1.5,",
            "invalid type: floating point `1.5`",
        ),
        (
            "\"ranks\": 8, \"min_bytes\": 1,",
            "\"ranks\": 0, \"min_bytes\": 1,",
            "rules[1].ranks: 0 ranks; allowed: 1 to 2147483647",
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
            "rules[0] and rules[1] overlap for reduce on 8 ranks: both match 65536 to 65540 bytes",
        ),
        ("libkilter_collectives.so", "", "plugins[0]: \"\" is no path"),
        (
            "libkilter_collectives.so",
            "lib\\u0000.so",
            "plugins[0]: \"lib\\0.so\" is no path",
        ),
        ("  ]\n}\n", "  ]\n", "EOF while parsing an object at line 11"),
        ("  ]\n}\n", "  ]\n} {}\n", "trailing characters at line 11 column 3"),
    ] {
        assert!(GOOD.contains(from), "`{from}` is not in the good text");
        let error = Profile::parse(&GOOD.replacen(from, to, 1), "p.json")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("profile p.json: ") && error.contains(expected),
            "`{to}`: {error}"
        );
    }
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

#[test]
fn the_choices_for_a_range_of_volumes_are_found() {
    let rules = vec![
        rule("bcast", 8, (10, 19), "bcast.binomial"),
        rule("bcast", 8, (30, u64::MAX), "bcast.linear"),
    ];
    let table = Table::compile(&profile(rules), 8);
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
    let table = Table::compile(&Profile::parse(GOOD, "p.json").unwrap(), 8);
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
    (collective, 1..3_usize, edge.clone(), edge, 0..1000_u32)
        .prop_map(|(collective, ranks, min, max, mark)| rule(collective, ranks, (min, max), &format!("mark.{mark}")))
}

proptest! {
    /// The table says what a scan of the rules from the first to the last says, in whatever profile.
    #[test]
    fn lookup_agrees_with_a_scan(rules in prop::collection::vec(any_rule(), 0..12)) {
        let profile = profile(rules);
        let probes = (0..45).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]);
        for ranks in 1..4 {
            let table = Table::compile(&profile, ranks);
            for bytes in probes.clone() {
                for collective in Collective::ALL {
                    let scanned = profile.rules.iter().position(|rule| {
                        rule.ranks == ranks
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
        let table = Table::compile(&profile(rules), 1);
        let ranges: Vec<_> = table.ranges().map(|(collective, min, max, _)| (collective, min, max)).collect();
        prop_assert!(ranges.iter().all(|(_, min, max)| min <= max));
        prop_assert!(ranges.windows(2).all(|pair| pair[0].0 < pair[1].0 || pair[0].2 < pair[1].1));
    }

    /// An overlap is refused exactly where two rules answer one call.
    #[test]
    fn overlaps_are_found(ranges in prop::collection::vec((1..3_usize, 0..30_u64, 0..10_u64), 0..8)) {
        let rules = ranges.iter().map(|(ranks, min, more)| rule("reduce", *ranks, (*min, min + more), "reduce.ring"));
        let profile = profile(rules.collect());
        let twice = (1..3).any(|ranks| {
            (0..45).any(|bytes| {
                let answers = profile.rules.iter().filter(|r| r.ranks == ranks && (r.min_bytes..=r.max_bytes).contains(&bytes));
                answers.count() > 1
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
    }
}
