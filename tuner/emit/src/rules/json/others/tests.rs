//! Files as others write them.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::rules::{Choice, Nodes, Rules};

const CHOICE: Choice = Choice {
    algorithm: 4,
    fan: 0,
    segment_bytes: 0,
    requests: None,
};

/// As a site may have it: commas that stand last, remarks in keys of its own, names, nodes, and another order.
const OF_A_SITE: &str = r#"{
    "$schema": "tuned_schema.json",
    "owner": "hpc-support",
    "collectives": {
        "allreduce": [
            {
                "comment": "one node: shared memory wins",
                "comm_rank_distribution": "single-node",
                "rules": [
                    { "msg_size_max": 4095, "alg": "recursive_doubling", "reqs": 8, },
                    { "alg": 6 }
                ],
                "comm_size_max": 64,
            },
            {
                "comm_size_min": 64, "comm_size_max": 128,
                "rules": [ { "msg_size_min": 512, "msg_size_max": "inf", "alg": "ring", "why": [1, 2.5, null] } ]
            },
        ]
    },
    "module": "tuned",
    "rule_file_version": 3
}
"#;

fn knows(_: u64, algorithm: &Algorithm) -> bool {
    match algorithm {
        Algorithm::Number(number) => (0..8).contains(number),
        Algorithm::Name(name) => ["ring", "recursive_doubling"].contains(&name.as_str()),
    }
}

fn read(text: &str) -> Result<Others, RulesError> {
    Others::read(text, &knows)
}

/// Places of the ranks of a communicator.
#[derive(Debug, Clone, Copy, PartialEq)]
enum On {
    OneNode,
    OneNodeEach,
    Others,
}

const EVERYWHERE: [On; 3] = [On::OneNode, On::OneNodeEach, On::Others];

/// The library's own choice of a rule, from the values of a standard parser; `None` leaves the choice to it.
fn chosen(file: &Json, collective: &str, ranks: i64, on: On, bytes: u64) -> Option<Json> {
    let int = |value: &Json, unsaid: i64| match value {
        Json::Null => unsaid,
        Json::String(_) => -1,
        number => i64::from(number.as_i64().unwrap() as i32),
    };
    let range = file["collectives"][collective].as_array()?.iter().find(|range| {
        let fits = match range["comm_rank_distribution"].as_str() {
            Some("single-node") => on == On::OneNode,
            Some("one-per-node") => on == On::OneNodeEach,
            _ => true,
        };
        fits && int(&range["comm_size_min"], 0) <= ranks && ranks <= int(&range["comm_size_max"], i64::from(i32::MAX))
    })?;
    let size = |value: &Json, unsaid: u64| match value {
        Json::Null => unsaid,
        Json::String(_) => i64::MAX as u64,
        number => number.as_i64().unwrap() as u64,
    };
    let rule = range["rules"].as_array()?.iter().find(|rule| {
        size(&rule["msg_size_min"], 0) <= bytes && bytes <= size(&rule["msg_size_max"], i64::MAX as u64)
    })?;
    let alg = rule["alg"].clone();
    (!alg.is_null() && alg != json!(0)).then_some(alg)
}

#[test]
fn what_the_library_takes_is_taken_kept_and_named() {
    let others = read(OF_A_SITE).unwrap();
    let expected = [
        "line 3: `owner` is nothing that Open MPI looks at; it is kept",
        "line 7: `comment` is nothing that Open MPI looks at; it is kept",
        "line 17: `why` is nothing that Open MPI looks at; it is kept",
    ];
    assert_eq!(others.notes(), expected);
    assert_eq!(others.switched_on_size(), [2].into());

    let mut ours = Rules::default();
    ours.add(2, 64, (1024, 2047), CHOICE);
    ours.add(7, 3, (0, 9), CHOICE);
    let merged = others.under(&ours.into()).unwrap();
    let standard: Json = serde_json::from_str(&merged).unwrap();
    for (ranks, on, bytes, expected) in [
        (64, On::OneNode, 1024, Some(json!(4))),
        (64, On::OneNode, 2048, Some(json!("recursive_doubling"))),
        (64, On::OneNode, 4096, Some(json!(6))),
        (64, On::Others, 1024, Some(json!(4))),
        (64, On::Others, 1023, Some(json!("ring"))),
        (64, On::OneNodeEach, 511, None),
        (63, On::OneNode, 1024, Some(json!("recursive_doubling"))),
        (63, On::Others, 1024, None),
        (65, On::Others, 1024, Some(json!("ring"))),
        (129, On::OneNode, 1024, None),
    ] {
        let found = chosen(&standard, "allreduce", ranks, on, bytes);
        assert_eq!(found, expected, "{ranks} ranks, {on:?}, {bytes} bytes");
    }
    assert_eq!(chosen(&standard, "bcast", 3, On::Others, 9), Some(json!(4)));
    assert_eq!(chosen(&standard, "bcast", 4, On::Others, 9), None);
    // Nothing of theirs is lost, and what is merged has nothing new that the library would not take.
    let again = read(&merged).unwrap();
    assert_eq!(again.notes().len(), others.notes().len() + 2, "{:?}", again.notes());
    for part in [
        "hpc-support",
        "shared memory wins",
        "2.5",
        "\"reqs\": 8",
        "tuned_schema.json",
    ] {
        assert!(merged.contains(part), "{part} in {merged}");
    }
}

