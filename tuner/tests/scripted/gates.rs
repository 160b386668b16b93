//! A setting of the launch together with an algorithm, where neither acts alone.

use super::*;

const GATE: &str =
    "[[parameters]]\nname = \"gate\"\ndefault = \"0\"\ntry = [1]\nadmits_algorithms = true\nsummary = \"scripted\"\n";

#[test]
fn an_algorithm_behind_a_gate_is_deployed_with_the_gate() {
    let library = slow_reduce(|call| call.algorithm == 2)
        .described(GATE)
        .admits_algorithms(|settings| settings.value("gate") == "1");
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), ["gate=1", "MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, SLOW));
}

#[test]
fn a_gate_behind_which_nothing_is_better_stays_shut() {
    let library = slow_reduce(|_| false)
        .described(GATE)
        .admits_algorithms(|settings| settings.value("gate") == "1");
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    assert!(unfixed(&run, SLOW).contains("with `gate=1`"), "{}", unfixed(&run, SLOW));
}

/// The halves fall together.
#[test]
fn a_gate_that_spoils_what_is_deployed_takes_its_algorithm_with_it() {
    let library = slow_reduce(|call| call.algorithm == 2)
        .described(GATE)
        .admits_algorithms(|settings| settings.value("gate") == "1")
        .cost("allreduce", |call, usual| {
            let spoils = call.is("gate", "1") && call.settings.has("coll_tuned_dynamic_rules_filename");
            if spoils { 1.5 * usual } else { usual }
        });
    let run = tune(library, "--guidelines GL8,GL12 --sizes 4096 --only parameters");
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(cell(&run, SLOW).before.verdict, Outcome::Violated);
    warning(&run, "`gate=1` is taken back");
}
