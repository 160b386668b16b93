//! The profile of an application: what is tuned for it, and what it should save.

use std::path::PathBuf;

use kilter_profiling::profile::{Calls, Communicator, Profile, Rank};
use kilter_profiling::split::Measured;
use kilter_profiling::store;
use kilter_protocol::calls::{End, bucket};

use super::*;

/// Nodes, ranks on each, seconds of all ranks in reductions of 4 KiB.
type Reduces = ((u32, u32), f64);

fn rank(rank: u32) -> Rank {
    Rank {
        rank,
        host: format!("host{}", rank / 2),
        seconds: 40.0,
        finalized: true,
        missing: End {
            lost_calls: 0,
            lost_messages: 0,
            lost_receives: 0,
            failed_calls: 0,
        },
    }
}

fn communicator((nodes, per_node): (u32, u32)) -> Communicator {
    Communicator {
        name: format!("{nodes}x{per_node}"),
        label: String::new(),
        ranks: nodes * per_node,
        nodes,
        ranks_per_node: per_node,
    }
}

/// A million calls of each rank of such communicators.
fn reduces(communicator: usize, rank: u32, seconds: f64) -> Calls {
    Calls {
        rank,
        communicator: Some(communicator),
        function: "MPI_Reduce".to_owned(),
        site: None,
        bucket: bucket(4096),
        datatype: "real".to_owned(),
        operator: "MPI_SUM".to_owned(),
        calls: 1_000_000,
        seconds,
        shortest: 1e-6,
        longest: 1e-3,
        bytes: 4_096_000_000,
        requests: 0,
        measured: Measured::default(),
    }
}

/// A profile of four ranks, written into the directory.
fn written(directory: &tempfile::TempDir, of_communicators: &[Reduces]) -> PathBuf {
    let mut profile = Profile {
        command: "mpirun -n 4 solver".to_owned(),
        library: "Open MPI v4.1.4".to_owned(),
        world: 4,
        ranks: (0..4).map(rank).collect(),
        ..Profile::default()
    };
    for (number, (layout, seconds)) in of_communicators.iter().enumerate() {
        profile.communicators.push(communicator(*layout));
        let ranks = layout.0 * layout.1;
        let of_rank = |rank| reduces(number, rank, seconds / f64::from(ranks));
        profile.calls.extend((0..ranks).map(of_rank));
    }
    let file = directory.path().join("app.db");
    store::write(&profile, &file).unwrap();
    file
}

fn slow_on_four() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.ranks == 4 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    })
}

#[test]
fn the_layouts_of_a_program_are_tuned_for_its_calls() {
    let (directory, site) = site(slow_on_four());
    let file = written(&directory, &[((2, 2), 70.0), ((1, 2), 28.0), ((2, 1), 2.0)]);
    let argument = format!("--profile={}", file.display());
    let (reports, _) = site.tune_layouts(&["--guidelines=GL8", &argument]).unwrap();
    assert_eq!(reports.iter().map(|report| report.ranks).collect::<Vec<_>>(), [4, 2]);
    // The sizes are those of the calls.
    let sizes = |report: &kilter_model::report::Report| report.cells.iter().map(|cell| cell.bytes).collect::<Vec<_>>();
    assert_eq!(reports.iter().map(sizes).collect::<Vec<_>>(), [[4096], [4096]]);
    let saving = &reports[0].savings[0];
    assert_eq!((saving.function.as_str(), saving.calls), ("reduce", 1e6));
    assert!(saving.saved_seconds > 1.0 && saving.certain, "{saving:?}");
    let run = reports[0].application.as_ref().unwrap();
    assert_eq!((run.command.as_str(), run.seconds), ("mpirun -n 4 solver", 40.0));
    // Nothing acts on two ranks, where nothing is slow.
    assert!(reports[1].savings.is_empty(), "{:?}", reports[1].savings);
}

#[test]
fn one_kind_of_communicators_needs_no_layouts() {
    let (directory, site) = site(slow_on_four());
    let file = written(&directory, &[((1, 4), 70.0), ((1, 2), 1.0)]);
    let argument = format!("--profile={}", file.display());
    let run = site.tune(&["--guidelines=GL8", &argument]).unwrap();
    assert_eq!(run.report.ranks, 4);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    // A number of launches that is asked for is made.
    let run = site.tune(&["--guidelines=GL8", &argument, "--ranks=2"]).unwrap();
    assert_eq!((run.report.ranks, run.report.changes.len()), (2, 0));
    let error = site.tune(&["--guidelines=GL8", &argument, "--ranks=3"]).unwrap_err();
    assert!(
        error.to_string().contains("--profile: ") && error.to_string().contains("only of 2, 4"),
        "{error}"
    );
}

#[test]
fn a_profile_without_calls_to_tune_is_refused() {
    let (directory, site) = site(slow_on_four());
    let file = written(&directory, &[((1, 1), 70.0)]);
    let argument = format!("--profile={}", file.display());
    for command in [&["--guidelines=GL8", &argument][..], &[&argument, "--ranks=2"]] {
        let error = site.tune(command).unwrap_err();
        assert!(
            error.to_string().contains("no call that guidelines speak of"),
            "{error}"
        );
    }
    std::fs::write(&file, "nothing").unwrap();
    let error = site.tune(&[&argument]).unwrap_err();
    assert!(error.to_string().contains("--profile: "), "{error}");
}
