//! Several layouts in one go, and one directory of files for all.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::*;

/// Reduce is slow on four ranks alone, where algorithm 2 is not.
fn slow_on_four() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.ranks == 4 && call.bytes == 4096 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    })
}

#[test]
fn what_mends_one_layout_is_written_for_its_ranks_alone() {
    let (_directory, site) = site(slow_on_four());
    let (reports, _) = site
        .tune_layouts(&["--guidelines=GL8", "--sizes=4096", "--layouts=2,2x2"])
        .unwrap();
    let violated = |report: &kilter_model::report::Report| report.cells[0].before.verdict == Outcome::Violated;
    assert_eq!(reports.iter().map(violated).collect::<Vec<_>>(), [false, true]);
    assert_eq!(reports[1].provenance.hosts, ["host0", "host1"]);
    let after = |report: &kilter_model::report::Report| report.cells[0].after.as_ref().map(|after| after.verdict);
    assert!(reports.iter().all(|report| after(report) == Some(Outcome::Holds)));
    let rules = std::fs::read_to_string(site.emitted().join("openmpi-coll-rules.conf")).unwrap();
    assert!(
        rules.lines().any(|line| line.split_whitespace().next() == Some("4")),
        "{rules}"
    );
}

/// Four ranks on four hosts and four on two have the drop-in run what is best for each: the profile tells them apart, and each is proven on it.
#[test]
fn layouts_of_as_many_ranks_get_rules_of_their_own() {
    let on =
        |nodes: usize| move |call: &Call<'_>, usual: f64| if call.nodes == nodes { 0.5 * usual } else { 8.0 * usual };
    let library = ScriptedLibrary::new()
        .cost(
            "reduce",
            |call, usual| if call.bytes == 4096 { 4.0 * usual } else { usual },
        )
        .row("reduce.binomial", on(4))
        .row("reduce.ring", on(2));
    let (_directory, site) = site(library);
    let arguments = [
        "--guidelines=GL8",
        "--sizes=4096",
        "--layouts=4x1,2x2",
        "--only=algorithms",
    ];
    let (reports, _) = site.tune_layouts(&arguments).unwrap();
    let mended = (Outcome::Violated, Some(Outcome::Holds));
    assert_eq!(verdicts(&reports), [mended, mended], "{:#?}", reports[0].warnings);
    let profile = site.emitted().join("kilter-profile.json");
    let profile = kilter_profile::Profile::parse(&std::fs::read_to_string(profile).unwrap(), "p.json").unwrap();
    let rules = profile.rules.iter();
    let rules: Vec<String> = rules
        .map(|rule| format!("{}: {}", rule.communicators, rule.implementation))
        .collect();
    assert_eq!(
        rules,
        [
            "4 ranks on 2 nodes with 2 each: reduce.ring",
            "4 ranks on 4 nodes with 1 each: reduce.binomial"
        ]
    );
    assert!(profile.order.is_none());
}

/// A setting that mends one layout is in force on the other one as well, where it was never tried.
#[test]
fn files_that_end_a_job_on_another_layout_are_not_deployed_and_the_command_goes_on() {
    for ends in ["crashed", "hung"] {
        let library = ScriptedLibrary::new()
            .setting("x", "0", &["1"])
            .cost("reduce", |call, usual| {
                let is_slow = call.ranks == 2 && call.bytes == 4096 && !call.is("x", "1");
                if is_slow { 4.0 * usual } else { usual }
            });
        let breaks = |call: &Call<'_>| call.ranks == 4 && call.is("x", "1");
        let library = match ends {
            "crashed" => library.crashes(breaks),
            _ => library.hangs(breaks),
        };
        let (_directory, site) = site(library);
        let arguments = [
            "--guidelines=GL8",
            "--sizes=4096",
            "--layouts=2,2x2",
            "--only=parameters",
        ];
        let (reports, _) = site.tune_layouts(&arguments).unwrap();
        assert_eq!(verdicts(&reports), [(Outcome::Violated, None), (Outcome::Holds, None)]);
        let said = |report: &kilter_model::report::Report| {
            let mut all = report.warnings.iter();
            all.any(|text| {
                text.contains("a job under the files of all layouts failed") && text.contains("nothing is deployed")
            })
        };
        assert!(reports.iter().all(said), "{ends}: {:?}", reports[1].warnings);
        assert!(!site.emitted().join("kilter.env").exists(), "{ends}");
    }
}

fn verdicts(reports: &[kilter_model::report::Report]) -> Vec<(Outcome, Option<Outcome>)> {
    let of = |report: &kilter_model::report::Report| {
        let cell = &report.cells[0];
        (cell.before.verdict, cell.after.as_ref().map(|after| after.verdict))
    };
    reports.iter().map(of).collect()
}

fn tune_two(library: ScriptedLibrary) -> Vec<kilter_model::report::Report> {
    let (_directory, site) = site(library);
    let arguments = [
        "--guidelines=GL8",
        "--sizes=4096",
        "--layouts=2,2x2",
        "--only=parameters",
    ];
    site.tune_layouts(&arguments).unwrap().0
}

/// One layout needs `x=1` and the other `x=2`: a launch has one value, and neither gets it.
#[test]
fn layouts_that_need_different_values_get_none() {
    let reports = tune_two(
        ScriptedLibrary::new()
            .setting("x", "0", &["1", "2"])
            .cost("reduce", |call, usual| {
                let mended = if call.ranks == 2 { "1" } else { "2" };
                if call.is("x", mended) { usual } else { 4.0 * usual }
            }),
    );
    assert!(reports.iter().all(|report| report.changes.is_empty()));
    assert!(
        verdicts(&reports)
            .iter()
            .all(|(before, _)| *before == Outcome::Violated)
    );
}

