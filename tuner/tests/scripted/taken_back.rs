//! Chosen changes that spoil something are taken back.

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
