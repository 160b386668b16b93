//! Algorithms of the library that are wrong where ranks have different datatypes.

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
