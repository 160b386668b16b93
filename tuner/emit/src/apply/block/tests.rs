//! The block goes in, changes and comes out, and everything else stays.

use proptest::prelude::*;

use super::*;

fn parameters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn limit(value: &str) -> Vec<(String, String)> {
    parameters(&[("btl_vader_eager_limit", value)])
}

fn put(text: &str, parameters: &[(String, String)], aside: bool) -> Result<Merged, BlockError> {
    merge(
        text.as_bytes(),
        "openmpi-4.1",
        &["A title.".to_owned()],
        parameters,
        (aside, &[]),
    )
}

fn text(merged: &Merged) -> String {
    String::from_utf8(merged.text.clone()).unwrap()
}

#[test]
fn the_block_comes_last_and_names_its_library() {
    let merged = put("# site\nbtl = ^openib\n", &limit("32768"), false).unwrap();
    insta::assert_snapshot!(text(&merged), @r"
    # site
    btl = ^openib
    # >>> kilter openmpi-4.1 >>>
    # A title.
    # `kilter rollback` takes this block out again.
    btl_vader_eager_limit = 32768
    # <<< kilter <<<
    ");
}

/// A line whose setting is kept elsewhere is put aside unasked, and nothing else with it.
#[test]
fn lines_that_are_kept_elsewhere_never_stop_it() {
    let theirs = "btl_vader_eager_limit = 4096\npml = ob1\n";
    let both = parameters(&[("btl_vader_eager_limit", "32768"), ("pml", "cm")]);
    let merged = |kept: &[&str]| merge(theirs.as_bytes(), "openmpi-4.1", &[], &both, (false, kept));
    let error = merged(&["btl_vader_eager_limit"]).unwrap_err().to_string();
    assert!(error.starts_with("line 2: ") && !error.contains("line 1"), "{error}");
    let merged = merged(&["btl_vader_eager_limit", "pml"]).unwrap();
    assert_eq!(merged.put_aside.len(), 2);
    let text = text(&merged);
    assert!(
        text.starts_with("# put aside by kilter: btl_vader_eager_limit = 4096\n# put aside"),
        "{text}"
    );
    for (name, value) in [
        ("btl_vader_eager_limit", Some("4096")),
        ("pml", Some("ob1")),
        ("btl", None),
    ] {
        for text in [theirs, &*text] {
            assert_eq!(
                set_by_others(text.as_bytes(), name).unwrap().as_deref(),
                value,
                "{text}"
            );
        }
    }
    let later = format!("{text}pml = ucx\n");
    assert_eq!(set_by_others(later.as_bytes(), "pml").unwrap().as_deref(), Some("ucx"));
}

#[test]
fn a_second_block_replaces_the_first_where_it_stands() {
    let first = text(&put("a = 1\n", &limit("1"), false).unwrap()) + "b = 2\n";
    let second = text(&put(&first, &limit("2"), false).unwrap());
    assert_eq!(second, first.replace("limit = 1", "limit = 2"));
    assert_eq!(text(&put(&second, &[], false).unwrap()), "a = 1\nb = 2\n");
}

#[test]
fn a_line_of_theirs_is_a_conflict_with_line_and_both_values() {
    for line in ["btl_vader_eager_limit=4096 # ours", "--mca btl_vader_eager_limit 4096"] {
        let error = put(&format!("# x\n{line}\n"), &limit("32768"), false)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("line 2: "), "{error}");
        assert!(
            error.contains("`btl_vader_eager_limit = 4096`") && error.contains("`32768`"),
            "{error}"
        );
        assert!(error.contains("--override"), "{error}");
    }
    assert!(put("btl_vader_eager_limit = 32768\n", &limit("32768"), false).is_ok());
    assert!(put("# btl_vader_eager_limit = 1\n", &limit("32768"), false).is_ok());
}

#[test]
fn what_was_put_aside_comes_back_when_the_block_no_longer_sets_it() {
    let theirs = "btl_vader_eager_limit = 4096 # why\r\nbtl = self\n";
    let merged = put(theirs, &limit("32768"), true).unwrap();
    assert_eq!(merged.put_aside.len(), 1);
    assert!(text(&merged).starts_with("# put aside by kilter: btl_vader_eager_limit = 4096 # why\r\nbtl = self\n"));
    // It stays aside under another value, and needs no second permission.
    let again = put(&text(&merged), &limit("65536"), false).unwrap();
    assert!(text(&again).starts_with("# put aside by kilter: btl_vader_eager_limit = 4096"));
    let other = put(&text(&again), &parameters(&[("pml", "ob1")]), false).unwrap();
    assert!(text(&other).starts_with(theirs));
    // And the other way.
    assert_eq!(restore(&other.text, &again.text).unwrap(), again.text);
    assert_eq!(text(&put(&text(&other), &[], false).unwrap()), theirs);
}

#[test]
fn another_librarys_block_is_replaced_only_when_asked() {
    let first = merge(b"", "openmpi-5.0", &[], &limit("1"), (false, &[])).unwrap();
    let error = put(&text(&first), &limit("2"), false).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("openmpi-5.0"), "{error}");
    assert!(put(&text(&first), &limit("2"), true).is_ok());
    assert_eq!(put(&text(&first), &[], false).unwrap().text, first.text);
}

#[test]
fn broken_marks_are_named_and_nothing_is_guessed() {
    let whole = text(&put("", &limit("1"), false).unwrap());
    for (text, line, part) in [
        (whole.replace(END, ""), 1, "does not end"),
        (format!("a = 1\n{END}\n"), 2, "did not begin"),
        (format!("{whole}{whole}"), 6, "second"),
        (whole.replacen(" >>>\n", "\n", 1), 1, "cut off"),
    ] {
        let error = put(&text, &limit("2"), true).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("line {line}: ")) && error.contains(part),
            "{error}"
        );
    }
}

proptest! {
    #[test]
    fn everything_else_stays_byte_for_byte(
        lines in prop::collection::vec(prop_oneof!["[a-c]{1,2} ?= ?[0-9]{1,2}", "# [a-z= ]{0,8}", "[ -~]{0,9}", "é?\r?"], 0..8),
        ended: bool,
        before: bool,
    ) {
        let mut theirs = lines.join("\n");
        if ended {
            theirs.push('\n');
        }
        let ours = parameters(&[("a", "7"), ("b", "8")]);
        let first = put(&theirs, &ours, true).unwrap();
        // The way back from one block, and from a second one to the first.
        prop_assert_eq!(&restore(&first.text, theirs.as_bytes()).unwrap(), theirs.as_bytes());
        let second = put(&text(&first), &parameters(&[("b", "9"), ("c", "1")]), true).unwrap();
        prop_assert_eq!(&restore(&second.text, &first.text).unwrap(), &first.text);
        prop_assert_eq!(&put(&text(&second), &[], false).unwrap().text, theirs.as_bytes());
        // Lines that they add meanwhile stay as well.
        if ended {
            let edited = if before { format!("z = 1\n{}", text(&first)) } else { format!("{}z = 1\n", text(&first)) };
            let back = restore(edited.as_bytes(), theirs.as_bytes()).unwrap();
            let expected = if before { format!("z = 1\n{theirs}") } else { format!("{theirs}z = 1\n") };
            prop_assert_eq!(String::from_utf8(back).unwrap(), expected);
        }
    }
}
