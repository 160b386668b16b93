use std::sync::LazyLock;

use kilter_algorithms::Collective;
use proptest::prelude::*;

use super::*;
use crate::config::library::{Library, find_for};

/// Read once: each test of a property takes them hundreds of times.
static INTEL: LazyLock<Library> =
    LazyLock::new(|| find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap());
static MVAPICH2: LazyLock<Library> = LazyLock::new(|| find_for("Version: mvapich2-2.3.7").unwrap());

fn intel() -> Library {
    INTEL.clone()
}

fn mvapich2() -> Library {
    MVAPICH2.clone()
}

fn row(library: &Library, collective: Collective) -> &Algorithms {
    library.algorithms_of(collective).unwrap()
}

fn range(choice: u64, bytes: (u64, u64)) -> Ranged {
    Ranged { choice, bytes }
}

/// Values that the library accepted in runs, and values that it did not.
#[test]
fn intels_values_are_read_as_the_library_reads_them() {
    let read = |value| parse(Form::Intel, "I_MPI_ADJUST_BCAST", value).unwrap();
    assert_eq!(
        read("0:0-90;7:91-1024;0:1025-2147483647"),
        [range(0, (0, 90)), range(7, (91, 1024)), range(0, (1025, u64::MAX))]
    );
    assert_eq!(read("7"), [range(7, ALL)]);
    assert_eq!(read("7:65536,8"), [range(7, (65536, 65536)), range(7, (8, 8))]);
    // `scripts/probe-intel-ranges` finds that no size is left alone.
    for (value, bytes, expected) in [
        ("9:10-20", 1024, Some(9)),
        ("9:100-200;1:300-400", 40, Some(9)),
        ("9:100-200;1:300-400", 160, Some(9)),
        ("9:100-200;1:300-400", 240, Some(1)),
        ("9:100-200;1:300-400", 1024, Some(1)),
        ("1:0-50;9:100-200", 60, Some(9)),
        ("0:0-90;9:91-500;0:501-2147483647", 40, None),
        ("0:0-90;9:91-500;0:501-2147483647", 200, Some(9)),
    ] {
        assert_eq!(lookup(Form::Intel, &read(value), bytes), expected, "{value}, {bytes} B");
    }
    for value in [
        "7:0-max",
        "",
        "7:",
        "x",
        "7:5-4",
        "7:0-1@",
        "7:0-8@4-4",
        "7;",
        "+7",
        "7: 8",
    ] {
        let error = parse(Form::Intel, "I_MPI_ADJUST_BCAST", value).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("`{value}` of `I_MPI_ADJUST_BCAST`: ")),
            "{error}"
        );
    }
}

#[test]
fn mvapich2s_values_are_read_as_the_library_reads_them() {
    let read = |value| parse(Form::Mvapich2, "MV2_INTER_BCAST_TUNING", value).unwrap();
    assert_eq!(
        read("1:0-16384,5:16384-+"),
        [range(1, (0, 16384)), range(5, (16384, u64::MAX))]
    );
    assert_eq!(read("10"), [range(10, ALL)]);
    // Two ranges that meet give the size to the first one: only upper ends are compared.
    assert_eq!(lookup(Form::Mvapich2, &read("1:0-16384,5:16384-+"), 16384), Some(1));
    assert_eq!(lookup(Form::Mvapich2, &read("1:0-16,5:17-32"), 33), Some(5));
    for value in ["1:0-16384;5:16385-+", "1:16", "1:+-8", "1,2", "1:0-8,", "a"] {
        assert!(
            parse(Form::Mvapich2, "MV2_INTER_BCAST_TUNING", value).is_err(),
            "{value}"
        );
    }
}

/// The library would take these values and not do what they say.
#[test]
fn values_that_cannot_be_relied_on_are_refused() {
    let (intel, mvapich2) = (intel(), mvapich2());
    for (library, form, value, part) in [
        (&intel, Form::Intel, "99", "no algorithm 99"),
        (&intel, Form::Intel, "1:0-8;2:8-2147483647", "follow each other"),
        (&intel, Form::Intel, "7:91-5792", "begin at 0"),
        (&intel, Form::Intel, "0:0-90;7:91-5792", "end with `2147483647`"),
        (&intel, Form::Intel, "7:0-2147483647@4-4", "give sizes alone"),
        (&mvapich2, Form::Mvapich2, "1:0-8,2:10-+", "follow each other"),
        (&mvapich2, Form::Mvapich2, "1:1-+", "begin at 0"),
        (&mvapich2, Form::Mvapich2, "1:0-8,2:9-16", "end with `+`"),
        (&mvapich2, Form::Mvapich2, "0", "no algorithm 0"),
        (&mvapich2, Form::Mvapich2, "5", "say it in two: 5:0-1024,5:1025-+"),
        (&mvapich2, Form::Mvapich2, "5:0-+", "say it in two: 5:0-1024,5:1025-+"),
    ] {
        let error = check(row(library, Collective::Bcast), form, value)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(check(row(&intel, Collective::Bcast), Form::Intel, "0:0-8;2:9-2147483647").is_ok());
    // MVAPICH2 counts alltoall's from 0.
    assert!(check(row(&mvapich2, Collective::Alltoall), Form::Mvapich2, "0:0-8,0:9-+").is_ok());
    // The library leaves to chance a number that stands in a list.
    let reduce = row(&mvapich2, Collective::Reduce);
    assert!(check(reduce, Form::Mvapich2, "8").is_ok());
    let error = check(reduce, Form::Mvapich2, "2:0-8,8:9-+").unwrap_err().to_string();
    assert!(error.contains("give one number for all sizes"), "{error}");
}

/// MVAPICH2 drops ranges without a word while the operation's indexed table is on.
#[test]
fn a_value_without_what_it_needs_is_refused() {
    let mvapich2 = mvapich2();
    let row = row(&mvapich2, Collective::Bcast);
    let set = |names: &[&str]| -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "0".to_owned())).collect()
    };
    let both = ["MV2_USE_INDEXED_TUNING", "MV2_USE_INDEXED_BCAST_TUNING"];
    assert_eq!(beside(row, "5", &set(&both)), Ok(()));
    let error = beside(row, "5", &set(&both[..1])).unwrap_err().to_string();
    assert!(error.contains("without `MV2_USE_INDEXED_BCAST_TUNING=0`"), "{error}");
}

