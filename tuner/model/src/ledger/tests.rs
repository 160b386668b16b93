use std::collections::BTreeSet;

use kilter_algorithms::Collective;

use super::*;
use crate::config::library::{Library, find_for};
use crate::deployment::{Assignment, Selection};
use crate::fix::FixKind;
use crate::report::{Contest, Contestant};

const LONG: Cell = (Collective::Bcast, 262_144);
const SHORT: Cell = (Collective::Bcast, 8);
const SCAN: Cell = (Collective::Scan, 8);

fn set(name: &str, value: &str) -> Assignment {
    Assignment {
        name: name.to_owned(),
        value: value.to_owned(),
        environment: false,
    }
}

fn algorithm(cell: Cell) -> Selection {
    Selection::Settings(vec![(format!("coll_tuned_{}_algorithm", cell.0), "7".to_owned())])
}

fn own() -> Selection {
    Selection::Mockup("bcast.as_scatter_allgather".to_owned(), Vec::new())
}

fn launch(settings: &[Assignment], fixes: &[&str]) -> Proposal {
    Proposal {
        change: Change::of_launch(settings.to_vec()),
        fixes: fixes.iter().map(|fix| (*fix).to_owned()).collect(),
    }
}

fn cell(cell: Cell, selection: Selection) -> Proposal {
    Proposal {
        change: Change::of_cell(cell, selection),
        fixes: BTreeSet::new(),
    }
}

fn ledger(proposals: &[Proposal]) -> Ledger {
    let mut ledger = Ledger::default();
    for proposal in proposals {
        ledger.deploy(proposal.clone());
    }
    ledger
}

/// A ledger of proven proposals.
fn proven(proposals: &[Proposal]) -> Ledger {
    let mut ledger = ledger(proposals);
    ledger.prove();
    ledger
}

fn of_library(at: Cell) -> Proposal {
    cell(at, algorithm(at))
}

fn open_mpi() -> Library {
    find_for("mpirun (Open MPI) 5.0.11").unwrap()
}

fn slowed(ledger: &mut Ledger, by: &[Collective], library: &Library) -> Vec<Assignment> {
    let by = by.iter().copied().map(Some).collect();
    ledger.take_back_settings(&by, library, "bcast became slower")
}

fn settings(ledger: &Ledger) -> Vec<Assignment> {
    ledger.deployment().assignments
}

#[test]
fn what_is_confirmed_is_in_force_and_not_deployed() {
    let mut ledger = proven(&[launch(&[set("x", "1")], &["reduce 8"])]);
    ledger.confirm(launch(&[set("x", "2"), set("y", "1")], &["scan 8"]));
    assert_eq!(ledger.in_force().assignments, [set("x", "2"), set("y", "1")]);
    assert_eq!(settings(&ledger), [set("x", "1")]);
    assert_eq!(*ledger.verified(), ledger.deployment());
}

#[test]
fn what_is_chosen_for_a_cell_takes_the_place_of_what_was() {
    let mut ledger = proven(&[of_library(LONG), of_library(SCAN)]);
    ledger.deploy(cell(LONG, own()));
    assert_eq!(ledger.deployment().selections[&LONG], own());
    // It does not come back with the end of what replaced it.
    ledger.take_back_selection(LONG, "slower", Bar::Cell, Vec::new());
    assert!(!ledger.deployment().selections.contains_key(&LONG));
}

#[test]
fn the_latest_settings_go_first_and_a_replaced_value_returns() {
    let (btl, eager) = (set("btl", "1"), |value: &str| set("btl_tcp_eager_limit", value));
    let mut ledger = proven(&[launch(std::slice::from_ref(&btl), &[]), launch(&[eager("32768")], &[])]);
    ledger.deploy(launch(&[eager("16384")], &[]));
    let gone = slowed(&mut ledger, &[Collective::Scan], &open_mpi());
    assert_eq!(gone, [eager("16384")]);
    assert_eq!(ledger.deployment(), *ledger.verified());
    let gone = slowed(&mut ledger, &[Collective::Scan], &open_mpi());
    assert_eq!(gone, [btl.clone(), eager("32768")]);
    assert!(ledger.deployment().is_empty());
    let barred = BTreeSet::from([btl, eager("16384"), eager("32768")]);
    assert_eq!(ledger.barred_settings(), barred);
}

