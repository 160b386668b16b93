//! Nights of `kilter guard`: silent where nothing changed, and whatever changed is named.

use kilter_bench::launch::scripted::Noise;
use kilter_guard::deployed::State;
use kilter_guard::times::Pace;
use kilter_guard::{Facts, Night, Standing};

use super::*;

/// The host's facts, as every night tells them.
fn told() -> Facts {
    let mut facts = Facts::default();
    facts.of_job("library", "Scripted MPI 1.0");
    facts.of_host("kernel", "host0", "6.1");
    facts
}

/// A library whose reduce at 4096 B takes four times as long as it should, unless `x` is 16.
fn library(night: u64) -> ScriptedLibrary {
    let noise = Noise {
        seed: night,
        ..Noise::default()
    };
    slow_reduce(|call| call.is("x", "16"))
        .setting("x", "0", &["1", "16"])
        .noise(noise)
}

/// A place with a database that all nights share.
struct Watch(tempfile::TempDir);

impl Watch {
    fn new() -> Watch {
        Watch(directory())
    }

    fn site(&self, library: ScriptedLibrary) -> Site {
        Site::new(self.0.path(), library).unwrap()
    }

    fn night(&self, library: ScriptedLibrary, facts: Facts, arguments: &str) -> Night {
        let arguments: Vec<&str> = arguments.split(' ').filter(|word| !word.is_empty()).collect();
        self.site(library).guard(facts, &arguments).unwrap().0
    }
}

/// The word of a standing, with what was found where it is not silent.
fn told_of(night: &Night) -> String {
    kilter_guard::text::render(night)
}

#[test]
fn the_first_night_is_accepted_and_ten_of_nothing_are_silent() {
    let watch = Watch::new();
    let first = watch.night(library(0), told(), "");
    assert!(first.accepts && first.accepted.is_none() && first.times.is_empty());
    for number in 1..=10 {
        let night = watch.night(library(number), told(), "");
        assert_eq!(night.standing(), Standing::Silent, "{}", told_of(&night));
        assert_eq!(night.accepted.as_ref().unwrap().silent_nights, number as usize - 1);
        assert!(!night.accepts);
        assert_eq!(night.times.len(), first.watched);
    }
}

#[test]
fn a_night_makes_few_launches() {
    let watch = Watch::new();
    let (_, first) = watch.site(library(0)).guard(told(), &[]).unwrap();
    let (_, second) = watch.site(library(1)).guard(told(), &[]).unwrap();
    // The parameters are asked after in one, the rest is timed.
    assert_eq!((first, second), (21, 6));
}

