//! Rows beside settings of whole launches. The library's Allreduce takes 1.64 times the usual time of Reduce.

use super::*;

/// Reduce of 4096 B takes four times its usual time, and `with` times under `x=1`. A binomial tree takes `row.0` times under `x=1`, and `row.1` without.
fn library(with: f64, row: (f64, f64)) -> ScriptedLibrary {
    ScriptedLibrary::new()
        .setting("x", "0", &["1"])
        .cost("reduce", move |call, usual| {
            let factor = match (call.bytes, call.is("x", "1")) {
                (4096, true) => with,
                (4096, false) => 4.0,
                _ => 1.0,
            };
            factor * usual
        })
        .row("reduce.binomial", move |call, usual| {
            let (with, without) = if call.bytes == 4096 { row } else { (4.0, 4.0) };
            usual * if call.is("x", "1") { with } else { without }
        })
}

fn found(library: ScriptedLibrary) -> Vec<String> {
    let run = tune(library, &format!("{REDUCE} --rounds 1"));
    assert!(is_mended(&run, SLOW), "{:#?}", run.report.warnings);
    changes(&run)
}

const BINOMIAL: &str = "MPI_Reduce at 4 KiB=reduce.binomial";

/// Under the setting the library needs nothing else.
#[test]
fn a_row_that_gains_nothing_under_a_setting_is_not_deployed_beside_it() {
    assert_eq!(found(library(0.8, (0.79, 1.2))), ["x=1"]);
    assert_eq!(found(library(0.8, (3.0, 1.2))), ["x=1"], "slower under it");
}

#[test]
fn a_row_that_is_faster_still_under_a_setting_is_deployed_beside_it() {
    assert_eq!(found(library(0.8, (0.5, 1.2))), ["x=1", BINOMIAL]);
}

#[test]
fn a_setting_that_is_slower_than_the_best_row_without_it_is_left_out() {
    assert_eq!(found(library(1.5, (0.7, 0.8))), [BINOMIAL]);
}