#[test]
fn what_holds_otherwise_than_it_is_written_is_named() {
    let file = |ranges: &str| format!("{{\"collectives\":{{\"bcast\":[\n{ranges}\n]}}}}");
    for (ranges, part) in [
        (
            "{\"comm_size_max\": \"inf\", \"rules\": []}",
            "takes this `comm_size_max` for -1",
        ),
        (
            "{\"comm_size_max\": \"inf\", \"rules\": []}",
            "of 0 to -1 ranks are none",
        ),
        (
            "{\"comm_size_min\": 4294967297, \"rules\": []}",
            "takes this `comm_size_min` for 1",
        ),
        (
            "{\"rules\": [], \"rules\": []}",
            "`rules` stands there twice, and the first one holds",
        ),
        (
            "{\"comm_rank_distribution\": \"cyclic\", \"rules\": []}",
            "takes for `any`",
        ),
        ("{\"rules\": [{\"algorithm\": 3}]}", "hides those behind it"),
        ("{\"rules\": [{\"algorithm\": 3}]}", "`algorithm` is nothing"),
        (
            "{\"rules\": [{\"alg\": 3.0}]}",
            "neither there as a number nor as a name",
        ),
        ("{\"rules\": [{\"alg\": 99}]}", "no algorithm `99` of bcast"),
        ("{\"rules\": [{\"alg\": \"rings\"}]}", "no algorithm `rings` of bcast"),
        ("{\"rules\": [{\"alg\": 1, \"msg_size_min\": -1}]}", "never holds"),
        (
            "{\"rules\": [{\"alg\": 1, \"msg_size_min\": 9, \"msg_size_max\": 8}]}",
            "never holds",
        ),
    ] {
        let others = read(&file(ranges)).unwrap();
        assert!(
            others
                .notes()
                .iter()
                .any(|note| note.contains(part) && note.starts_with("line 2: ")),
            "{ranges}: {:?}",
            others.notes()
        );
    }
    for (text, part) in [
        (
            "{\"collectives\": {}, \"rule_file_version\": 2}",
            "does not look at `rule_file_version`",
        ),
        (
            "{\"collectives\": {}, \"module\": \"han\"}",
            "does not look at `module`",
        ),
        ("{\"collectives\": {\"gatherv_\": []}}", "takes `gatherv_` for gatherv"),
        (
            "{\"collectives\": {\"bcast\": [], \"bcast\": []}}",
            "the last one holds",
        ),
    ] {
        let notes = read(text).unwrap().notes().join("\n");
        assert!(notes.contains(part), "{text}: {notes}");
    }
    assert!(
        read("{\"collectives\": {\"bcast\": [{\"rules\": [{\"alg\": 2}]}]}}")
            .unwrap()
            .notes()
            .is_empty()
    );
}