/// A setting that mends one layout is taken as long as it spoils no other.
#[test]
fn a_setting_of_one_layout_is_taken_unless_it_slows_another() {
    for (slower, is_taken) in [(1.0, true), (2.0, false)] {
        let reports = tune_two(ScriptedLibrary::new().setting("x", "0", &["1"]).cost(
            "reduce",
            move |call, usual| match (call.ranks, call.is("x", "1")) {
                (4, false) => 4.0 * usual,
                (2, true) => slower * usual,
                _ => usual,
            },
        ));
        let holds = Some(Outcome::Holds);
        let of_four = if is_taken { holds } else { None };
        let of_two = if is_taken { holds } else { None };
        assert_eq!(
            verdicts(&reports),
            [(Outcome::Holds, of_two), (Outcome::Violated, of_four)],
            "{slower}"
        );
    }
}

/// `x` is of the network, and `y` acts where hosts are filled one after the other, as one host always is.
#[test]
fn settings_are_tried_where_what_they_act_on_is_in_use() {
    let row = |name: &str, further: &str| {
        format!("[[parameters]]\nname = \"{name}\"\ndefault = \"0\"\ntry = [1]\nsummary = \"scripted\"\n{further}\n")
    };
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    let own = Rc::clone(&seen);
    let library = ScriptedLibrary::new()
        .described(&row("x", "transport = \"net\""))
        .described(&row("y", "placement = \"cyclic\""))
        .described(&row("z", "placement = \"block\""))
        .cost("reduce", move |call, usual| {
            for name in ["x", "y", "z"] {
                if call.is(name, "1") {
                    own.borrow_mut().insert((call.ranks, name));
                }
            }
            4.0 * usual
        });
    tune_two(library);
    let seen: Vec<(usize, &str)> = seen.borrow().iter().copied().collect();
    assert_eq!(seen, [(2, "z"), (4, "x"), (4, "z")]);
}

/// Calls of tenths of seconds, so that no layout has time for everything: the command ends in time, and what was chosen is proven on each layout.
#[test]
fn layouts_and_the_proof_of_all_share_the_budget() {
    let library = ScriptedLibrary::new().slower(SLOWER).cost("reduce", |call, usual| {
        let is_slow = call.bytes == 4096 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    });
    let (_directory, site) = site(library);
    let arguments = [
        "--guidelines=GL1,GL8,GL10,GL12,GL13",
        "--sizes=1..64KiB:x4",
        "--layouts=2,2x2",
        "--only=parameters",
        "--budget=300",
    ];
    let (reports, seconds) = site.tune_layouts(&arguments).unwrap();
    assert!(seconds < 300.0 + 30.0, "{seconds}");
    for report in &reports {
        let slow = report
            .cells
            .iter()
            .find(|cell| cell.guideline == "GL8" && cell.bytes == 4096)
            .unwrap();
        assert_eq!(slow.before.verdict, Outcome::Violated);
        let after = slow.after.as_ref().map(|after| after.verdict);
        assert_eq!(after, Some(Outcome::Holds), "{:#?}", report.warnings);
        let parts: Vec<&str> = report.provenance.budget.iter().map(|part| part.part.as_str()).collect();
        assert!(parts.contains(&"proof of the files of all layouts"), "{parts:?}");
    }
}

const SLOWER: f64 = 3_000.0;

/// Reduce is slower than ever with the files of all layouts alone, which no layout's own proof could see: its rule goes, and Bcast's stays.
#[test]
fn what_slows_a_layout_in_the_proof_of_all_is_taken_out() {
    let is_merged = |call: &Call<'_>| {
        let rules = call.settings.value("coll_tuned_dynamic_rules_filename");
        !rules.is_empty() && !rules.contains("2x2")
    };
    let library = slow_on_four()
        .cost("bcast", |call, usual| {
            let is_slow = call.ranks == 4 && call.bytes == 4096 && call.algorithm != 2;
            if is_slow { 4.0 * usual } else { usual }
        })
        .cost("reduce", move |call, usual| {
            let has_rule = call.ranks == 4 && call.bytes == 4096 && call.algorithm == 2;
            if has_rule && is_merged(call) {
                8.0 * usual
            } else {
                usual
            }
        });
    let (_directory, site) = site(library);
    let arguments = [
        "--guidelines=GL8,GL10",
        "--sizes=4096",
        "--layouts=2,2x2",
        "--only=parameters",
    ];
    let (reports, _) = site.tune_layouts(&arguments).unwrap();
    let changes: Vec<&str> = reports[1].changes.iter().map(|change| change.name.as_str()).collect();
    assert_eq!(changes, ["MPI_Bcast at 4 KiB"], "{:#?}", reports[1].warnings);
    let of = |guideline: &str| {
        let cell = reports[1]
            .cells
            .iter()
            .find(|cell| cell.guideline == guideline)
            .unwrap();
        (cell.before.verdict, cell.after.as_ref().map(|after| after.verdict))
    };
    assert_eq!(of("GL8"), (Outcome::Violated, None));
    assert_eq!(of("GL10"), (Outcome::Violated, Some(Outcome::Holds)));
    let warnings = reports[1].warnings.join("\n");
    assert!(
        warnings.contains("it slows layout 2x2: reduce(n) @4096 takes "),
        "{warnings}"
    );
    assert!(
        warnings.contains("a further launch of each layout read the remaining files back"),
        "{warnings}"
    );
    let rules = std::fs::read_to_string(site.emitted().join("openmpi-coll-rules.conf")).unwrap();
    assert!(rules.contains("1 # collectives"), "{rules}");
}