/// Also where the same value is proposed again, beside another name.
#[test]
fn what_was_chosen_for_overlap_leaves_what_was_there_before() {
    let eager = |value: &str| set("btl_tcp_eager_limit", value);
    let other = set("btl_tcp_progress_thread", "1");
    for new in [vec![eager("32768"), other], vec![eager("65536")]] {
        let mut ledger = proven(&[launch(&[eager("32768")], &["reduce 8"])]);
        ledger.deploy(launch(&new, &[]));
        ledger.take_back_latest(&new, "it came no nearer to a target");
        assert_eq!(settings(&ledger), [eager("32768")]);
        assert!(ledger.barred_settings().is_empty());
    }
}

#[test]
fn new_settings_are_taken_back_where_none_of_their_targets_gains() {
    let (proven_before, one, other) = (set("btl", "1"), set("coll", "2"), set("malloc", "3"));
    let mut ledger = proven(&[launch(std::slice::from_ref(&proven_before), &["reduce 8"])]);
    ledger.deploy(launch(std::slice::from_ref(&one), &["reduce 8", "scan 8"]));
    ledger.deploy(launch(std::slice::from_ref(&other), &["bcast 8", "scan 8"]));
    let gainless = ["reduce 8", "scan 8", "gather 8"].map(str::to_owned);
    let gone = ledger.take_back_gainless(&BTreeSet::from(gainless), "as long as before");
    assert_eq!(gone, std::slice::from_ref(&one));
    assert_eq!(settings(&ledger), [proven_before, other]);
    assert_eq!(ledger.barred_settings(), BTreeSet::from([one]));
}

/// A variable that chooses the algorithm of one collective slows no other.
#[test]
fn the_variable_of_the_slowed_collective_goes_first() {
    let intel = find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap();
    let preset = |name: &str| set(&format!("I_MPI_ADJUST_{name}"), "0:0-7;2:8-8;0:9-2147483647");
    let new = [preset("BCAST"), preset("SCAN"), set("I_MPI_SHM", "1")];
    let take_back = |by: &[Option<Collective>]| {
        let mut ledger = ledger(&new.clone().map(|one| launch(&[one], &[])));
        ledger.take_back_settings(&by.iter().copied().collect(), &intel, "slower")
    };
    assert_eq!(take_back(&[Some(Collective::Bcast)]), [preset("BCAST")]);
    assert_eq!(take_back(&[Some(Collective::Reduce)]), new);
    assert_eq!(take_back(&[Some(Collective::Bcast), None]), new);
}

/// The settings that a variable needs go with it, unless another one needs them, too.
#[test]
fn what_stands_beside_a_variable_is_taken_back_with_it() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let (bcast, reduce) = (set("MV2_INTER_BCAST_TUNING", "5"), set("MV2_INTER_REDUCE_TUNING", "1"));
    let [all, of_bcast, of_reduce] =
        ["", "_BCAST", "_REDUCE"].map(|name| set(&format!("MV2_USE_INDEXED{name}_TUNING"), "0"));
    let mut ledger = ledger(&[
        launch(&[bcast.clone(), all.clone(), of_bcast.clone()], &[]),
        launch(&[reduce.clone(), all.clone(), of_reduce.clone()], &[]),
    ]);
    let gone = slowed(&mut ledger, &[Collective::Bcast], &mvapich2);
    assert_eq!(gone, [bcast, of_bcast]);
    assert_eq!(settings(&ledger), [reduce, all.clone(), of_reduce]);
    assert!(!ledger.barred_settings().contains(&all));
}

const IDLE: &str = "the library sends `0>1:1`";

fn with_idle_rule() -> Ledger {
    let mut ledger = ledger(&[of_library(LONG)]);
    let taken = ledger.take_back_selection(LONG, IDLE, Bar::Kind, vec!["GL10 262144".to_owned()]);
    assert_eq!(taken, Some(algorithm(LONG)));
    ledger
}

#[test]
fn where_the_library_does_not_follow_a_rule_kilters_own_may_still_fix_the_cell() {
    let mut ledger = with_idle_rule();
    assert!(ledger.deployment().is_empty());
    let allowed =
        |cell| [FixKind::Parameter, FixKind::Mockup, FixKind::Algorithm].map(|kind| ledger.allows(cell, kind));
    assert_eq!(allowed(LONG), [false, true, true]);
    assert_eq!(allowed(SHORT), [true; 3]);
    // Neither given up nor closed, so the next round looks for another fix.
    assert!(!ledger.is_given_up("GL10 262144") && !ledger.is_closed(LONG));
    assert_eq!(ledger.take_back_selection(LONG, IDLE, Bar::Kind, Vec::new()), None);
}

#[test]
fn what_slowed_a_cell_closes_it_for_every_kind() {
    let mut ledger = ledger(&[of_library(LONG)]);
    ledger.take_back_selection(LONG, "slower", Bar::Cell, Vec::new());
    assert!(!ledger.allows(LONG, FixKind::Algorithm) && ledger.allows(SHORT, FixKind::Algorithm));
}

