//! Candidates that fail: each fails once, and the run goes on.

use std::cell::Cell;
use std::rc::Rc;

use kilter_bench::launch::scripted::NotStarted;

use super::resume::killed;
use super::*;

/// Counts how often something is looked at that holds.
fn counted(test: impl Fn(&Call<'_>) -> bool + 'static) -> (Rc<Cell<usize>>, impl Fn(&Call<'_>) -> bool + 'static) {
    let count = Rc::new(Cell::new(0));
    let own = Rc::clone(&count);
    let counting = move |call: &Call<'_>| {
        let holds = test(call);
        own.set(own.get() + usize::from(holds));
        holds
    };
    (count, counting)
}

#[test]
fn algorithms_that_hang_and_crash_are_tried_once() {
    let (hung, hangs) = counted(|call| call.algorithm == 1);
    let (crashed, crashes) = counted(|call| call.algorithm == 3);
    let library = slow_reduce(|call| call.algorithm == 2).hangs(hangs).crashes(crashes);
    let run = tune(library, REDUCE);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, SLOW));
    let put_away = quarantined(&run);
    assert!(put_away.contains(&("reduce_algorithm=1", "hung")), "{put_away:?}");
    assert!(put_away.contains(&("reduce_algorithm=3", "crashed")), "{put_away:?}");
    assert_eq!((hung.get(), crashed.get()), (1, 1));
}

/// Seconds that a hang costs beyond a crash in the same calls.
fn seconds_of_a_hang(library: fn() -> ScriptedLibrary, breaks: fn(&Call<'_>) -> bool, arguments: &str) -> f64 {
    let hung = tune(library().hangs(breaks), arguments);
    hung.seconds - tune(library().crashes(breaks), arguments).seconds
}

/// The job looks hung after 5 s, where it took the 20 s that the library's own calls have.
#[test]
fn a_candidate_that_hangs_costs_less_than_the_library_that_hangs_by_itself() {
    let library = || slow_reduce(|call| call.algorithm == 2);
    let candidate = |call: &Call<'_>| call.algorithm == 1;
    let in_whole = |seconds: f64| seconds.round() as u64;
    let costs = |library, arguments: &str| in_whole(seconds_of_a_hang(library, candidate, arguments));
    assert_eq!(costs(library, REDUCE), 5);
    assert_eq!(costs(library, &format!("{REDUCE} --stall-timeout 20")), 20);
    assert_eq!(costs(library, &format!("{REDUCE} --stall-timeout 3")), 3);
    let beside_others = || slow_reduce(|call| call.algorithm == 2).beside_others(1.0);
    assert_eq!(costs(beside_others, REDUCE), 10);
    let own = seconds_of_a_hang(library, is_broken, "--guidelines GL8,GL10 --sizes 1024,4096");
    // Settings of whole launches have a share of the seconds so far, so that some more are tried after a long hang.
    assert!((20..=22).contains(&in_whole(own)), "{own}");
}

#[test]
fn a_mockup_with_wrong_data_is_tried_once() {
    let (wrong, test) = counted(|call| call.item == "reduce.as_allreduce");
    let library = slow_reduce(|_| false).wrong_data(test);
    let run = tune(library, REDUCE);
    assert_eq!(quarantined(&run), [("reduce.as_allreduce", "delivered wrong data")]);
    assert_eq!(wrong.get(), 1);
    assert!(!changes(&run).iter().any(|change| change.contains("as_allreduce")));
}

#[test]
fn a_launch_setting_that_takes_jobs_down_is_tried_once() {
    for (what, library) in [
        ("hung", slow_reduce(|_| false).hangs(|call| call.is("x", "1"))),
        ("crashed", slow_reduce(|_| false).crashes(|call| call.is("x", "1"))),
        (
            "did not start",
            slow_reduce(|_| false).fails_to_start(|settings| settings.value("x") == "1"),
        ),
    ] {
        let run = tune(library.setting("x", "0", &["1"]), REDUCE);
        assert_eq!(quarantined(&run), [("x=1", what)]);
        assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
    }
}

/// Such failures come in groups. Before the first job has started one is allowed, and three from then on.
#[test]
fn launches_that_fail_now_and_then_are_started_again_and_nothing_is_blamed() {
    let launches = Cell::new(0);
    let library = slow_reduce(|call| call.algorithm == 2).fails_to_start(move |_| {
        launches.set(launches.get() + 1);
        launches.get() == 1 || matches!(launches.get() % 6, 3..=5)
    });
    let run = tune(library, REDUCE);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, SLOW));
    assert_eq!(quarantined(&run), []);
    warning(&run, "ended or hung before the start");
}

