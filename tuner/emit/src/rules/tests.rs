//! Written rules are read back, and accepted ones are those that the library reads, character by character.

use kilter_model::config::library::RulesForm;
use proptest::prelude::*;

use super::*;

mod as_the_library_reads;

const CHOICE: Choice = Choice {
    algorithm: 4,
    fan: 0,
    segment_bytes: 32768,
    requests: None,
};

/// The rules as a file of this form has them.
fn through(rules: &Rules, form: RulesForm) -> Rules {
    let text = ByNodes::from(rules.clone()).write(form).unwrap();
    everywhere_alike(&ByNodes::read(&text, form).unwrap())
}

fn everywhere_alike(rules: &ByNodes) -> Rules {
    assert_eq!(rules.of(Nodes::One), rules.of(Nodes::Several));
    rules.of(Nodes::One).clone()
}

fn to_json(rules: &Rules) -> Result<String, RulesError> {
    ByNodes::from(rules.clone()).to_json()
}

fn parse_json(text: &str) -> Result<Rules, RulesError> {
    ByNodes::parse_json(text).map(|rules| everywhere_alike(&rules))
}

#[test]
fn a_rule_is_fenced_on_all_sides() {
    let mut rules = Rules::default();
    rules.add(11, 8, (92_682, 262_144), CHOICE);
    for form in [RulesForm::Numbers, RulesForm::Json] {
        let rules = through(&rules, form);
        assert_eq!(rules.lookup(11, 8, 262_144), CHOICE);
        assert_eq!(rules.lookup(11, 8, 92_682), CHOICE);
        for (ranks, bytes) in [
            (8, 92_681),
            (8, 262_145),
            (7, 100_000),
            (9, 100_000),
            (2, 100_000),
            (1000, 100_000),
        ] {
            assert_eq!(
                rules.lookup(11, ranks, bytes),
                Choice::default(),
                "{ranks} ranks, {bytes} bytes"
            );
        }
        assert_eq!(rules.lookup(7, 8, 262_144), Choice::default());
    }
}

#[test]
fn adjacent_ranges_do_not_cut_each_other() {
    let other = Choice { algorithm: 3, ..CHOICE };
    let mut rules = Rules::default();
    rules.add(7, 8, (10, 99), CHOICE);
    rules.add(7, 8, (100, 200), other);
    assert_eq!(
        (rules.lookup(7, 8, 99), rules.lookup(7, 8, 100), rules.lookup(7, 8, 201)),
        (CHOICE, other, Choice::default())
    );
}

/// The library takes the rules of the next smaller size: behind the end of a range stands a row that has what was there before.
#[test]
fn a_range_of_sizes_ends_where_it_was_told_to() {
    let other = Choice { algorithm: 3, ..CHOICE };
    let mut rules = Rules::default();
    rules.add_between(7, (4, 16), (0, u64::MAX), CHOICE);
    rules.add(7, 8, (10, 99), other);
    rules.add_between(7, (20, i32::MAX as u64), (100, 200), other);
    for form in [RulesForm::Numbers, RulesForm::Json] {
        let rules = through(&rules, form);
        for ranks in [1, 3, 4, 7, 8, 9, 16, 17, 19, 20, 4096] {
            for bytes in [0, 9, 10, 99, 100, 200, 201] {
                let expected = match (ranks, bytes) {
                    (8, 10..=99) | (20.., 100..=200) => other,
                    (4..=16, _) => CHOICE,
                    _ => Choice::default(),
                };
                assert_eq!(rules.lookup(7, ranks, bytes), expected, "{ranks} ranks, {bytes} bytes");
            }
        }
    }
}

/// The fence of one number of ranks is where the next one begins, in whatever order they come.
#[test]
fn rules_for_several_numbers_of_ranks_stand_side_by_side() {
    let other = Choice { algorithm: 2, ..CHOICE };
    for order in [[2, 3, 16], [16, 3, 2]] {
        let mut rules = Rules::default();
        for ranks in order {
            let (range, choice) = match ranks {
                2 => ((1024, 4096), CHOICE),
                3 => ((0, u64::MAX), other),
                _ => ((2048, 8192), CHOICE),
            };
            rules.add(11, ranks, range, choice);
        }
        let rules = Rules::parse(&rules.to_text()).unwrap();
        for ranks in 1..=20 {
            for bytes in [0, 1023, 1024, 2047, 2048, 4096, 4097, 8192, 8193] {
                let expected = match ranks {
                    2 if (1024..=4096).contains(&bytes) => CHOICE,
                    3 => other,
                    16 if (2048..=8192).contains(&bytes) => CHOICE,
                    _ => Choice::default(),
                };
                assert_eq!(
                    rules.lookup(11, ranks, bytes),
                    expected,
                    "{order:?}: {ranks} ranks, {bytes} bytes"
                );
            }
        }
    }
}

