//! All calls are decided together, from one table of times.

use super::*;

/// Changes as they are listed, in the order of their names.
fn sorted(run: &Run) -> Vec<String> {
    let mut all = changes(run);
    all.sort();
    all
}

#[test]
fn what_breaks_nothing_becomes_faster_unless_the_smallest_deployment_is_asked_for() {
    let library = || ScriptedLibrary::new().row("bcast.binomial", |_, usual| 0.5 * usual);
    let run = tune(library(), "--guidelines GL8,GL10 --sizes 4096");
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast.binomial"]);
    let smallest = tune(library(), "--guidelines GL8,GL10 --sizes 4096 --goal smallest");
    assert_eq!(changes(&smallest), [""; 0]);
    for run in [run, smallest] {
        let holds = |cell: &Cell| cell.before.verdict == Outcome::Holds;
        assert!(run.report.cells.iter().all(holds), "{:#?}", run.report.cells);
    }
}

/// A call of 4 KiB takes more than twice as long as four of 1 KiB, and all rows are slower than these.
#[test]
fn a_call_is_split_where_its_parts_together_are_faster() {
    let library = ScriptedLibrary::new().cost(
        "reduce",
        |call, usual| if call.bytes == 4096 { 20.0 * usual } else { usual },
    );
    let (_directory, site) = site(library);
    let run = tune_at(&site, "--guidelines GL2 --functions reduce --sizes 1024,4096");
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.split part_bytes=1024"]);
    assert!(is_mended(&run, "GL2 reduce 4096"));
    let text = std::fs::read_to_string(site.emitted().join("kilter-profile.json")).unwrap();
    let profile = kilter_profile::Profile::parse(&text, "p.json").unwrap();
    assert_eq!(profile.rules[0].parameters.get("part_bytes"), Some(&1024));
}

/// The larger call is faster by a row, and the smaller one takes longer than that whatever carries it out.
#[test]
fn a_call_is_padded_where_a_larger_one_is_faster() {
    let library = ScriptedLibrary::new()
        .cost(
            "reduce",
            |call, usual| if call.bytes == 1024 { 2.0 * usual } else { usual },
        )
        .row("reduce.binomial", |call, usual| match call.bytes {
            1024 => 4.0 * usual,
            _ => 0.5 * usual,
        });
    let run = tune(library, "--guidelines GL1 --functions reduce --sizes 1024,4096");
    assert_eq!(
        changes(&run),
        [
            "MPI_Reduce at 1 KiB=reduce.padded to_bytes=4096",
            "MPI_Reduce at 4 KiB=reduce.binomial"
        ]
    );
    assert!(is_mended(&run, "GL1 reduce 1024"));
}

/// The library's Allreduce takes 1.6 times as long as its Reduce, Kilter's a third.
#[test]
fn a_composition_is_the_best_way_with_what_is_deployed_inside() {
    let library = || ScriptedLibrary::new().row("allreduce.recursive_doubling", |_, usual| 0.2 * usual);
    let run = tune(library(), "--guidelines GL8,GL13 --sizes 4096");
    let expected = [
        "MPI_Allreduce at 4 KiB=allreduce.recursive_doubling",
        "MPI_Reduce at 4 KiB=reduce.as_allreduce",
    ];
    assert_eq!(sorted(&run), expected);
    let reduce = cell(&run, SLOW);
    assert_eq!(reduce.before.verdict, Outcome::Holds);
    assert_eq!(reduce.after.as_ref().map(|after| after.verdict), Some(Outcome::Holds));
    let contests = run.report.contests.iter();
    let mut of_reduce = contests.filter(|one| one.function == "reduce");
    let chosen = of_reduce
        .next()
        .unwrap()
        .candidates
        .iter()
        .find(|one| one.chosen)
        .unwrap();
    assert!((chosen.ratio_to_default - 0.33).abs() < 0.05, "{chosen:?}");
    // Nothing of Kilter's inside, and the library's own stays.
    let run = tune(library(), "--guidelines GL8,GL13 --sizes 4096 --leave allreduce");
    assert_eq!(changes(&run), [""; 0]);
}