/// A library's initialisation may hang now and then. Jobs start within a second here, so that each such launch costs the ten of a first start.
#[test]
fn a_launch_that_hangs_before_it_starts_now_and_then_is_started_again_and_nothing_is_blamed() {
    let (launches, hung) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let library = slow_reduce(|call| call.algorithm == 2).hangs_before_start({
        let hung = Rc::clone(&hung);
        move |_| {
            launches.set(launches.get() + 1);
            let hangs = launches.get() % 5 == 2;
            hung.set(hung.get() + usize::from(hangs));
            hangs
        }
    });
    let run = tune(library, REDUCE);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, SLOW));
    assert_eq!(quarantined(&run), []);
    warning(&run, &format!("{} launches ended or hung before the start", hung.get()));
    let calm = tune(slow_reduce(|call| call.algorithm == 2), REDUCE);
    let lost_seconds = run.seconds - calm.seconds;
    assert!(
        hung.get() > 1 && lost_seconds < 12.0 * hung.get() as f64,
        "{lost_seconds}"
    );
}

#[test]
fn a_verifier_that_does_not_start_is_started_again() {
    for (fault, again, text) in [
        (NotStarted::Ends, 3, "kilter-verify crashed"),
        (NotStarted::Hangs, 1, "kilter-verify hung: no sign of life for 10 s"),
    ] {
        let library = |times| {
            slow_reduce(|_| false)
                .row("reduce.binomial", |_, usual| 0.5 * usual)
                .verifiers_do_not_start(times, fault)
        };
        let run = tune(library(again), &format!("{REDUCE} --goal smallest"));
        assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.binomial"]);
        warning(&run, text);
        let (_directory, site) = site(library(again + 1));
        let error = site.tune(&REDUCE.split_whitespace().collect::<Vec<_>>()).unwrap_err();
        let words = text.split(':').next().unwrap();
        assert!(format!("{error:#}").contains(words), "{error:#}");
    }
}

#[test]
fn a_row_that_fails_the_correctness_matrix_is_not_deployed() {
    let library = slow_reduce(|_| false)
        .row("reduce.binomial", |_, usual| 0.5 * usual)
        .wrong_row("reduce.binomial");
    let run = tune(library, REDUCE);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
    assert_eq!(
        quarantined(&run),
        [("reduce.binomial", "failed the correctness matrix")]
    );
}

/// The library's own broadcast of 1 KiB.
fn is_broken(call: &Call<'_>) -> bool {
    call.item == "bcast(n) @1024"
}

/// One size of one function that no job survives says nothing of the others.
#[test]
fn what_the_library_cannot_do_by_itself_is_put_away_and_the_run_goes_on() {
    for ends in ["crashed", "hung"] {
        let (entered, breaks) = counted(is_broken);
        let library = slow_reduce(|call| call.algorithm == 2);
        let library = match ends {
            "crashed" => library.crashes(breaks),
            _ => library.hangs(breaks),
        };
        let run = tune(library, "--guidelines GL8,GL10 --sizes 1024,4096");
        assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"], "{ends}");
        assert!(is_mended(&run, SLOW), "{ends}");
        assert_eq!(entered.get(), 1, "{ends}");
        let why = &run.report.not_verified["bcast(n) @1024"];
        assert!(why.contains("in job `before/screen/0`, block `bcast@1024`"), "{why}");
        assert!(
            !run.report
                .cells
                .iter()
                .any(|cell| cell.function == "bcast" && cell.bytes == 1024)
        );
        let said = warning(&run, "the library's own `bcast(n) @1024`");
        assert!(
            said.contains(ends) && said.contains("report it to its developers"),
            "{said}"
        );
    }
}

