//! Launches that try algorithms chosen at the start, and their rankings.

use kilter_model::config::library::find_for;
use kilter_model::plan::Subject;
use kilter_stats::sample::Sample;

use super::confirming::keeps_its_promise;
use super::*;
use crate::trials::Samples;

fn intel() -> Library {
    find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap()
}

fn times(of: &[(Collective, u64, f64)]) -> Times {
    of.iter()
        .map(|(collective, bytes, seconds)| (Subject::library(*collective, *bytes), *seconds))
        .collect()
}

#[test]
fn a_launch_tries_a_choice_of_every_collective() {
    let targets = [(Collective::Bcast, 8), (Collective::Bcast, 1024), (Collective::Scan, 8)]
        .map(|(collective, bytes)| Target::unbounded(collective, bytes));
    let trials = trials(&intel(), &targets, 4, &[]);
    // As many as bcast has presets, and not those of both added up.
    assert_eq!(trials.len(), 22);
    assert_eq!(trials[0], [(Collective::Bcast, 1), (Collective::Scan, 1)]);
    assert_eq!(trials[21], [(Collective::Bcast, 22)]);
    let text: Vec<String> = values(&intel(), &trials[1])
        .iter()
        .map(|assignment| format!("{}={}", assignment.name, assignment.value))
        .collect();
    assert_eq!(text, ["I_MPI_ADJUST_BCAST=2", "I_MPI_ADJUST_SCAN=2"]);
    let openmpi = find_for("mpirun (Open MPI) 4.1.4").unwrap();
    assert_eq!(super::trials(&openmpi, &targets, 4, &[]), Vec::<Trial>::new());
}

#[test]
fn each_size_has_its_own_ranking_where_sizes_can_be_told_apart() {
    let (one, two) = ((Collective::Bcast, 8), (Collective::Bcast, 1024));
    let targets = [one, two].map(|(collective, bytes)| Target::unbounded(collective, bytes));
    let present = times(&[(one.0, one.1, 1.0), (two.0, two.1, 1.0)]);
    let tried = [(3, 0.5, 2.0), (4, 0.8, 0.6), (5, 1.1, 0.99)];
    let tried: BTreeMap<_, _> = tried
        .into_iter()
        .map(|(choice, a, b)| {
            (
                (Collective::Bcast, choice),
                times(&[(one.0, one.1, a), (two.0, two.1, b)]),
            )
        })
        .collect();
    let mut library = intel();
    let place = |library: &Library, place| picks(library, &targets, &tried, &present, place);
    assert_eq!(place(&library, 0), Picks::from([(one, 3), (two, 4)]));
    // A candidate that is slower than the library's own choice, or as fast, is no finalist.
    assert_eq!(place(&library, 1), Picks::from([(one, 4)]));
    for row in &mut library.algorithms {
        row.size_switch = false;
    }
    assert_eq!(place(&library, 0), Picks::from([(one, 4), (two, 4)]));
}

#[test]
fn what_is_put_together_has_to_be_faster_where_it_was_chosen_and_slower_nowhere() {
    let (one, other) = ((Collective::Bcast, 8), (Collective::Bcast, 1024));
    let targets = [one, other].map(|(collective, bytes)| Target::unbounded(collective, bytes));
    let samples = |of: [f64; 2]| -> Samples {
        [one, other]
            .iter()
            .zip(of)
            .map(|((collective, bytes), seconds)| {
                let sample = Sample::new(vec![seconds; 5]).unwrap();
                (Subject::library(*collective, *bytes), sample)
            })
            .collect()
    };
    let chosen = Picks::from([(one, 3)]);
    let keeps = |with: [f64; 2]| {
        let both = [samples([1.0, 1.0]), samples(with)];
        keeps_its_promise(Some(Collective::Bcast), &targets, &chosen, &both)
    };
    assert!(keeps([0.5, 1.0]));
    assert!(!keeps([1.1, 1.0]) && !keeps([0.5, 1.5]));
    let failed = [samples([1.0, 1.0]), Samples::new()];
    assert!(!keeps_its_promise(Some(Collective::Bcast), &targets, &chosen, &failed));
}