/// Now the one is faster by a hundredth, now the other.
#[test]
fn neighbouring_sizes_that_two_rows_serve_alike_get_one_row() {
    let library = ScriptedLibrary::new()
        .row("bcast.binomial", |call, usual| match call.bytes {
            4096 => 0.505 * usual,
            _ => 0.5 * usual,
        })
        .row("bcast.linear", |call, usual| match call.bytes {
            4096 => 0.5 * usual,
            _ => 0.505 * usual,
        });
    let run = tune(library, "--guidelines GL10 --functions bcast --sizes 1024,4096,16384");
    let [change] = &changes(&run)[..] else {
        panic!("{:?}", changes(&run));
    };
    assert!(change.starts_with("MPI_Bcast, 1 KiB to 16 KiB="), "{change}");
}

/// Reduce takes seven tenths of its time by a row, and `with` times with `x=1`.
fn row_beside_setting(with: f64) -> ScriptedLibrary {
    ScriptedLibrary::new()
        .setting("x", "0", &["1"])
        .cost(
            "reduce",
            move |call, usual| if call.is("x", "1") { with * usual } else { usual },
        )
        .row("reduce.binomial", |_, usual| 0.7 * usual)
}

#[test]
fn a_setting_that_beats_the_best_row_takes_its_place_and_one_that_does_not_is_left_out() {
    let arguments = "--guidelines GL8 --sizes 4096";
    let run = tune(row_beside_setting(0.4), arguments);
    assert_eq!(changes(&run), ["x=1"], "{:#?}", run.report.warnings);
    let run = tune(row_beside_setting(0.75), arguments);
    assert_eq!(
        changes(&run),
        ["MPI_Reduce at 4 KiB=reduce.binomial"],
        "{:#?}",
        run.report.warnings
    );
    // Whatever it would gain, nothing is broken.
    let run = tune(row_beside_setting(0.4), &format!("{arguments} --goal smallest"));
    assert_eq!(changes(&run), [""; 0]);
}

/// Five settings share their launches until it is known that `c` acts and `d` hangs.
#[test]
fn in_a_group_of_settings_the_one_that_acts_is_found_and_the_one_that_hangs_is_named() {
    let library = ["a", "b", "c", "d", "e"].iter().fold(
        slow_reduce(|call| call.is("c", "1")).hangs(|call| call.is("d", "1")),
        |library, name| library.setting(name, "0", &["1"]),
    );
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), ["c=1"], "{:#?}", run.report.warnings);
    assert!(is_mended(&run, SLOW));
    assert_eq!(quarantined(&run), [("d=1", "hung")]);
    warning(&run, "`d=1` hung");
}

/// Of ten settings `s3` makes Reduce of 1024 B three times as slow. Groups that have it are launched twice (all, five, three of them), the others (five,
/// two) once, beside one launch without any.
#[test]
fn a_group_that_only_slows_a_call_is_halved() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.bytes == 1024 && call.is("s3", "1");
        if is_slow { 3.0 * usual } else { usual }
    });
    let library = (0..10).fold(library, |library, number| {
        library.setting(&format!("s{number}"), "0", &["1"])
    });
    let (_directory, site) = site(library);
    let run = tune_at(&site, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    let launches = keys(&site)
        .into_iter()
        .filter(|key| key.starts_with("search/1/settings/"));
    assert_eq!(launches.count(), 1 + 2 + 2 + 1 + 2 + 1);
}

/// Reduce is slow, and its mend so fast that Gather is behind it. Bcast and Allreduce could become faster as well.
#[test]
fn the_smallest_deployment_mends_what_its_mends_leave_behind_and_nothing_else() {
    let library = || {
        slow_reduce(|_| false)
            .row("reduce.binomial", |call, usual| {
                if call.bytes == 4096 { 0.2 * usual } else { 4.0 * usual }
            })
            .row("gather.binomial", |_, usual| 0.2 * usual)
            .row("bcast.binomial", |_, usual| 0.5 * usual)
            .row("allreduce.recursive_doubling", |_, usual| 0.5 * usual)
    };
    let cells = "--guidelines GL4,GL8,GL10 --sizes 1024,4096";
    let run = tune(library(), &format!("{cells} --goal smallest"));
    assert_eq!(
        sorted(&run),
        [
            "MPI_Gather at 4 KiB=gather.binomial",
            "MPI_Reduce at 4 KiB=reduce.binomial"
        ]
    );
    assert!(is_mended(&run, SLOW));
    let gather = cell(&run, "GL4 gather 4096");
    assert_eq!(gather.before.verdict, Outcome::Holds);
    assert_eq!(gather.after.as_ref().map(|after| after.verdict), Some(Outcome::Holds));
    let all = sorted(&tune(library(), cells));
    assert!(all.iter().any(|one| one.contains("Bcast")), "{all:?}");
}