#[test]
fn a_value_holds_for_its_volumes() {
    let (intel, mvapich2) = (intel(), mvapich2());
    let volumes = [8, 1024, 32768, 262_144];
    let compose =
        |library, collective, chosen: &[(u64, u64)]| compose(row(library, collective), 4, &volumes, chosen).unwrap();
    insta::assert_snapshot!(
        [
            compose(&intel, Collective::Bcast, &[(1024, 7)]),
            compose(&intel, Collective::Bcast, &[(1024, 7), (262_144, 3)]),
            compose(&intel, Collective::Bcast, &[(1024, 7), (32768, 7)]),
            compose(&intel, Collective::Allgather, &[(1024, 2)]),
            compose(&intel, Collective::ReduceScatterBlock, &[(1024, 2), (32768, 3)]),
            compose(&mvapich2, Collective::Bcast, &[(1024, 5)]),
            compose(&mvapich2, Collective::Bcast, &[(8, 1), (32768, 5)]),
            compose(&mvapich2, Collective::Scatter, &[(8, 1), (32768, 2)]),
            compose(&mvapich2, Collective::Reduce, &[(8, 2)]),
        ]
        .join("\n"),
        @"
    0:0-90;7:91-5792;0:5793-2147483647
    0:0-90;7:91-5792;0:5793-92681;3:92682-262144;0:262145-2147483647
    0:0-90;7:91-92681;0:92682-2147483647
    0:0-22;2:23-1448;0:1449-2147483647
    0:0-22;2:23-1448;3:1449-23170;0:23171-2147483647
    5:0-1024,5:1025-+
    1:0-722,5:723-+
    1:0-178,2:179-+
    2
    "
    );
}

/// Screening must try the form that is deployed: 9 as a number by itself and 9 in a list run different algorithms.
#[test]
fn what_is_tried_has_the_form_of_what_is_deployed() {
    let (intel, mvapich2) = (intel(), mvapich2());
    for library in [&intel, &mvapich2] {
        for row in &library.algorithms {
            let at_start = row.at_start.unwrap();
            for choice in &row.choices {
                let tried = for_all(at_start, choice.value);
                assert!(
                    check(row, at_start.form, &tried).is_ok(),
                    "{tried} of {}",
                    row.parameter
                );
                let deployed = compose(row, 4, &[1024], &[(1024, choice.value)]).unwrap();
                if at_start.form == Form::Mvapich2 {
                    assert_eq!(tried, deployed, "{}", row.parameter);
                }
                assert_eq!(
                    tried.contains(','),
                    at_start.form == Form::Mvapich2 && at_start.unit.is_some()
                );
            }
        }
    }
}

fn chosen() -> impl Strategy<Value = (u64, Vec<u64>, Vec<(u64, u64)>)> {
    (
        1_u64..9,
        prop::collection::btree_map(0_u32..20, prop::option::of(1_u64..4), 1..8),
    )
        .prop_map(|(ranks, picks)| {
            let volume = |exponent: u32| (1_u64 << exponent) * ranks;
            let volumes = picks.keys().map(|exponent| volume(*exponent)).collect();
            let chosen = picks
                .iter()
                .filter_map(|(exponent, choice)| Some((volume(*exponent), (*choice)?)));
            (ranks, volumes, chosen.collect())
        })
}

proptest! {
    /// Round trip: what is composed is accepted, and chooses for each volume what was asked for it; Intel's on no other volume.
    #[test]
    fn what_is_composed_is_what_the_library_runs((ranks, volumes, chosen) in chosen(), per_rank in any::<bool>()) {
        let collective = if per_rank { Collective::Scatter } else { Collective::Bcast };
        for library in [intel(), mvapich2()] {
            let row = row(&library, collective);
            let Some(text) = compose(row, ranks, &volumes, &chosen) else {
                prop_assert!(chosen.is_empty());
                continue;
            };
            let form = row.at_start.unwrap().form;
            let ranges = check(row, form, &text).unwrap();
            prop_assert_eq!(to_text(form, &ranges), text.clone());
            let standing = standing(row, ranks, &volumes, &text).unwrap();
            for pair in &chosen {
                prop_assert!(standing.contains(pair), "{} does not hold for {:?}", text, pair);
            }
            if form.librarys_own().is_some() {
                prop_assert_eq!(&standing, &chosen);
            }
        }
    }
}
