//! The search on scripted times: a receiver of 1 MiB behind a computation three times as long, on a machine whose speed changes.

use std::collections::BTreeMap;

use kilter_fixtures::survey as fixture;
use kilter_model::config::target;
use kilter_model::not_deployed::Slowed;
use kilter_model::survey::{Map, Survey};
use kilter_protocol::fault::FaultKind;
use kilter_protocol::overlap::Benchmark;

use super::*;
use crate::targets::Standing;

const BYTES: u64 = 1 << 20;
const COMPUTATION_NS: u64 = 24_000_000;
const COMMUNICATION_SECONDS: f64 = 8e-3;

/// A machine: what each setting's ratio is in each of its launches, and how slow the machine is then.
struct Scripted {
    /// Ratios of a setting's launches by id, the last of them for all that follow. `default` is the library as it is.
    ratios: BTreeMap<&'static str, Vec<f64>>,
    made: BTreeMap<String, usize>,
    /// Slowdown of everything by the number of the launch.
    slow: fn(usize) -> f64,
    launches: usize,
    most_launches: usize,
    /// Settings that slow a message, or fail when they are confirmed.
    slows: Vec<&'static str>,
    fails_after: BTreeMap<&'static str, usize>,
    said: Vec<String>,
}

impl Scripted {
    fn of(ratios: &[(&'static str, &[f64])]) -> Scripted {
        Scripted {
            ratios: ratios.iter().map(|(id, ratios)| (*id, ratios.to_vec())).collect(),
            made: BTreeMap::new(),
            slow: |_| 1.0,
            launches: 0,
            most_launches: usize::MAX,
            slows: Vec::new(),
            fails_after: BTreeMap::new(),
            said: Vec::new(),
        }
    }

    fn survey(&mut self, id: &str) -> Survey {
        let slow = (self.slow)(self.launches);
        self.launches += 1;
        let made = self.made.entry(id.to_owned()).or_default();
        let ratios = &self.ratios[id];
        let ratio = ratios[(*made).min(ratios.len() - 1)];
        *made += 1;
        survey(ratio, slow)
    }
}

/// One launch on a machine that is so many times slower than usual, computation included.
fn survey(ratio: f64, slow: f64) -> Survey {
    let mut cell = fixture::cell(BYTES, COMPUTATION_NS, 1, COMMUNICATION_SECONDS, ratio);
    cell.communication_seconds *= slow;
    cell.computation_seconds *= slow;
    cell.overlapped_seconds *= slow;
    // A busy machine's interval of a median: some parts of a message.
    let half = 0.1 * COMMUNICATION_SECONDS * slow;
    cell.overlapped_interval_seconds = [-half, half].map(|offset| cell.overlapped_seconds + offset);
    let map = Map {
        benchmark: Benchmark::Receiver,
        cells: vec![cell],
        failed: Vec::new(),
    };
    Survey {
        // On one host without a free core the target could not be met.
        hosts: vec!["node-1".to_owned(), "node-2".to_owned()],
        ..fixture::survey(vec![map])
    }
}

impl Bench for Scripted {
    fn untouched(&mut self, _: &str) -> anyhow::Result<Survey> {
        Ok(self.survey("default"))
    }

    fn candidate(&mut self, _: &str, assignments: &[Assignment]) -> anyhow::Result<Option<Survey>> {
        let id = id(assignments);
        let made = self.made.get(&id).copied().unwrap_or_default();
        let fails = self.fails_after.get(id.as_str()).is_some_and(|after| made >= *after);
        Ok((!fails).then(|| self.survey(&id)))
    }

    fn side_effects(&mut self, assignments: &[Assignment]) -> anyhow::Result<Option<NotDeployed>> {
        let slowed = Slowed {
            what: "MPI_Send and MPI_Recv of 8 B".to_owned(),
            before_seconds: 4e-7,
            after_seconds: 9e-7,
        };
        let is_slow = self.slows.contains(&id(assignments).as_str());
        Ok(is_slow.then(|| NotDeployed::SideEffect { slowed: vec![slowed] }))
    }

    fn is_changed(&self) -> bool {
        false
    }

    fn failure(&self, _: &[Assignment]) -> FaultKind {
        FaultKind::Crashed
    }

    fn affords(&self, launches: usize) -> bool {
        self.launches + launches <= self.most_launches
    }

    fn note(&mut self, text: &str) {
        self.said.push(text.to_owned());
    }

    fn warn(&mut self, text: &str) {
        self.said.push(text.to_owned());
    }
}

fn half_is_hidden() -> Target {
    let all = target::load_embedded().unwrap();
    let receiver = all
        .into_iter()
        .find(|target| target.benchmark == Benchmark::Receiver)
        .unwrap();
    Target {
        id: "HALF".to_owned(),
        bytes: [BYTES, BYTES],
        computation: target::Computation::CoversCommunication,
        bound: 0.5,
        ..receiver
    }
}

fn setting(name: &str) -> Vec<Assignment> {
    vec![Assignment {
        name: name.to_owned(),
        value: "on".to_owned(),
        environment: true,
    }]
}

/// Searches among settings by name.
fn search(bench: &mut Scripted, names: &[&str]) -> Found {
    let (targets, rule) = ([half_is_hidden()], Rule::default());
    let base = [survey(1.0, 1.0), survey(1.02, 1.0), survey(0.99, 1.0)];
    let present = targets::judge_all(&targets, &base, &base, &rule);
    assert_eq!(present[0].standing(), Standing::Missed);
    let mut search = Search {
        targets: &targets,
        base: &base,
        present: &present,
        rule: &rule,
        bench,
        found: Found::default(),
    };
    search.run(names.iter().copied().map(setting).collect()).unwrap();
    search.found
}

fn why<'f>(found: &'f Found, name: &str) -> Option<&'f NotDeployed> {
    let wanted = format!("{name}=on");
    let one = found.tried.iter().find(|one| one.id() == wanted);
    one.unwrap_or_else(|| panic!("{name} is not among {found:?}"))
        .not_deployed
        .as_ref()
}

