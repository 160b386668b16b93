//! Guidelines of other forms than one call against others of the same volume: monotony, splits, non-blocking calls.

use std::collections::BTreeSet;

use kilter_bench::launch::scripted::Noise;
use kilter_protocol::expression::Form;

use super::*;

/// The smaller volume takes longer than the next larger one.
#[test]
fn a_volume_that_is_slower_than_a_larger_one_is_mended() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.bytes == 1024 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    });
    let run = tune(
        library,
        "--guidelines GL1 --functions reduce --sizes 1024,4096 --only parameters",
    );
    assert_eq!(changes(&run), ["MPI_Reduce at 1 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, "GL1 reduce 1024"));
}

/// One call takes longer than four of a quarter of it.
#[test]
fn a_call_that_is_slower_than_its_parts_is_mended() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.bytes == 4096 && call.algorithm != 2;
        if is_slow { 20.0 * usual } else { usual }
    });
    let run = tune(
        library,
        "--guidelines GL2 --functions reduce --sizes 1024,4096 --only parameters",
    );
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, "GL2 reduce 4096"));
    let parts = &cell(&run, "GL2 reduce 4096").expression;
    assert!(parts.contains("reduce"), "{parts}");
}

/// The non-blocking form alone is slow, unless this holds.
fn slow_ireduce(unless: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
    let is_slow = move |call: &Call<'_>| call.form == Form::Nonblocking && call.bytes == 4096 && !unless(call);
    let usual_of = |call: &Call<'_>, usual: f64| match call.form {
        // As long as the blocking call, once it is completed.
        Form::Nonblocking => 0.96 * usual,
        _ => usual,
    };
    let cost = move |call: &Call<'_>, usual: f64| {
        if is_slow(call) {
            4.0 * usual
        } else {
            usual_of(call, usual)
        }
    };
    ScriptedLibrary::new().setting("x", "0", &["1"]).cost("reduce", cost)
}

const NONBLOCKING: &str = "--guidelines NB1 --functions reduce,ireduce --sizes 1024,4096";

#[test]
fn a_nonblocking_call_is_mended_by_a_setting_alone() {
    let run = tune(slow_ireduce(|call| call.is("x", "1")), NONBLOCKING);
    assert_eq!(changes(&run), ["x=1"]);
    let slow = |cell: &&Cell| cell.bytes == 4096 && cell.before.verdict == Outcome::Violated;
    let cells: Vec<&Cell> = run.report.cells.iter().filter(slow).collect();
    assert_eq!(cells.len(), 1, "{:#?}", run.report.cells);
    assert_eq!(cells[0].after.as_ref().map(|after| after.verdict), Some(Outcome::Holds));
}

/// Kilter's code and the library's algorithms stand in for the blocking call alone.
#[test]
fn a_nonblocking_call_that_no_setting_mends_says_so() {
    let run = tune(slow_ireduce(|call| call.algorithm == 2), NONBLOCKING);
    assert_eq!(changes(&run), [""; 0]);
    let reasons: Vec<String> = run
        .report
        .cells
        .iter()
        .filter_map(|cell| cell.unfixed_because.clone())
        .collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("no algorithm or mock-up can replace this function")),
        "{reasons:?}"
    );
}

/// What slows a rank for a while slows calls that are interleaved alike. Sizes whose times differ much need no such care, and a large one would empty the
/// caches of a small one.
#[test]
fn sizes_that_are_compared_are_interleaved_where_they_take_about_as_long() {
    let noise = Noise {
        item: 0.1,
        ..Noise::default()
    };
    let library = ScriptedLibrary::new()
        .noise(noise)
        .cost("reduce", |call, _| match call.bytes {
            ..=128 => 1e-5,
            65536 => 1e-4,
            _ => 2.3e-4,
        });
    let (_directory, site) = site(library);
    check_at(
        &site,
        "--guidelines GL1,GL2 --functions reduce --sizes 64,128,65536,131072",
    );
    let database = rusqlite::Connection::open(site.database()).unwrap();
    let blocks = |keys: &str| -> BTreeSet<BTreeSet<String>> {
        let sql =
            format!("SELECT block FROM blocks_view WHERE key {keys} LIKE '%/screen/%' AND block NOT LIKE 'reference%'");
        let mut statement = database.prepare(&sql).unwrap();
        let ids = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let in_one = |id: rusqlite::Result<String>| id.unwrap().split(" and ").map(str::to_owned).collect();
        ids.map(in_one).collect()
    };
    let each = |ids: &[&[&str]]| -> BTreeSet<BTreeSet<String>> {
        ids.iter()
            .map(|ids| ids.iter().map(|&id| id.to_owned()).collect())
            .collect()
    };
    let apart: [&[&str]; 4] = [&["reduce@64"], &["reduce@128"], &["reduce@65536"], &["reduce@131072"]];
    assert_eq!(blocks(""), each(&apart));
    let first = blocks("NOT");
    let together = each(&[
        &["reduce@64", "reduce@128"],
        &["reduce@131072", "reduce@65536 in parts"],
    ]);
    assert!(first.is_superset(&together), "{first:?}");
}
