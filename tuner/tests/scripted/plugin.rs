//! Rows of a user's plugin.

use kilter_bench::launch::scripted::RowEnds;
use kilter_protocol::row::Needs;

use super::*;

/// Reduce is slow, and the plugin's own row is the fastest that mends it.
fn with_a_fast_row(needs: Needs) -> ScriptedLibrary {
    slow_reduce(|_| false)
        .plugin_row("reduce.mine", needs)
        .row("reduce.mine", |_, usual| 0.5 * usual)
}

const PLUGIN: (&str, &str) = ("mine.so", "a plugin");

#[test]
fn a_row_of_a_users_plugin_is_deployed_with_its_file() {
    let (directory, run) = tune_with(
        with_a_fast_row(Needs::default()),
        PLUGIN,
        &format!("{REDUCE} --plugin FILE --goal smallest"),
    );
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.mine"]);
    assert!(is_mended(&run, SLOW));
    assert!(directory.path().join("out/emit/lib/mine.so").is_file());
}

#[test]
fn a_row_that_does_not_suit_the_ranks_does_not_compete() {
    let needs = Needs {
        power_of_two_ranks: true,
        ..Needs::default()
    };
    let on = |ranks: &str| {
        let arguments = format!("{REDUCE} --plugin FILE --goal smallest --ranks {ranks}");
        let (_directory, run) = tune_with(with_a_fast_row(needs), PLUGIN, &arguments);
        changes(&run)
    };
    assert_eq!(on("4"), ["MPI_Reduce at 4 KiB=reduce.mine"]);
    assert_eq!(on("3"), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
}

#[test]
fn only_plugins_leaves_everything_else_out() {
    let slow_row = |_: &Call<'_>, usual: f64| 1.2 * usual;
    let library = || {
        slow_reduce(|call| call.is("x", "1") || call.algorithm == 2)
            .setting("x", "0", &["1"])
            .row("reduce.binomial", |_, usual| 0.5 * usual)
            .plugin_row("reduce.mine", Needs::default())
    };
    let arguments = format!("{REDUCE} --plugin FILE --only plugins");
    let (_directory, run) = tune_with(library().row("reduce.mine", slow_row), PLUGIN, &arguments);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.mine"]);
    // Without a time of its own the row is as slow as the library.
    let (_directory, run) = tune_with(library(), PLUGIN, &arguments);
    assert_eq!(changes(&run), [""; 0]);
}

#[test]
fn a_row_without_a_comparison_is_put_away_as_that_and_not_as_wrong() {
    let left_out = "its operator must commute".to_owned();
    for (ends, said) in [
        (RowEnds::Skipped(left_out), "no case was compared on 4 ranks"),
        (RowEnds::Missing, "the plugin has no such row"),
    ] {
        let library = with_a_fast_row(Needs::default()).verified_row("reduce.mine", ends);
        let (_directory, run) = tune_with(library, PLUGIN, &format!("{REDUCE} --plugin FILE"));
        assert_eq!(quarantined(&run), [("reduce.mine", "could not be verified")]);
        let detail = &run.report.quarantined[0].detail;
        assert!(detail.starts_with(said), "{detail}");
    }
}

#[test]
fn a_row_that_ends_the_correctness_job_is_put_away_and_the_others_go_on() {
    for (ends, said) in [(RowEnds::Hangs, "hung"), (RowEnds::Crashes, "crashed")] {
        let library = with_a_fast_row(Needs::default())
            .plugin_row("reduce.second", Needs::default())
            .row("reduce.second", |_, usual| 0.7 * usual)
            .verified_row("reduce.mine", ends);
        let arguments = format!("{REDUCE} --plugin FILE --goal smallest");
        let (_directory, run) = tune_with(library, PLUGIN, &arguments);
        assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.second"]);
        assert_eq!(quarantined(&run), [("reduce.mine", "failed the correctness matrix")]);
        assert!(
            run.report.quarantined[0].detail.contains(said),
            "{:?}",
            run.report.quarantined
        );
    }
}