const DEFAULT: (&str, &[f64]) = ("default", &[1.0]);

#[test]
fn what_meets_the_target_outright_is_confirmed_first_and_ends_the_search() {
    let mut bench = Scripted::of(&[DEFAULT, ("A=on", &[0.0]), ("B=on", &[0.0])]);
    let found = search(&mut bench, &["A", "B"]);
    assert_eq!(found.chosen, Some(setting("A")));
    assert_eq!(why(&found, "A"), None);
    // The library as it is, A, and three pairs.
    assert_eq!((bench.launches, bench.made.contains_key("B=on")), (2 + 6, false));
}

/// On a shared machine the search failed: the launches of the untouched library were minutes old, and the machine had
/// become slower.
#[test]
fn a_machine_that_changes_its_speed_hides_no_effect() {
    for slow in [
        // Slower than when the untouched library was measured.
        (|_| 1.6) as fn(usize) -> f64,
        // Slow for some launches at a time, by what a machine that compiles shows.
        |launch| [1.0, 1.0, 1.3, 1.4, 1.1, 1.0, 2.0, 2.1][launch % 8],
        |launch| [1.9, 1.0][launch / 3 % 2],
    ] {
        let mut bench = Scripted {
            slow,
            ..Scripted::of(&[DEFAULT, ("A=on", &[0.0])])
        };
        let found = search(&mut bench, &["A"]);
        assert_eq!(found.chosen, Some(setting("A")), "{:?} {:#?}", bench.said, found.tried);
    }
}

#[test]
fn one_bad_launch_is_outvoted_by_further_pairs() {
    // The second launch of its own (the first is the screening) is as if nothing had been set.
    let mut bench = Scripted::of(&[DEFAULT, ("A=on", &[0.0, 0.0, 0.95, 0.0])]);
    let found = search(&mut bench, &["A"]);
    assert_eq!(found.chosen, Some(setting("A")), "{:?}", bench.said);
    assert_eq!(bench.launches, 2 + 12);
}

