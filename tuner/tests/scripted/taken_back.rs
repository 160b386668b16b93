//! Chosen changes that spoil something are taken back.

use std::cell::Cell;
use std::rc::Rc;

use kilter_protocol::plan::Element;

use super::*;

fn is_deployed(call: &Call<'_>) -> bool {
    !call.settings.value("coll_tuned_dynamic_rules_filename").is_empty()
        || !call.settings.value("KILTER_PROFILE").is_empty()
}

#[test]
fn a_setting_that_slows_another_cell_is_not_accepted() {
    for slower in [1.25, 2.0] {
        let library = slow_reduce(|call| call.is("x", "1"))
            .setting("x", "0", &["1"])
            .cost(
                "allreduce",
                move |call, usual| if call.is("x", "1") { slower * usual } else { usual },
            )
            .cost(
                "bcast",
                move |call, usual| if call.is("x", "1") { slower * usual } else { usual },
            );
        let run = tune(library, "--guidelines GL8,GL10 --sizes 4096 --only parameters");
        assert_eq!(changes(&run), [""; 0], "{slower}");
        assert!(unfixed(&run, SLOW).contains("x=1"), "{}", unfixed(&run, SLOW));
    }
}

/// Together with a file of rules, which no launch of the search has, the setting slows Allreduce.
#[test]
fn a_setting_that_spoils_what_is_deployed_is_taken_back() {
    let library = slow_reduce(|call| call.is("x", "1"))
        .setting("x", "0", &["1"])
        .cost(
            "bcast",
            |call, usual| if call.algorithm == 2 { usual } else { 4.0 * usual },
        )
        .cost("allreduce", |call, usual| {
            if call.is("x", "1") && is_deployed(call) {
                1.5 * usual
            } else {
                usual
            }
        });
    let run = tune(library, "--guidelines GL8,GL10,GL12 --sizes 4096 --only parameters");
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast_algorithm=2"]);
    assert!(is_mended(&run, "GL10 bcast 4096"));
    warning(&run, "`x=1` is taken back");
}

#[test]
fn a_selection_that_takes_the_deployed_job_down_is_taken_back() {
    let library = slow_reduce(|_| false).crashes(|call| call.item == "reduce.as_allreduce" && is_deployed(call));
    let run = tune(library, REDUCE);
    assert!(
        !changes(&run).iter().any(|change| change.contains("as_allreduce")),
        "{:?}",
        changes(&run)
    );
    let put_away = quarantined(&run);
    assert!(
        put_away.contains(&("reduce.as_allreduce for reduce 4096", "crashed")),
        "{put_away:?}"
    );
}

/// A library whose setting `x=1` mends Reduce; under the deployment Allreduce takes 1.3 times as long in the first `launches` of its launches.
fn slow_for(launches: usize) -> ScriptedLibrary {
    let made = Rc::new(Cell::new(0));
    let seen = Rc::clone(&made);
    slow_reduce(|call| call.is("x", "1"))
        .setting("x", "0", &["1"])
        .fails_to_start(move |settings| {
            // Rules are written for Bcast, which only the deployment has.
            let is_deployed = !settings.value("coll_tuned_dynamic_rules_filename").is_empty();
            made.set(made.get() + usize::from(is_deployed));
            false
        })
        .cost(
            "bcast",
            |call, usual| if call.algorithm == 2 { usual } else { 4.0 * usual },
        )
        .cost("allreduce", move |call, usual| {
            if is_deployed(call) && seen.get() <= launches {
                1.3 * usual
            } else {
                usual
            }
        })
}

/// The machine may be in another state for the launches of the proof. What seems slower is looked at once more in fresh launches.
#[test]
fn a_slowdown_that_passes_takes_nothing_back() {
    let command = "--guidelines GL8,GL10,GL12 --sizes 4096 --only parameters";
    let run = tune(slow_for(16), command);
    assert!(
        changes(&run).iter().any(|change| change == "x=1"),
        "{:?}",
        changes(&run)
    );
    assert!(is_mended(&run, SLOW) && is_mended(&run, "GL10 bcast 4096"));
    let taken_back = |text: &&String| text.contains("is taken back");
    assert_eq!(run.report.warnings.iter().find(taken_back), None);
    let run = tune(slow_for(usize::MAX), command);
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast_algorithm=2"]);
    warning(&run, "takes 1.3");
}

/// A row that is faster with doubles and slower with bytes is no gain for every application: no rule asks for the type, so that the proof holds for both.
/// With `--type double`'s kernels alone it was deployed.
#[test]
fn what_is_slower_with_another_type_is_taken_back() {
    let library = |factor: f64| {
        ScriptedLibrary::new().row("reduce.binomial", move |call, usual| {
            usual
                * if call.element == Some(Element::Byte) {
                    factor
                } else {
                    0.5
                }
        })
    };
    let arguments = format!("{REDUCE} --only algorithms --rounds 1");
    let run = tune(library(1.5), &arguments);
    assert_eq!(changes(&run), Vec::<String>::new());
    warning(
        &run,
        "`reduce.binomial` is taken back: reduce(n) @4096 of MPI_BYTE takes 1.5",
    );
    let run = tune(library(1.0), &arguments);
    assert!(changes(&run).iter().all(|change| change.ends_with("reduce.binomial")));
    assert!(!run.report.changes.is_empty());
    let run = tune(library(1.5), &format!("{arguments} --type byte"));
    assert!(
        !run.report.changes.is_empty(),
        "bytes are all that is asked for, and the contest has them"
    );
}