#[test]
fn a_cell_for_which_nothing_else_is_found_says_what_was_taken_back() {
    let mut ledger = with_idle_rule();
    let text = format!("`coll_tuned_bcast_algorithm=7` is taken back: {IDLE}");
    let reason = |ledger: &Ledger| ledger.reasons().get("GL10 262144").cloned();
    assert_eq!(reason(&ledger), Some(text.clone()));
    ledger.give_up("GL10 262144".to_owned(), "nothing is faster");
    assert_eq!(reason(&ledger), Some(format!("nothing is faster; {text}")));
    let mut ledger = with_idle_rule();
    ledger.deploy(cell(LONG, own()));
    assert_eq!(reason(&ledger), None);
}

#[test]
fn who_was_confirmed_to_fix_a_cell_is_credited_and_nobody_else() {
    let mut ledger = ledger(&[
        launch(&[set("x", "1")], &["reduce 4096"]),
        launch(&[set("x", "16")], &["bcast 8"]),
        launch(&[set("y", "1")], &["bcast 8", "scan 8"]),
    ]);
    let fix = |ledger: &Ledger, target: &str| {
        let deployed = ledger.deployment();
        ledger
            .fix(Some((Collective::Gather, 1)), target, &deployed)
            .map(|fix| fix.id)
    };
    assert_eq!(fix(&ledger, "bcast 8").as_deref(), Some("x=16 y=1"));
    assert_eq!(fix(&ledger, "scan 8").as_deref(), Some("y=1"));
    // The change confirmed for it is not deployed: `x=1` is not `x=16`.
    assert_eq!(fix(&ledger, "reduce 4096").as_deref(), Some("x=16 y=1"));
    ledger.take_back_all("nothing is left");
    assert_eq!(fix(&ledger, "bcast 8"), None);
}

#[test]
fn a_selection_is_what_fixed_its_cell() {
    let ledger = ledger(&[
        launch(&[set("x", "1")], &["bcast 8"]),
        of_library(LONG),
        of_library(SCAN),
    ]);
    let deployed = ledger.deployment();
    let fix = |cell: Cell| ledger.fix(Some(cell), "bcast 8", &deployed).unwrap().id;
    assert_eq!(fix(LONG), "coll_tuned_bcast_algorithm=7");
    assert_eq!(fix(SCAN), "coll_tuned_scan_algorithm=7");
    assert_eq!(fix(SHORT), "x=1");
}

fn contest(at: Cell, changes: &[Change]) -> Contest {
    let contestant = |change: &Change| Contestant {
        id: change.id(),
        kind: Some(FixKind::Parameter),
        seconds: 1e-6,
        ratio_to_default: 0.5,
        ratio_to_bound: 0.9,
        among_best: true,
        chosen: true,
        predicted: None,
        change: change.clone(),
        not_deployed: None,
    };
    Contest {
        function: at.0.name().to_owned(),
        bytes: at.1,
        candidates: changes.iter().map(contestant).collect(),
        proof: None,
        models: Vec::new(),
        left_out: Vec::new(),
        refused: Vec::new(),
        screened: Vec::new(),
    }
}

#[test]
fn what_is_taken_back_is_chosen_no_more_and_says_why() {
    let x = |value: &str| launch(&[set("x", value)], &["bcast 8"]);
    let mut ledger = ledger(&[x("16"), of_library(LONG), of_library(SCAN)]);
    let changes = [
        x("16").change,
        x("1").change,
        of_library(LONG).change,
        of_library(SCAN).change,
    ];
    let mut contests = [contest(LONG, &changes)];
    let mut left = |ledger: &Ledger| {
        ledger.mark(&mut contests);
        let candidates = contests[0].candidates.iter().filter(|one| one.chosen);
        candidates.map(|one| one.id.clone()).collect::<Vec<_>>()
    };
    let ids = changes.each_ref().map(Change::id);
    assert_eq!(left(&ledger), ids);
    // These belong to another cell.
    ledger.take_back_selection(SCAN, "slower", Bar::Cell, Vec::new());
    assert_eq!(left(&ledger), ids);
    slowed(&mut ledger, &[Collective::Bcast], &open_mpi());
    assert_eq!(left(&ledger), ["x=1", &ids[2], "coll_tuned_scan_algorithm=7"]);
    let why = contests[0].candidates[0].not_deployed.as_ref();
    assert_eq!(
        why.map(ToString::to_string).as_deref(),
        Some("was taken back: bcast became slower")
    );
}