#[test]
fn what_looked_better_by_chance_is_not_deployed_and_says_so_with_its_numbers() {
    let mut bench = Scripted::of(&[DEFAULT, ("A=on", &[0.2, 1.0]), ("B=on", &[0.0, 0.98])]);
    let found = search(&mut bench, &["A", "B"]);
    assert_eq!(found.chosen, None);
    for name in ["A", "B"] {
        let Some(NotDeployed::NotConfirmed {
            launches,
            before,
            screened,
            confirmed,
            ..
        }) = why(&found, name)
        else {
            panic!("{found:#?}")
        };
        assert_eq!(*launches, MOST_LAUNCHES);
        assert!(*screened < 0.01 && (0.45..0.51).contains(confirmed) && (0.45..0.51).contains(before));
    }
    let said = bench.said.iter().find(|line| line.contains("`A=on` is not confirmed"));
    assert_eq!(
        said.unwrap(),
        "overlap: `A=on` is not confirmed: shortfall 0.00 in the screening, but 0.50 in 6 launches of its own, against 0.50 without it"
    );
}

#[test]
fn what_slows_messages_gives_way_to_what_does_not() {
    let mut bench = Scripted {
        slows: vec!["A=on"],
        ..Scripted::of(&[DEFAULT, ("A=on", &[0.0]), ("B=on", &[0.1])])
    };
    let found = search(&mut bench, &["A", "B"]);
    assert_eq!(found.chosen, Some(setting("B")));
    assert!(matches!(why(&found, "A"), Some(NotDeployed::SideEffect { .. })));
    let told = "`A=on` would slow MPI_Send and MPI_Recv of 8 B (400 ns -> 900 ns)";
    assert!(bench.said.iter().any(|line| line.contains(told)), "{:?}", bench.said);
}

#[test]
fn what_comes_nearer_waits_until_all_were_tried() {
    let mut bench = Scripted::of(&[DEFAULT, ("A=on", &[0.7]), ("B=on", &[0.75]), ("C=on", &[0.05])]);
    let found = search(&mut bench, &["A", "B", "C"]);
    assert_eq!(found.chosen, Some(setting("C")));
    let waiting: Vec<String> = found.waiting.iter().map(Tried::id).collect();
    assert_eq!(waiting, ["A=on", "B=on"], "in case that the proof refutes C");
}

#[test]
fn a_budget_that_ends_is_the_reason() {
    let mut bench = Scripted {
        most_launches: 5,
        ..Scripted::of(&[DEFAULT, ("A=on", &[0.0]), ("B=on", &[0.0])])
    };
    let found = search(&mut bench, &["A", "B"]);
    assert_eq!(found.chosen, None);
    let late = NotDeployed::BudgetEnded {
        before: Step::Confirmation,
    };
    assert_eq!(why(&found, "A"), Some(&late));
    let mut bench = Scripted {
        most_launches: 2,
        ..Scripted::of(&[DEFAULT, ("A=on", &[0.9]), ("B=on", &[0.0])])
    };
    assert!(search(&mut bench, &["A", "B"]).was_cut_short);
}

#[test]
fn what_fails_in_launches_of_its_own_says_how() {
    let mut bench = Scripted {
        fails_after: [("A=on", 2)].into(),
        ..Scripted::of(&[DEFAULT, ("A=on", &[0.0])])
    };
    let found = search(&mut bench, &["A"]);
    let failed = NotDeployed::Failed {
        what: FaultKind::Crashed,
    };
    assert_eq!(why(&found, "A"), Some(&failed));
}

#[test]
fn no_more_than_a_few_are_confirmed_and_the_others_say_so() {
    let chance: &[f64] = &[0.6, 1.0];
    let ratios = [
        DEFAULT,
        ("A=on", chance),
        ("B=on", chance),
        ("C=on", chance),
        ("D=on", chance),
    ];
    let found = search(&mut Scripted::of(&ratios), &["A", "B", "C", "D"]);
    assert_eq!(
        (found.chosen.clone(), found.waiting.len(), found.tried.len()),
        (None, 0, 4)
    );
    let left_out = NotDeployed::NotAmongFinalists { finalists: FINALISTS };
    assert_eq!(
        found
            .tried
            .iter()
            .filter(|one| one.not_deployed == Some(left_out.clone()))
            .count(),
        1
    );
}