#[test]
fn what_voids_the_file_in_silence_is_an_error_with_its_line() {
    for (text, line, part) in [
        ("[]", 1, "no object `collectives`"),
        ("{ \"collective\": {} }", 1, "no object `collectives`"),
        ("{\n\"collectives\": [] }", 2, "`collectives` is no object"),
        (
            "{\n\"collectives\": {\n\"reducescatter\": [] } }",
            3,
            "`reducescatter` is no collective",
        ),
        ("{ \"collectives\": { \"bcast\": {} } }", 1, "`bcast` has no list"),
        ("{ \"collectives\": { \"bcast\": [1] } }", 1, "`rules` is missing"),
        (
            "{ \"collectives\": { \"bcast\": [\n{ \"comm_size_min\": 4.0, \"rules\": [] }] } }",
            2,
            "`comm_size_min` is no integer",
        ),
        (
            "{ \"collectives\": { \"bcast\": [{ \"comm_rank_distribution\": 1, \"rules\": [] }] } }",
            1,
            "is no text",
        ),
        (
            "{ \"collectives\": { \"bcast\": [{ \"rules\": null }] } }",
            1,
            "`rules` is no list",
        ),
        (
            "{ \"collectives\": { \"bcast\": [{ \"rules\": {} }] } }",
            1,
            "never set",
        ),
        (
            "{ \"collectives\": { \"bcast\": [{ \"rules\": [\n{ \"alg\": 1, \"reqs\": \"8\" }] }] } }",
            2,
            "`reqs` is no integer",
        ),
        (
            "{ \"collectives\": { \"gatherv\": [{ \"rules\": [\n{ \"alg\": 1 }] }] } }",
            2,
            "ends every job",
        ),
        ("{ // all\n\"collectives\": {} }", 1, "reads no comments"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.message.contains(part), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

/// Files that the library takes, of two collectives.
fn files() -> impl Strategy<Value = String> {
    let number = |most: i64| {
        prop_oneof![
            (0..most).prop_map(|number| json!(number)),
            Just(json!("inf")),
            Just(json!(-1)),
            Just(Json::Null)
        ]
    };
    let alg = prop_oneof![
        (0_u64..6).prop_map(|number| json!(number)),
        Just(json!("ring")),
        Just(Json::Null)
    ];
    let without_nulls = |value: Json| match value {
        Json::Object(map) => Json::Object(map.into_iter().filter(|(_, value)| !value.is_null()).collect()),
        other => other,
    };
    let rule = (number(20), number(20), alg).prop_map(move |(min, max, alg)| {
        without_nulls(json!({ "msg_size_min": min, "msg_size_max": max, "alg": alg }))
    });
    let on = prop_oneof![
        Just(Json::Null),
        Just(json!("any")),
        Just(json!("single-node")),
        Just(json!("one-per-node"))
    ];
    let range =
        (number(12), number(12), on, prop::collection::vec(rule, 0..4)).prop_map(move |(min, max, on, rules)| {
            without_nulls(
                json!({ "comm_size_min": min, "comm_size_max": max, "comm_rank_distribution": on, "rules": rules }),
            )
        });
    let ranges = || prop::option::of(prop::collection::vec(range.clone(), 0..4));
    (ranges(), ranges()).prop_map(move |(bcast, allreduce)| {
        json!({ "collectives": without_nulls(json!({ "bcast": bcast, "allreduce": allreduce })) }).to_string()
    })
}

proptest! {
    #[test]
    fn ours_hold_first_and_theirs_wherever_ours_say_nothing(
        theirs in files(),
        ours in prop::collection::vec(
            (prop_oneof![Just(2_u64), Just(7)], 1_u64..12, 0_u64..20, 0_u64..4, prop::sample::subsequence(&Nodes::ANY, 1..=2)),
            0..4,
        ),
    ) {
        let mut rules = ByNodes::default();
        for (collective, ranks, low, algorithm, nodes) in ours {
            rules.add_between(&nodes, collective, (ranks, ranks), (low, low + 9), Choice { algorithm, ..CHOICE });
        }
        let others = read(&theirs).unwrap();
        let merged: Json = serde_json::from_str(&others.under(&rules).unwrap()).unwrap();
        let theirs: Json = serde_json::from_str(&theirs).unwrap();
        for (id, collective) in [(2, "allreduce"), (7, "bcast")] {
            for (ranks, on) in (1_i64..14).flat_map(|ranks| EVERYWHERE.map(|on| (ranks, on))) {
                let nodes = if on == On::OneNode { Nodes::One } else { Nodes::Several };
                for bytes in (0..32).chain([1 << 40]) {
                    let expected = match rules.of(nodes).lookup(id, ranks.unsigned_abs(), bytes).algorithm {
                        0 => chosen(&theirs, collective, ranks, on, bytes),
                        own => Some(json!(own)),
                    };
                    let found = chosen(&merged, collective, ranks, on, bytes);
                    prop_assert_eq!(found, expected, "{} {} {:?} {} in {}", collective, ranks, on, bytes, merged);
                }
            }
        }
    }
}