#[test]
fn another_library_and_another_kernel_are_named_until_they_are_accepted() {
    let watch = Watch::new();
    watch.night(library(0), told(), "");
    let mut other = told();
    other.of_job("library", "Scripted MPI 2.0");
    other.of_host("kernel", "host0", "6.2");
    let night = watch.night(library(1), other.clone(), "");
    assert_eq!(night.standing(), Standing::Differs);
    let said = told_of(&night);
    for line in [
        "kernel: 6.1 -> 6.2, on host0",
        "library: Scripted MPI 1.0 -> Scripted MPI 2.0",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let accepted = watch.night(library(2), other.clone(), "--accept");
    assert_eq!((accepted.standing(), accepted.accepts), (Standing::Differs, true));
    let after = watch.night(library(3), other, "");
    assert_eq!(after.standing(), Standing::Silent, "{}", told_of(&after));
    assert_eq!(after.accepted.unwrap().run, accepted.run);
}

#[test]
fn calls_whose_ranks_were_always_late_are_not_checked_and_the_reason_is_said() {
    let watch = Watch::new();
    watch.night(library(0), told(), "");
    let night = watch.night(library(1).voids(|call| call.item.starts_with("barrier")), told(), "");
    assert_eq!(night.standing(), Standing::Unchecked, "{}", told_of(&night));
    assert_eq!(night.unchecked.len(), 1, "{:?}", night.unchecked);
    let said = &night.unchecked[0];
    assert!(
        said.starts_with("barrier @0: a rank missed the start of every repetition in 5 launches"),
        "{said}"
    );
}

#[test]
fn everything_that_is_slower_and_one_call_that_is_slower_are_found() {
    let watch = Watch::new();
    watch.night(library(0), told(), "");
    let night = watch.night(library(1).slower(1.5), told(), "");
    assert!(
        night.times.iter().all(|timed| timed.pace == Pace::Slower),
        "{}",
        told_of(&night)
    );
    let slow_bcast = |call: &Call<'_>, usual: f64| if call.bytes == 8 { 1.3 * usual } else { usual };
    let night = watch.night(library(2).cost("bcast", slow_bcast), told(), "");
    let slower = night.times.iter().filter(|timed| timed.pace == Pace::Slower);
    let slower: Vec<&str> = slower.map(|timed| timed.cell.as_str()).collect();
    assert_eq!(slower, ["bcast(n) @8"], "{}", told_of(&night));
    // A loud night is no yardstick for later ones.
    let night = watch.night(library(3), told(), "");
    assert_eq!(night.standing(), Standing::Silent, "{}", told_of(&night));
    assert_eq!(night.accepted.unwrap().silent_nights, 0);
}

#[test]
fn a_deployed_setting_that_was_reverted_is_found_with_the_cell_that_it_fixed() {
    let watch = Watch::new();
    let run = tune_at(&watch.site(library(0)), REDUCE);
    assert_eq!(changes(&run), ["x=16"]);
    let first = watch.night(library(1), told(), "--mca x=16");
    assert_eq!(first.deployed[0].state(), State::Acts, "{}", told_of(&first));
    assert_eq!(first.guidelines[0].cell, SLOW);
    let night = watch.night(library(2), told(), "--mca x=16");
    assert_eq!(night.standing(), Standing::Silent, "{}", told_of(&night));
    let night = watch.night(library(3), told(), "");
    let said = told_of(&night);
    assert_eq!(night.standing(), Standing::Differs, "{said}");
    assert_eq!(night.deployed[0].state(), State::NoLonger, "{said}");
    assert!(night.guidelines[0].is_broken(), "{said}");
    assert!(said.contains("parameter x: 16 -> 0"), "{said}");
    let slower = night.times.iter().find(|timed| timed.pace == Pace::Slower).unwrap();
    assert_eq!(slower.cell, "reduce(n) @4096", "{said}");
}

#[test]
fn a_setting_that_reads_back_and_acts_no_longer_breaks_its_cell() {
    let watch = Watch::new();
    tune_at(&watch.site(library(0)), REDUCE);
    watch.night(library(1), told(), "--mca x=16");
    let night = watch.night(library(2).ignores("x"), told(), "--mca x=16");
    assert_eq!(night.deployed[0].state(), State::Acts);
    assert!(night.changes.is_empty(), "{}", told_of(&night));
    assert!(night.guidelines[0].is_broken(), "{}", told_of(&night));
}

#[test]
fn what_was_chosen_and_never_installed_is_no_difference() {
    let watch = Watch::new();
    tune_at(&watch.site(library(0)), REDUCE);
    let first = watch.night(library(1), told(), "");
    assert_eq!(first.deployed[0].state(), State::NotInForce);
    let night = watch.night(library(2), told(), "");
    assert_eq!(night.standing(), Standing::Silent, "{}", told_of(&night));
}

#[test]
fn an_algorithm_that_was_chosen_by_size_is_proven_by_its_messages() {
    // The second algorithm for reduce is as fast as it should be.
    let slow = |night: u64| {
        let noise = Noise {
            seed: night,
            ..Noise::default()
        };
        slow_reduce(|call| call.algorithm == 2).noise(noise)
    };
    let watch = Watch::new();
    let run = tune_at(&watch.site(slow(0)), &format!("{REDUCE} --only parameters"));
    let fix = cell(&run, SLOW).fix.clone().unwrap();
    assert_eq!(fix.id, "reduce_algorithm=2");
    // It is in place where the whole library has it.
    let in_place = "--mca reduce_algorithm=2";
    let first = watch.night(slow(1), told(), in_place);
    assert_eq!(first.deployed[0].state(), State::Acts, "{}", told_of(&first));
    let night = watch.night(slow(2), told(), in_place);
    assert_eq!(night.standing(), Standing::Silent, "{}", told_of(&night));
    let night = watch.night(slow(3), told(), "");
    let said = told_of(&night);
    assert_eq!(night.deployed[0].state(), State::NoLonger, "{said}");
    assert!(said.contains("messages of reduce 4096: 0>1:3 -> 0>1:1"), "{said}");
}

/// A partial fix leaves its cell violated, which is no news any night.
#[test]
fn a_partial_fix_is_looked_after_by_its_messages_and_not_by_its_guideline() {
    let watch = Watch::new();
    let library = || partial::faster_by_an_algorithm(0.3);
    tune_at(&watch.site(library()), partial::CELL);
    let first = watch.night(library(), told(), "--mca reduce_algorithm=2");
    assert_eq!(first.deployed[0].state(), State::Acts, "{}", told_of(&first));
    assert_eq!(
        (first.deployed.len(), first.guidelines.len()),
        (1, 0),
        "{}",
        told_of(&first)
    );
}

#[test]
fn a_slow_host_is_named_among_the_others() {
    let watch = Watch::new();
    let hostfile = watch.0.path().join("hosts");
    let names: Vec<String> = (0..8).map(|host| format!("host{host}")).collect();
    std::fs::write(&hostfile, names.join("\n")).unwrap();
    let arguments = format!("--per-node --ranks=8 --hostfile={}", hostfile.display());
    let first = watch.night(library(0), told(), &arguments);
    let map = first.nodes.clone().unwrap();
    assert_eq!((map.hosts.len(), map.slow.len()), (8, 0), "{}", told_of(&first));
    assert_eq!(map.kinds[0].pairs.len(), 28);
    let slowed = |from, to| if from == 5 || to == 5 { 2.0 } else { 1.0 };
    let night = watch.night(library(1).between(slowed), told(), &arguments);
    let said = told_of(&night);
    assert_eq!(night.standing(), Standing::Differs, "{said}");
    assert!(
        night.nodes.unwrap().slow.iter().all(|slow| slow.hosts == ["host5"]),
        "{said}"
    );
}

#[test]
fn hosts_that_cannot_be_told_apart_are_not_checked() {
    let watch = Watch::new();
    watch.night(library(0), told(), "");
    let night = watch.night(library(1), told(), "--per-node");
    assert_eq!(night.standing(), Standing::Unchecked, "{}", told_of(&night));
    assert!(night.unchecked[0].contains("1 host"), "{:?}", night.unchecked);
}
