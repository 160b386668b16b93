//! Machines that are not quiet.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use kilter_bench::launch::scripted::Noise;
use kilter_model::plan::DEFAULT;

use super::*;

const CELLS: &str = "--guidelines GL8,GL10,GL12 --sizes 64,1024,4096";

fn noises() -> Vec<Noise> {
    let seeds = 1..=2;
    let usual = |seed| Noise {
        seed,
        ..Noise::default()
    };
    let all = seeds.flat_map(|seed| {
        [
            Noise {
                item: 0.05,
                repetition: 0.3,
                ..usual(seed)
            },
            Noise {
                slow_launches: (0.25, 2.0),
                ..usual(seed)
            },
            Noise {
                slow_items: (0.1, 1.5),
                ..usual(seed)
            },
            Noise {
                drift_per_second: 0.01,
                ..usual(seed)
            },
        ]
    });
    all.collect()
}

/// On a busy machine no repetition of an item may be valid in both launches of the screening. It is looked at once more, and what it bounds
/// is judged as any other.
#[test]
fn what_was_void_at_first_is_timed_later() {
    let void = Rc::new(Cell::new(0));
    let seen = Rc::clone(&void);
    let library = slow_reduce(|call| call.algorithm == 2).voids(move |call| {
        let is_void = call.collective.name() == "allreduce" && call.bytes == 4096 && seen.get() < 3;
        seen.set(seen.get() + usize::from(is_void));
        is_void
    });
    let run = tune(library, REDUCE);
    assert_eq!(void.get(), 3);
    assert!(is_mended(&run, SLOW));
    assert!(run.report.unreached.is_empty(), "{:?}", run.report.unreached);
    // Repetitions that stay void are reported, and end nothing.
    let library = slow_reduce(|call| call.algorithm == 2)
        .voids(|call| call.collective.name() == "allreduce" && call.bytes == 4096);
    let run = tune(library, REDUCE);
    let unreached: Vec<&String> = run.report.unreached.iter().collect();
    assert_eq!(unreached, ["allreduce(n) @4096"]);
}

/// Reduce of 4 and 8 MiB takes a third of its bound: two launches of the screening would say the same as one. The violated cell is found as ever.
#[test]
fn what_is_far_below_its_bound_is_screened_once() {
    let asked = Rc::new(RefCell::new(BTreeMap::<u64, usize>::new()));
    let seen = Rc::clone(&asked);
    let library = ScriptedLibrary::new()
        .slower(3_000.0)
        .cost("reduce", |call, usual| match call.bytes {
            4096 => 4.0 * usual,
            4_194_304.. => usual / 3.0,
            _ => usual,
        })
        .voids(move |call| {
            if call.item.starts_with("reduce(n) @") {
                *seen.borrow_mut().entry(call.bytes).or_default() += 1;
            }
            false
        });
    let run = tune(
        library,
        "--guidelines GL8 --sizes 1..8MiB:x2 --type byte --only parameters --budget 7200",
    );
    let cell = |bytes: u64| run.report.cells.iter().find(|cell| cell.bytes == bytes).unwrap();
    assert_eq!(cell(4096).before.verdict, Outcome::Violated);
    let asked = asked.borrow();
    let (near, far) = (asked[&(1 << 20)], asked[&(1 << 23)]);
    assert_eq!(far + 1, near, "{asked:?}");
    assert_eq!(cell(1 << 23).before.verdict, Outcome::Holds);
}

/// An item that is void at first, with a fixed number of launches, in which nothing is screened: the cell was missing from the report.
#[test]
fn what_was_void_at_first_is_timed_later_in_a_fixed_design_too() {
    let asked = Cell::new(0);
    let library = slow_reduce(|call| call.algorithm == 2).voids(move |call| {
        let is_it = call.item == "reduce(n) @4096";
        asked.set(asked.get() + usize::from(is_it));
        is_it && asked.get() <= 2
    });
    let run = tune(library, &format!("{REDUCE} --only parameters --fixed --launches 5"));
    assert!(is_mended(&run, SLOW));
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
}

