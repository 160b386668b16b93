//! An application's calls: which cells are looked at, which come first, and what is saved.

use super::*;

const MIX: (&str, &str) = (
    "mix.toml",
    "[[call]]\nfunction = \"reduce\"\nbytes = 4096\ncalls = 1e6\n\
     [[call]]\nfunction = \"bcast\"\nbytes = 1024\ncalls = 10\n",
);

#[test]
fn only_the_calls_of_a_mix_are_tuned_and_what_they_save_is_said() {
    let library =
        slow_reduce(|call| call.algorithm == 2).cost(
            "allreduce",
            |call, usual| {
                if call.bytes == 1024 { 9.0 * usual } else { usual }
            },
        );
    let arguments = "--guidelines GL8,GL10,GL12 --sizes 1024,4096 --only parameters --mix FILE";
    let (_directory, run) = tune_with(library, MIX, arguments);
    let mut looked_at: Vec<(&str, u64)> = run
        .report
        .cells
        .iter()
        .map(|cell| (&*cell.function, cell.bytes))
        .collect();
    looked_at.sort_unstable();
    assert_eq!(looked_at, [("bcast", 1024), ("reduce", 4096)]);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    let of_reduce = run
        .report
        .savings
        .iter()
        .find(|saving| saving.function == "reduce")
        .unwrap();
    assert_eq!((of_reduce.bytes, of_reduce.calls), (4096, 1e6));
    let saved = of_reduce.calls * (of_reduce.seconds_before - of_reduce.seconds_after);
    assert!(
        of_reduce.certain && (of_reduce.saved_seconds - saved).abs() < 1e-6,
        "{of_reduce:?}"
    );
    assert!(
        (2.0..4.5).contains(&(of_reduce.seconds_before / of_reduce.seconds_after)),
        "{of_reduce:?}"
    );
}

/// If there is time for only one of two cells, it is spent on the one that costs the application more.
#[test]
fn the_calls_that_cost_most_are_searched_first() {
    let first = |of_bcast: &str| {
        let mix = format!(
            "[[call]]\nfunction = \"reduce\"\nbytes = 4096\ncalls = 1000\n\
             [[call]]\nfunction = \"bcast\"\nbytes = 4096\ncalls = {of_bcast}\n"
        );
        let library = slow_reduce(|_| false).cost("bcast", |_, usual| 4.0 * usual);
        let arguments = "--guidelines GL8,GL10 --sizes 4096 --mix FILE --only mockups";
        let (_directory, run) = tune_with(library, ("mix.toml", &mix), arguments);
        run.report.contests[0].function.clone()
    };
    assert_eq!(first("1"), "reduce");
    assert_eq!(first("1000000"), "bcast");
}