#[test]
fn only_a_rule_with_requests_needs_version_2() {
    let mut rules = Rules::default();
    rules.add(7, 4, (0, u64::MAX), CHOICE);
    assert!(rules.to_text().starts_with("# Rules of"));
    let limited = Choice {
        requests: Some(8),
        ..CHOICE
    };
    rules.add(3, 4, (1024, 2047), limited);
    insta::assert_snapshot!(rules.to_text(), @r"
    rule-file-version-2
    # Rules of Open MPI's coll_tuned, written by kilter. Set coll_tuned_use_dynamic_rules=1 as well.
    2 # collectives
    3 # collective id
    3 # communicator sizes
    0 # ranks and more
    1 # message sizes
    0 0 0 0
    4 # ranks and more
    3 # message sizes
    0 0 0 0
    1024 4 0 32768 8
    2048 0 0 0
    5 # ranks and more
    1 # message sizes
    0 0 0 0
    7 # collective id
    3 # communicator sizes
    0 # ranks and more
    1 # message sizes
    0 0 0 0
    4 # ranks and more
    1 # message sizes
    0 4 0 32768
    5 # ranks and more
    1 # message sizes
    0 0 0 0
    ");
    insta::assert_snapshot!(to_json(&rules).unwrap(), @r#"
    {
      "rule_file_version": 3,
      "module": "tuned",
      "collectives": {
        "alltoall": [
          {
            "comm_size_min": 4,
            "comm_size_max": 4,
            "rules": [
              {
                "msg_size_min": 1024,
                "msg_size_max": 2047,
                "alg": 4,
                "seg_size": 32768,
                "reqs": 8
              }
            ]
          }
        ],
        "bcast": [
          {
            "comm_size_min": 4,
            "comm_size_max": 4,
            "rules": [
              {
                "msg_size_min": 0,
                "msg_size_max": "inf",
                "alg": 4,
                "seg_size": 32768
              }
            ]
          }
        ]
      }
    }
    "#);
}

/// A comment before the mark would make the library read version 1, in which the mark is a mistake.
#[test]
fn a_title_stands_after_the_mark() {
    let mut rules = Rules::default();
    rules.add(7, 4, (0, u64::MAX), CHOICE);
    let titled = numbers::titled("# A title.\n", &rules.to_text());
    assert!(titled.starts_with("# A title.\n# Rules"), "{titled}");
    let limited = Choice {
        requests: Some(0),
        ..CHOICE
    };
    rules.add(3, 4, (0, u64::MAX), limited);
    let titled = numbers::titled("# A title.\n", &rules.to_text());
    assert!(
        titled.starts_with("rule-file-version-2\n# A title.\n# Rules"),
        "{titled}"
    );
    assert_eq!(Rules::parse(&titled).unwrap(), rules);
    let error = Rules::parse(&format!("# A title.\n{}", rules.to_text())).unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.message.contains("must be the first line"), "{error}");
}

#[test]
fn what_open_mpi_would_ignore_is_refused_with_its_line() {
    for (text, line, part) in [
        ("1\n7\n1\n0\n1\n0 1 0\n", 6, "ends where the segment size"),
        ("1\n7\n1\n0\n1\n4 1 0 0\n", 6, "message size 4"),
        ("1\n7\n1\n0\n1\n0 010 0 0\n", 6, "octal"),
        ("1\n7\n1\n0\n2\n0 1 0 0\n0 2 0 0\n", 7, "ascend"),
        ("1\n99\n", 2, "collective id 99"),
        ("1\n7\n1\n0\n1\n0 -1 0 0\n", 6, "not a number"),
        ("1\n7\n1\n0\n1\n0 +1 0 0\n", 6, "not a number"),
        ("0\n5\n", 2, "after the last rule"),
        ("2\n7\n1\n0\n1\n0 1 0 0\n7\n1\n0\n1\n0 2 0 0\n", 7, "twice"),
        // The column of version 2 in a file of version 1.
        ("1\n7\n1\n0\n1\n0 1 0 0 8\n", 6, "after the last rule"),
        (
            "rule-file-version-2\n1\n7\n1\n0\n1\n0 1 0 0\n8\n",
            8,
            "after the last rule",
        ),
        (
            "rule-file-version-2\n1\n7\n1\n0\n1\n0 1 0 0 8 8\n",
            7,
            "after the last rule",
        ),
        ("rule-file-version-3\n0\n", 1, "allowed: `rule-file-version-2`"),
        ("rule-file-version-1\n0\n", 1, "nothing for version 1"),
        (" rule-file-version-2\n0\n", 1, "first line"),
        ("1\n7\n1\n2147483648\n1\n0 1 0 0\n", 4, "not between 0 and 2147483647"),
        ("0\u{b}\n", 1, "control character"),
    ] {
        let error = Rules::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn json_that_open_mpi_would_ignore_or_misread_is_refused_with_its_line() {
    let mut rules = Rules::default();
    let limited = Choice {
        requests: Some(8),
        ..CHOICE
    };
    rules.add(12, 4, (1024, 2047), limited);
    let good = to_json(&rules).unwrap();
    for (from, to, line, part) in [
        (
            "\"reduce_scatter\"",
            "\"reducescatter\"",
            5,
            "`reducescatter` is no collective; allowed: allgather",
        ),
        ("comm_size_max", "comm_size_mx", 8, "unknown field `comm_size_mx`"),
        (
            "\"comm_size_max\": 4",
            "\"comm_size_max\": \"inf\"",
            8,
            "invalid type: string \"inf\"",
        ),
        (
            "\"comm_size_max\": 4",
            "\"comm_size_max\": 3",
            1,
            "from 4 to 3 are none",
        ),
        ("\"comm_size_min\": 4", "\"comm_size_min\": -4", 7, "invalid value"),
        (
            "\"comm_size_min\": 4",
            "\"comm_size_min\": 4294967300",
            7,
            "is more than 2147483647",
        ),
        (
            "\"msg_size_min\": 1024",
            "\"msg_size_min\": \"inf\"",
            11,
            "invalid type",
        ),
        (
            "\"msg_size_min\": 1024",
            "\"msg_size_min\": 9223372036854775808",
            11,
            "is more than",
        ),
        (
            "\"msg_size_max\": 2047",
            "\"msg_size_max\": \"infinite\"",
            12,
            "a number of bytes or \"inf\"",
        ),
        (
            "\"msg_size_max\": 2047",
            "\"msg_size_max\": 2",
            1,
            "from 1024 to 2 are none",
        ),
        ("\"alg\": 4,", "", 16, "missing field `alg`"),
        ("\"alg\": 4", "\"alg\": 4.0", 13, "invalid type: floating point"),
        ("\"alg\": 4", "\"alg\": \"ring\"", 13, "invalid type: string \"ring\""),
        ("seg_size", "segsize", 14, "unknown field `segsize`"),
        (
            "\"rule_file_version\": 3",
            "\"rule_file_version\": 2",
            1,
            "allowed: 3 of `tuned`",
        ),
        ("\"module\": \"tuned\"", "\"module\": \"han\"", 1, "module `han`"),
        ("\"reqs\": 8", "\"reqs\": 8, \"reqs\": 9", 15, "duplicate field `reqs`"),
        ("\"reqs\": 8", "\"reqs\": 8,", 16, "trailing comma"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        let error = parse_json(&good.replacen(from, to, 1)).unwrap_err();
        assert!(error.message.contains(part), "`{to}`: {error}");
        assert_eq!(error.line, line, "`{to}`: {error}");
    }
    let twice = good.replacen(
        "\"collectives\": {",
        "\"collectives\": { \"bcast\": [], \"bcast\": [],",
        1,
    );
    assert!(
        parse_json(&twice)
            .unwrap_err()
            .message
            .contains("`bcast` stands there twice")
    );
    let with_schema = good.replacen('{', "{ \"$schema\": \"tuned_schema.json\",", 1);
    assert_eq!(parse_json(&with_schema).unwrap(), rules.normalized());
}

/// The first range that fits holds, so a narrow one may stand before a wide one.
#[test]
fn ranges_of_json_may_overlap() {
    let text = r#"{ "rule_file_version": 3, "module": "tuned", "collectives": { "bcast": [
        { "comm_size_min": 4, "comm_size_max": 7, "rules": [ { "msg_size_max": 99, "alg": 1 }, { "alg": 2, "msg_size_max": "Inf" } ] },
        { "rules": [ { "msg_size_min": 50, "alg": 3, "faninout": 2 } ] } ] } }"#;
    let rules = parse_json(text).unwrap();
    for (ranks, bytes, expected) in [
        (3, 49, 0),
        (3, 50, 3),
        (4, 99, 1),
        (7, 100, 2),
        (8, 0, 0),
        (8, 50, 3),
        (1 << 20, 1 << 40, 3),
    ] {
        assert_eq!(
            rules.lookup(7, ranks, bytes).algorithm,
            expected,
            "{ranks} ranks, {bytes} bytes"
        );
    }
    assert_eq!(rules.lookup(7, 8, 50).fan, 2);
}

#[test]
fn a_collective_without_a_name_is_refused() {
    let mut rules = Rules::default();
    rules.add(22, 4, (0, 9), CHOICE);
    assert!(to_json(&rules).unwrap_err().message.contains("collective id 22"));
}

#[test]
fn rules_of_a_site_hold_where_ours_say_nothing() {
    let (mine, site) = (Choice { algorithm: 1, ..CHOICE }, Choice { algorithm: 2, ..CHOICE });
    let mut ours = Rules::default();
    ours.add(7, 8, (1024, 2047), mine);
    // As sites write them: for every size of communicators at once.
    let theirs = Rules::parse("2\n7\n1\n4\n2\n0 0 0 0\n512 2 0 32768\n2\n1\n0\n1\n0 2 0 32768\n").unwrap();
    let merged = ours.over(&theirs);
    for (ranks, bytes, expected) in [
        (8, 1024, mine),
        (8, 2047, mine),
        (8, 2048, site),
        (8, 1023, site),
        (8, 511, Choice::default()),
        (7, 1024, site),
        (9, 1024, site),
        (2, 512, site),
    ] {
        assert_eq!(merged.lookup(7, ranks, bytes), expected, "{ranks} ranks, {bytes} bytes");
    }
    assert_eq!(merged.lookup(2, 8, 0), site);
    assert_eq!(ours.over(&Rules::default()), ours.normalized());
    assert_eq!(merged.switched_on_size(), [7].into());
}

/// Rules as Kilter adds them.
fn added() -> impl Strategy<Value = Rules> {
    let entry = (
        0_u64..22,
        1_u64..20,
        1_u64..1000,
        0_u64..8,
        (0_u64..9, 0_u64..1 << 20),
        prop::option::of(0_u64..64),
    );
    prop::collection::vec(entry, 0..8).prop_map(|entries| {
        let mut rules = Rules::default();
        for (collective, ranks, low, algorithm, (fan, segment_bytes), requests) in entries {
            let choice = Choice {
                algorithm,
                fan,
                segment_bytes,
                requests,
            };
            rules.add(collective, ranks, (low, low + 10), choice);
        }
        rules
    })
}

/// Points at which a choice may change, and their neighbours.
fn everywhere(rules: &[&Rules]) -> Vec<(u64, u64, u64)> {
    let mut all = Vec::new();
    let near = |size: &u64| [size.saturating_sub(1), *size, size + 1];
    for rules in rules {
        for (id, by_ranks) in &rules.collectives {
            for (ranks, by_bytes) in by_ranks {
                for ranks in near(ranks) {
                    all.extend(by_bytes.keys().flat_map(near).map(|bytes| (*id, ranks, bytes)));
                }
            }
        }
    }
    all
}

/// A rule for one node stands first and ends with its node: where it says nothing, the library decides, and not the rule for several nodes.
#[test]
fn rules_for_one_node_and_for_several_do_not_meet() {
    let other = Choice { algorithm: 3, ..CHOICE };
    let mut rules = ByNodes::default();
    rules.add_between(&[Nodes::One], 7, (8, 8), (0, 99), CHOICE);
    rules.add_between(&[Nodes::Several], 7, (8, 16), (50, u64::MAX), other);
    rules.add_between(&Nodes::ANY, 2, (4, 4), (0, 9), CHOICE);
    let text = rules.write(RulesForm::Json).unwrap();
    let read = ByNodes::read(&text, RulesForm::Json).unwrap();
    assert_eq!(read, rules.normalized());
    for (ranks, bytes, on_one, on_several) in [
        (8, 49, CHOICE, Choice::default()),
        (8, 99, CHOICE, other),
        (8, 100, Choice::default(), other),
        (9, 100, Choice::default(), other),
        (16, 50, Choice::default(), other),
        (7, 60, Choice::default(), Choice::default()),
    ] {
        let found = Nodes::ANY.map(|nodes| read.of(nodes).lookup(7, ranks, bytes));
        assert_eq!(found, [on_one, on_several], "{ranks} ranks, {bytes} bytes");
    }
    insta::assert_snapshot!(text, @r#"
    {
      "rule_file_version": 3,
      "module": "tuned",
      "collectives": {
        "allreduce": [
          {
            "comm_size_min": 4,
            "comm_size_max": 4,
            "rules": [
              {
                "msg_size_min": 0,
                "msg_size_max": 9,
                "alg": 4,
                "seg_size": 32768
              }
            ]
          }
        ],
        "bcast": [
          {
            "comm_size_min": 8,
            "comm_size_max": 8,
            "comm_rank_distribution": "single-node",
            "rules": [
              {
                "msg_size_min": 0,
                "msg_size_max": 99,
                "alg": 4,
                "seg_size": 32768
              }
            ]
          },
          {
            "comm_size_min": 8,
            "comm_size_max": 8,
            "rules": [
              {
                "msg_size_min": 50,
                "msg_size_max": "inf",
                "alg": 3,
                "seg_size": 32768
              }
            ]
          },
          {
            "comm_size_min": 9,
            "comm_size_max": 16,
            "comm_rank_distribution": "single-node",
            "rules": []
          },
          {
            "comm_size_min": 9,
            "comm_size_max": 16,
            "rules": [
              {
                "msg_size_min": 50,
                "msg_size_max": "inf",
                "alg": 3,
                "seg_size": 32768
              }
            ]
          }
        ]
      }
    }
    "#);
    let error = rules.write(RulesForm::Numbers).unwrap_err().to_string();
    assert!(error.contains("which the form of numbers cannot say"), "{error}");
    // A rule that would not act on `MPI_COMM_WORLD` is none of ours.
    let error = ByNodes::parse_json(&text.replace("single-node", "one-per-node")).unwrap_err();
    assert!(error.message.contains("unknown variant `one-per-node`"), "{error}");
}

/// The part of a choice that decides; without an algorithm nothing else does.
fn decided(choice: Choice) -> Choice {
    if choice.algorithm == 0 {
        Choice::default()
    } else {
        choice
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(rules in added()) {
        prop_assert_eq!(&Rules::parse(&rules.to_text()).unwrap(), &rules);
        let from_json = parse_json(&to_json(&rules).unwrap()).unwrap();
        prop_assert_eq!(&from_json, &rules.normalized());
        for (id, ranks, bytes) in everywhere(&[&rules, &from_json]) {
            prop_assert_eq!(from_json.lookup(id, ranks, bytes), decided(rules.lookup(id, ranks, bytes)));
        }
    }

    #[test]
    fn what_is_written_for_one_node_and_for_several_is_read_back(one in added(), several in added()) {
        let mut rules = ByNodes::from(one);
        *rules.of_mut(Nodes::Several) = several;
        let read = ByNodes::parse_json(&rules.to_json().unwrap()).unwrap();
        prop_assert_eq!(read, rules.normalized());
    }

    #[test]
    fn merged_rules_are_ours_and_then_theirs(ours in added(), theirs in added()) {
        let merged = ours.over(&theirs);
        prop_assert_eq!(&Rules::parse(&merged.to_text()).unwrap(), &merged);
        for (id, ranks, bytes) in everywhere(&[&ours, &theirs, &merged]) {
            let (first, second) = (ours.lookup(id, ranks, bytes), theirs.lookup(id, ranks, bytes));
            let expected = decided(if first.algorithm == 0 { second } else { first });
            prop_assert_eq!(merged.lookup(id, ranks, bytes), expected, "{} {} {}", id, ranks, bytes);
        }
    }
}