/// A contest compares its candidates with the default: a block in which no repetition of the default is valid says nothing of any of them.
#[test]
fn a_contest_in_which_the_default_was_void_is_held_again() {
    let void = Rc::new(Cell::new(0));
    let seen = Rc::clone(&void);
    let library = slow_reduce(|call| call.algorithm == 2).voids(move |call| {
        let is_void = call.item == DEFAULT && seen.get() < 2;
        seen.set(seen.get() + usize::from(is_void));
        is_void
    });
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(void.get(), 2);
    assert!(is_mended(&run, SLOW));
}

#[test]
fn no_noise_makes_a_violation() {
    for noise in noises() {
        let run = tune(ScriptedLibrary::new().noise(noise), CELLS);
        let violated: Vec<String> = run
            .report
            .cells
            .iter()
            .filter(|cell| cell.before.verdict == Outcome::Violated)
            .map(|cell| cell.expression.clone())
            .collect();
        assert!(
            violated.is_empty() && run.report.changes.is_empty(),
            "{noise:?}: {violated:?}"
        );
    }
}

#[test]
fn noise_does_not_hide_a_violation() {
    for noise in noises() {
        let run = check(slow_reduce(|call| call.algorithm == 2).noise(noise), CELLS);
        assert_eq!(cell(&run, SLOW).before.verdict, Outcome::Violated, "{noise:?}");
    }
}

/// Launches of one disturbance count as one, so that the usual number forms too few units for a test of ranks. The budget reaches for more; what
/// is far slower than its bound is clear before.
#[test]
fn launches_that_depend_on_each_other_become_more_but_for_what_is_clear() {
    let library = |seed| {
        let noise = Noise {
            seed,
            disturbances: (1.5, 0.5, 0.3),
            ..Noise::default()
        };
        ScriptedLibrary::new()
            .cost("reduce", |_, usual| 2.2 * usual)
            .noise(noise)
    };
    let cells =
        "--guidelines GL* --functions reduce,bcast,scan,gather --sizes 64,256,1024,4096 --rounds 1 --only parameters";
    let run = tune(library(681), &format!("{cells} --budget 200"));
    warning(&run, "launches depend on each other");
    let reduce = &cell(&run, SLOW).before;
    assert_eq!(reduce.verdict, Outcome::Violated);
    assert!(reduce.left_medians.len() <= 20, "{}", reduce.left_medians.len());
    let launches = run.report.cells.iter().map(|cell| cell.before.left_medians.len());
    assert!(launches.max().is_some_and(|most| most > 60));
    // A user who sets a number of launches gets no more.
    let few = tune(library(7), &format!("{cells} --budget 200 --launches 20"));
    assert!(few.report.cells.iter().all(|cell| cell.before.left_medians.len() <= 20));
}

/// One disturbed launch among the five that confirm a setting made it "not confirmed", however much it gains: the launches are made once more.
#[test]
fn one_disturbed_launch_does_not_hide_what_a_setting_does() {
    let launches = Rc::new(Cell::new(0));
    let seen = Rc::clone(&launches);
    let is_its = |call: &Call<'_>| call.is("x", "1") && call.item == "reduce(n) @4096";
    let library = ScriptedLibrary::new()
        .setting("x", "0", &["1"])
        .cost("reduce", move |call, usual| match call.bytes {
            4096 if is_its(call) && launches.get() == 4 => 40.0 * usual,
            4096 if !call.is("x", "1") => 4.0 * usual,
            _ => usual,
        })
        .voids(move |call| {
            seen.set(seen.get() + usize::from(is_its(call)));
            false
        });
    let run = tune(library, &format!("{REDUCE} --only parameters --rounds 1"));
    assert!(is_mended(&run, SLOW), "{:#?}", run.report.warnings);
    assert_eq!(changes(&run), ["x=1"]);
}
