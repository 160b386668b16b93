//! Gains of calls in the report.

use kilter_model::report::{DeployedChange, GainVerdict};

use super::*;

/// Reduce takes four times as long as it should from 1 KiB to 16 KiB, unless algorithm 2 carries it out; of 64 B it takes what it should.
fn slow_in_the_middle() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("reduce", |call, usual| match (call.bytes, call.algorithm) {
        (1024..=16384, 2) | (64, _) => usual,
        _ => 4.0 * usual,
    })
}

const SIZES: &str = "--guidelines GL8 --sizes 64,1024,4096,16384 --only parameters";

#[test]
fn calls_are_compared_with_themselves_and_one_change_has_all_its_sizes() {
    let run = tune(slow_in_the_middle(), SIZES);
    let [change] = run.report.changes.as_slice() else {
        panic!("{:#?}", run.report.changes)
    };
    assert_eq!(change.name, "MPI_Reduce, 1 KiB to 16 KiB");
    assert_eq!(
        (
            change.function.as_deref(),
            change.sizes.as_slice(),
            change.measured_sizes
        ),
        (Some("reduce"), [1024, 4096, 16384].as_slice(), 3)
    );
    assert!(
        change.ranges.len() == 1 && change.ranges[0].contains(2048),
        "{:?}",
        change.ranges
    );
    assert_eq!(change.calls.len(), 3);
    assert!((3.9..4.1).contains(&change.gain), "{}", change.gain);
    let gain = run.report.gain.as_ref().unwrap();
    // A rule touches its collective at every size.
    assert_eq!(
        (gain.calls, gain.faster, gain.slower),
        (4, 3, 0),
        "{:#?}",
        run.report.gains
    );
    assert_eq!((gain.best.function.as_str(), gain.worst.bytes), ("reduce", 64));
    let text = kilter_report::terminal::table(&run.report);
    let first = text.lines().nth(1).unwrap();
    assert!(
        first.starts_with("3 of 4 calls became faster: ") && first.ends_with("; none became slower."),
        "{first}"
    );
    assert!(
        text.lines().nth(2).unwrap().starts_with("3 violations before, 0 after"),
        "{text}"
    );
}

/// The setting acts on everything, and alone makes one call faster.
#[test]
fn a_setting_of_whole_launches_has_the_calls_that_it_made_faster() {
    let library = slow_reduce(|call| call.is("x", "1")).setting("x", "0", &["1"]);
    let run = tune(library, "--guidelines GL8 --sizes 1024,4096 --only parameters");
    let change: &DeployedChange = &run.report.changes[0];
    assert_eq!((change.name.as_str(), change.function.as_deref()), ("x", None));
    let calls: Vec<(&str, u64)> = change.calls.iter().map(|call| (&*call.function, call.bytes)).collect();
    assert_eq!(calls, [("reduce", 4096)]);
    assert_eq!(change.calls[0].verdict, GainVerdict::Faster);
    let gains = run.report.gain.as_ref().unwrap();
    assert!(gains.calls > 1 && gains.faster == 1, "{gains:?}");
}

#[test]
fn where_nothing_is_deployed_or_tried_nothing_gained() {
    let nothing = tune(ScriptedLibrary::new(), SIZES);
    let checked = check(slow_in_the_middle(), "--guidelines GL8 --sizes 64,1024");
    for report in [&nothing.report, &checked.report] {
        assert!(report.gain.is_none() && report.gains.is_empty());
    }
    assert_eq!(
        kilter_report::terminal::table(&checked.report).lines().nth(1),
        Some("1 violation found.")
    );
}
