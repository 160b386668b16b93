//! Algorithms of the library that are wrong where ranks have different datatypes.

use std::rc::Rc;

use kilter_protocol::expression::Layout;

use super::*;

/// Bcast of 4096 B takes four times as long as it should, unless an algorithm is asked for: the second is the fastest.
fn slow_bcast() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("bcast", |call, usual| {
        let factor = match (call.bytes, call.algorithm) {
            (4096, 0 | 1) => 4.0,
            (4096, 2) => 0.5,
            (4096, 3) => 0.7,
            _ => 1.0,
        };
        factor * usual
    })
}

const BCAST: &str = "--guidelines GL10 --sizes 4096 --only parameters --rounds 1";

#[test]
fn an_algorithm_that_ends_the_job_on_the_roots_struct_is_not_chosen() {
    let fails = |call: &Call<'_>| call.algorithm == 2 && call.sendtype == Layout::Struct;
    let run = tune(slow_bcast().crashes(fails), BCAST);
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast_algorithm=3"]);
    assert_eq!(quarantined(&run), [("bcast_algorithm=2", "crashed")]);
    let run = tune(slow_bcast().wrong_data(fails), BCAST);
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast_algorithm=3"]);
    assert_eq!(quarantined(&run), [("bcast_algorithm=2", "delivered wrong data")]);
}

/// That says nothing of an algorithm.
#[test]
fn where_the_library_itself_fails_on_a_struct_the_fastest_is_chosen() {
    let run = tune(slow_bcast().crashes(|call| call.sendtype == Layout::Struct), BCAST);
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast_algorithm=2"]);
    assert_eq!(quarantined(&run), []);
}

/// An algorithm that hangs with one segment size is not run with others: each hang takes seconds.
#[test]
fn an_algorithm_that_hangs_on_the_roots_struct_hangs_once() {
    let hung = Rc::new(std::cell::Cell::new(0));
    let seen = Rc::clone(&hung);
    let library = ScriptedLibrary::new()
        .cost("bcast", |call, usual| match (call.bytes, call.algorithm) {
            (4096, 3) => 0.5 * usual,
            (4096, 2) => 0.9 * usual,
            (4096, _) => 4.0 * usual,
            _ => usual,
        })
        .hangs(move |call| {
            let hangs = call.algorithm == 3 && call.sendtype == Layout::Struct;
            seen.set(seen.get() + usize::from(hangs));
            hangs
        });
    let run = tune(library, BCAST);
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast_algorithm=2"]);
    assert_eq!((hung.get(), quarantined(&run).len()), (1, 1), "{:?}", quarantined(&run));
    let fields = &run.report.contests[0].candidates;
    let others = fields.iter().filter_map(|one| one.not_deployed.as_ref());
    let mut texts = others.map(ToString::to_string);
    assert!(
        texts.any(|text| text.contains("the same algorithm hung as")),
        "{fields:?}"
    );
}
