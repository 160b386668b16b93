//! A component decides by itself, and hands single collectives of single sizes to the one that has the algorithms.

use super::*;

/// Its file, and the variable that says the same for one collective.
pub(super) const COMPONENTS: &str = r#"
[components]
form = "han"
parameters = { use_components = "1" }
filename = "components_filename"
names = ["other", "tuned", "han"]
own = "han"
of_algorithms = "tuned"
switch = "{collective}_component"
collectives = [
    { collective = "allgather", id = 0, counts = "per_rank" },
    { collective = "bcast", id = 7, counts = "total" },
]
"#;

/// The broken cell, and one that nothing may touch.
const BCAST: &str = "GL10 bcast 4096";
const ALLGATHER: &str = "GL6 allgather 4096";
const BOTH: &str = "--guidelines GL10,GL6 --sizes 1024,4096";

/// Broadcast of 4 KiB is slow unless algorithm 2 is asked for; without the component allgather is.
fn slow_bcast() -> ScriptedLibrary {
    let is_slow = |call: &Call<'_>| call.bytes == 4096 && call.algorithm != 2;
    ScriptedLibrary::new()
        .setting("gate", "0", &["1"])
        .admits_algorithms(|settings| settings.value("gate") == "1")
        .cost(
            "bcast",
            move |call, usual| if is_slow(call) { 4.0 * usual } else { usual },
        )
        .cost(
            "allgather",
            |call, usual| if call.is("gate", "1") { 1.5 * usual } else { usual },
        )
}

#[test]
fn one_size_of_one_collective_is_handed_on_where_the_gate_would_slow_another() {
    let gate_alone = tune(slow_bcast(), &format!("{BOTH} --only parameters"));
    assert_eq!(changes(&gate_alone), [""; 0]);

    let run = tune(slow_bcast().described(COMPONENTS), &format!("{BOTH} --only parameters"));
    assert_eq!(
        changes(&run),
        ["MPI_Bcast at 4 KiB=bcast_algorithm=2 bcast_component=1"]
    );
    assert_eq!(
        run.report.changes[0].file,
        "openmpi-coll-rules.conf, openmpi-han-rules.conf"
    );
    assert!(is_mended(&run, BCAST));
    let untouched = cell(&run, ALLGATHER);
    assert_eq!(untouched.before.verdict, Outcome::Holds);
    assert!(
        untouched
            .after
            .as_ref()
            .is_none_or(|after| after.verdict == Outcome::Holds)
    );
    assert!(!run.report.warnings.iter().any(|text| text.contains("taken back")));
}

/// The algorithms are compared in vain, since the component decides. That takes the search's seconds; those of a proof that has nothing to prove go on
/// with the component.
#[test]
fn seconds_of_a_proof_without_a_subject_are_searched_with() {
    let library = slow_bcast().slower(20_000.0).described(COMPONENTS);
    let run = tune(library, &format!("{BOTH} --only parameters --budget 70"));
    assert_eq!(
        changes(&run),
        ["MPI_Bcast at 4 KiB=bcast_algorithm=2 bcast_component=1"]
    );
}

/// A mock-up fixes the cell as well; a file of parameters is the simpler deployment.
#[test]
fn what_is_handed_on_comes_before_kilters_own() {
    let run = tune(slow_bcast().described(COMPONENTS), BOTH);
    assert_eq!(
        changes(&run),
        ["MPI_Bcast at 4 KiB=bcast_algorithm=2 bcast_component=1"]
    );
    assert!(is_mended(&run, BCAST));
}

#[test]
fn where_nothing_is_better_there_the_reason_says_so() {
    let library =
        slow_bcast().described(COMPONENTS).cost(
            "bcast",
            |call, usual| if call.algorithm == 2 { 4.0 * usual } else { usual },
        );
    let run = tune(library, &format!("{BOTH} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    assert!(
        unfixed(&run, BCAST).contains("handed to `tuned`: "),
        "{}",
        unfixed(&run, BCAST)
    );
}

#[test]
fn a_site_with_a_file_of_its_own_keeps_it() {
    let library = slow_bcast().described(COMPONENTS);
    let run = tune(library, &format!("{BOTH} --only parameters --mca use_components=1"));
    assert_eq!(changes(&run), [""; 0]);
    warning(&run, "the site sets `use_components` itself");
}

/// The library answers as it would without the setting: it decides by itself.
#[test]
fn a_component_that_does_not_hand_on_is_found_by_its_messages() {
    let library = slow_bcast().described(COMPONENTS).ignores("bcast_component");
    let run = tune(library, &format!("{BOTH} --only parameters"));
    assert!(!changes(&run).iter().any(|change| change.contains("bcast_component")));
    let proofs = run
        .report
        .contests
        .iter()
        .filter_map(|contest| contest.proof.as_deref());
    assert!(
        proofs
            .into_iter()
            .any(|proof| proof.contains("handed to `tuned`: no effect"))
    );
}