/// The first verification may not have seconds for every call, so that the launch of a setting, or the proof, is the first to enter one.
#[test]
fn what_the_library_cannot_do_by_itself_is_not_blamed_on_what_is_in_force() {
    let tuned = |ends: &'static str, since: usize| {
        let (entered, under_x) = counted(|call| call.is("x", "1"));
        let seen = Rc::clone(&entered);
        let breaks = move |call: &Call<'_>| {
            under_x(call);
            entered.get() > since && is_broken(call)
        };
        let library = slow_reduce(|call| call.is("x", "1")).setting("x", "0", &["1"]);
        let library = match ends {
            "crashed" => library.crashes(breaks),
            _ => library.hangs(breaks),
        };
        (
            tune(library, "--guidelines GL8,GL10 --sizes 1024,4096 --only parameters"),
            seen.get(),
        )
    };
    let (_, calls) = tuned("crashed", usize::MAX);
    let in_the_proof = calls / 2;
    for (ends, since) in [("crashed", 0), ("crashed", in_the_proof), ("hung", in_the_proof)] {
        let (run, _) = tuned(ends, since);
        assert_eq!(changes(&run), ["x=1"], "{ends} {since}");
        assert!(is_mended(&run, SLOW), "{ends} {since}");
        assert_eq!(quarantined(&run), [], "{ends} {since}");
        let said = warning(&run, "the library's own `bcast(n) @1024`");
        assert!(said.contains(ends), "{said}");
    }
}

#[test]
fn a_resumed_run_knows_what_the_library_could_not_do() {
    let arguments = "--guidelines GL8,GL10 --sizes 1024,4096";
    let library = || slow_reduce(|call| call.algorithm == 2);
    let (whole, home, _) = killed(40, library().crashes(is_broken), arguments);
    let (entered, breaks) = counted(is_broken);
    let site = Site::new(&home.path().join("site"), library().crashes(breaks)).unwrap();
    let resumed = tune_at(&site, arguments);
    assert_eq!(changes(&resumed), changes(&whole));
    assert_eq!(resumed.report.not_verified, whole.report.not_verified);
    assert_eq!(entered.get(), 0, "what ended a job is in the database");
}

#[test]
fn a_library_that_fails_wherever_it_is_tried_ends_the_command_with_what_failed() {
    let (_directory, site) = site(ScriptedLibrary::new().crashes(|_| true));
    let error = site.tune(&["--guidelines", "GL8", "--sizes", "1024,4096"]).unwrap_err();
    let text = format!("{error:#}");
    assert!(
        text.contains("SIGSEGV") && text.contains("launch `before/screen/0` failed"),
        "{text}"
    );
}

/// A site's nightly run does not hang every night on the same candidate.
#[test]
fn what_failed_is_not_tried_by_a_later_run_until_it_is_asked_for() {
    let (hung, hangs) = counted(|call| call.collective.name() == "reduce" && call.algorithm == 1);
    let (wrong, test) = counted(|call| call.item == "reduce.as_allreduce");
    let library = slow_reduce(|_| false).hangs(hangs).wrong_data(test);
    let (_directory, site) = site(library);
    let failures = |run: &Run| {
        let put_away: Vec<&str> = quarantined(run).into_iter().map(|(id, _)| id).collect();
        ["reduce_algorithm=1", "reduce.as_allreduce"].map(|id| put_away.contains(&id))
    };
    let first = tune_at(&site, REDUCE);
    assert_eq!(failures(&first), [true, true]);
    assert_eq!((hung.get(), wrong.get()), (1, 1));
    // The same command again is another run, and so is one that asks for more.
    for again in [REDUCE, "--guidelines GL8,GL10 --sizes 1024,4096"] {
        let later = tune_at(&site, again);
        assert_eq!(failures(&later), [true, true], "{again}");
        assert_eq!((hung.get(), wrong.get()), (1, 1), "{again}");
        let entry = later
            .report
            .quarantined
            .iter()
            .find(|entry| entry.id == "reduce_algorithm=1");
        assert!(entry.unwrap().detail.contains("--retry-quarantined"), "{entry:?}");
    }
    let retried = tune_at(&site, &format!("{REDUCE} --retry-quarantined"));
    assert_eq!(failures(&retried), [true, true]);
    assert_eq!((hung.get(), wrong.get()), (2, 2));
}

/// Failures that nobody asked for are not in the report.
#[test]
fn failures_of_other_collectives_are_not_reported() {
    let of_reduce = |call: &Call<'_>| call.collective.name() == "reduce" && call.algorithm == 3;
    let library = slow_reduce(|call| call.algorithm == 2).crashes(of_reduce);
    let (_directory, site) = site(library);
    let first = tune_at(&site, REDUCE);
    assert!(quarantined(&first).contains(&("reduce_algorithm=3", "crashed")));
    let other = tune_at(&site, "--guidelines GL10 --sizes 4096");
    assert!(quarantined(&other).is_empty(), "{:?}", quarantined(&other));
}
