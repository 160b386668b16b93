//! A written file is read as it was meant, and one that the library would ignore is refused.

use kilter_model::config::library::find_for;

use super::*;

fn components(version: &str) -> Components {
    let library = find_for(&format!("mpirun (Open MPI) {version}")).unwrap();
    library.components.unwrap()
}

/// Broadcast of 64 KiB to 1 MiB on eight ranks is handed on.
fn bcast() -> ComponentRules {
    let mut rules = ComponentRules::default();
    rules.add(7, (8, 8), (65536, 1_048_576), "tuned", "han");
    rules
}

const TEXT: &str = "1\n7\n1\n2\n3\n1\n1\n0 han\n8\n3\n0 han\n65536 tuned\n1048577 han\n9\n1\n0 han\n";

#[test]
fn what_is_written_reads_back_in_every_release() {
    for version in ["4.1.4", "5.0.11", "6.0.0"] {
        let components = components(version);
        let text = bcast().to_text(&components);
        assert!(
            text.starts_with("# Components") && text.contains("coll_han_use_dynamic_file_rules=1"),
            "{text}"
        );
        assert_eq!(ComponentRules::parse(&text, &components).unwrap(), bcast(), "{version}");
        assert_eq!(ComponentRules::parse(TEXT, &components).unwrap(), bcast(), "{version}");
    }
}

#[test]
fn only_the_tuned_communicator_and_sizes_are_handed_on() {
    let mut rules = bcast();
    rules.add(7, (8, 8), (2_097_152, u64::MAX), "tuned", "han");
    let to = |ranks, bytes| rules.lookup(7, ranks, bytes).unwrap().component.as_str();
    for (ranks, bytes, component) in [
        (8, 65535, "han"),
        (8, 65536, "tuned"),
        (8, 1_048_576, "tuned"),
        (8, 1_048_577, "han"),
        (8, 1 << 30, "tuned"),
        (7, 65536, "han"),
        (9, 65536, "han"),
        (2, 65536, "han"),
    ] {
        assert_eq!(to(ranks, bytes), component, "{ranks} ranks, {bytes} bytes");
    }
    assert_eq!(rules.lookup(11, 8, 65536), None);
}

#[test]
fn what_the_library_would_ignore_is_refused() {
    for (from, to, part) in [
        ("1\n7\n", "0\n7\n", "`0` is no number of collectives; allowed: 1 to"),
        ("1\n7\n", "2\n7\n", "the file ends before the collective"),
        (
            "1\n7\n",
            "1\n3\n",
            "`3` is no collective that is handed on; allowed: allgather (0)",
        ),
        ("1\n7\n", "1\nbroadcast\n", "no collective"),
        ("7\n1\n2\n", "7\n1\n3\n", "`3` is no level; allowed: 0 to 2"),
        ("7\n1\n2\n", "7\n0\n2\n", "number of levels"),
        (
            "3\n1\n1\n0 han\n",
            "3\n2\n1\n0 han\n",
            "communicator size; allowed: 1 to 1",
        ),
        ("3\n1\n1\n0 han\n", "3\n1\n1\n1 han\n", "message size; allowed: 0 to 0"),
        ("3\n1\n1\n0 han\n", "3\n1\n0\n0 han\n", "number of message sizes"),
        (
            "9\n1\n0 han\n",
            "8\n1\n0 han\n",
            "communicator sizes must ascend, and 8 follows 8",
        ),
        (
            "1048577 han",
            "512 han",
            "message sizes must ascend, and 512 follows 65536",
        ),
        ("tuned", "turned", "`turned` is no component; allowed: self, basic"),
        ("tuned", "3", "no component"),
        ("65536", "065536", "without zeros"),
        ("65536", "64KiB", "no message size"),
        ("65536", "-1", "no message size"),
        ("65536 tuned", "65536 tuned#1", "put a blank"),
        ("65536 tuned", "65536\u{b}tuned", "neither a blank"),
        ("9\n1\n0 han\n", "9\n1\n0 han\n7\n", "`7` follows the last rule"),
        ("tuned", "a_component_with_a_name_that_is_long", "more than 32"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        assert_ne!(text, TEXT, "{from}");
        for version in ["4.1.4", "5.0.11"] {
            let error = ComponentRules::parse(&text, &components(version))
                .unwrap_err()
                .to_string();
            assert!(error.contains(part), "{version}: {error}");
        }
    }
}

#[test]
fn a_mistake_is_named_with_its_line() {
    let error = ComponentRules::parse("1 # one\n7 # bcast\n\n1\n9\n", &components("5.0.11")).unwrap_err();
    assert_eq!(error.line, 5, "{error}");
}

#[test]
fn what_stands_twice_is_refused() {
    let rule = "1 2 1 1 1 0 han";
    for text in [
        format!("2 7 {rule} 7 {rule}"),
        "1 7 2 2 1 1 1 0 han 2 1 1 1 0 han".to_owned(),
    ] {
        let error = ComponentRules::parse(&text, &components("5.0.11"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("twice"), "{error}");
    }
}

/// Names of levels and algorithms came with 5.0; HAN itself carries out whole communicators only.
#[test]
fn a_release_reads_the_words_that_it_has() {
    let (old, new) = (components("4.1.4"), components("5.0.11"));
    for (text, part) in [
        ("1 bcast 1 global_communicator 1 1 1 0 tuned", "no level"),
        ("1 7 1 2 1 1 1 0 han @simple", "allowed: none in this release"),
    ] {
        ComponentRules::parse(text, &new).unwrap();
        let error = ComponentRules::parse(text, &old).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let rules = ComponentRules::parse("1 7 1 2 1 1 2 0 han @ 2 8 han @intra", &new).unwrap();
    assert_eq!(rules.lookup(7, 4, 0).unwrap().algorithm.as_deref(), Some("simple"));
    assert_eq!(ComponentRules::parse(&rules.to_text(&new), &new).unwrap(), rules);
    for (text, part) in [
        (
            "1 7 1 2 1 1 1 0 han @fast",
            "`@fast` is no algorithm for bcast; allowed: default, intra",
        ),
        ("1 7 1 2 1 1 1 0 tuned @simple", "none of `tuned`"),
        ("1 7 1 0 1 1 1 0 han", "carries out no level but 2"),
    ] {
        let error = ComponentRules::parse(text, &new).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
