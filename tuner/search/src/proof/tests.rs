//! Fingerprints of messages, and what they prove.

use kilter_bench::launch::session::BlockOutcome;
use kilter_model::config::library::Messages;

use super::counting::assignments;
use super::*;

fn forced(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn two_patterns_prove_that_choosing_acts() {
    // The default is one of them, as it mostly is.
    let found = Finding::of(Some("0>1:1 0>2:1"), &forced(&["0>1:1 0>2:1", "0>1:1 1>2:1"]), 3);
    assert_eq!(found, Finding::Acts { forced: 2, kinds: 2 });
    assert!(found.credits(&Selection::Settings(Vec::new())));
}

/// HAN decides: whichever algorithm is forced, the same is sent.
#[test]
fn one_pattern_of_many_algorithms_is_no_effect() {
    let han = "0>1:1 0>2:1 2>3:1";
    let found = Finding::of(Some(han), &forced(&[han; 9]), 4);
    assert_eq!(found, Finding::NoEffect { forced: 9 });
    assert!(!found.credits(&Selection::Settings(Vec::new())));
    assert!(found.credits(&Selection::Mockup("bcast.as_scatter_allgather".to_owned(), Vec::new())));
}

#[test]
fn what_may_be_alike_is_no_proof_against_it() {
    let unknown = |default: Option<&str>, all: &[&str], ranks| {
        let found = Finding::of(default, &forced(all), ranks);
        assert!(matches!(found, Finding::Unknown(_)), "{found:?}");
        assert!(found.credits(&Selection::Settings(Vec::new())));
    };
    unknown(Some("a"), &["a"; 9], 2);
    unknown(Some("a"), &["a"; 2], 8);
    unknown(None, &["a"; 9], 8);
    unknown(Some("a"), &[], 8);
}

#[test]
fn a_sites_list_of_components_is_extended() {
    let messages = Messages {
        counters: vec!["c".to_owned()],
        parameters: [("enable".to_owned(), "1".to_owned())].into(),
        among: [("pml".to_owned(), "monitoring".to_owned())].into(),
    };
    let with = |site: &str| -> Vec<String> {
        let device = [("pml".to_owned(), site.to_owned())].into();
        let all = assignments(&messages, &device);
        all.iter().map(|one| format!("{}={}", one.name, one.value)).collect()
    };
    assert_eq!(with("ob1"), ["enable=1", "pml=ob1,monitoring"]);
    for site in ["", "^ucx", "monitoring,ob1"] {
        assert_eq!(with(site), ["enable=1"], "{site}");
    }
}

#[test]
fn a_fingerprint_has_every_counter() {
    let messages = Messages {
        counters: vec!["count".to_owned(), "size".to_owned()],
        parameters: BTreeMap::new(),
        among: BTreeMap::new(),
    };
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut outcome = BlockOutcome::default();
    let said = vec![pair("coll", "6"), pair("count", "0>1:1"), pair("size", "0>1:8")];
    outcome.read_back.insert("x".to_owned(), said);
    outcome.read_back.insert("y".to_owned(), vec![pair("count", "0>1:1")]);
    assert_eq!(sent(&messages, &outcome, "x").as_deref(), Some("0>1:1; 0>1:8"));
    assert_eq!(sent(&messages, &outcome, "y"), None);
    assert_eq!(sent(&messages, &outcome, "z"), None);
}
