//! The space of libraries as they are described.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kilter_algorithms::{Collective, Nodes, registry};
use kilter_model::config::library::{Library, find_for, load_embedded};
use kilter_model::deployment::{Assignment, Selection, with_knob};
use kilter_protocol::row::Row;

use super::*;
use crate::heard::Heard;
use crate::plugins::Plugin;
use crate::target::Target;

fn openmpi() -> Library {
    find_for("mpirun (Open MPI) 4.1.4").unwrap()
}

fn ids(collective: Collective, bytes: u64, ranks: usize) -> Vec<String> {
    selections(&openmpi(), &Target::unbounded(collective, bytes), ranks, true)
        .iter()
        .map(Selection::id)
        .collect()
}

#[test]
fn all_kinds_compete_and_segments_stand_on_a_coarse_grid() {
    let ids = ids(Collective::Reduce, 262_144, 8);
    for expected in [
        "coll_tuned_reduce_algorithm=4",
        "coll_tuned_reduce_algorithm=4 coll_tuned_reduce_algorithm_segmentsize=32768",
        "reduce.as_allreduce",
        "reduce.ring",
        "reduce.pipelined_chain segment_bytes=16384",
        "reduce.pipelined_chain segment_bytes=65536",
    ] {
        assert!(ids.iter().any(|id| id == expected), "{expected} is missing in {ids:?}");
    }
}

#[test]
fn rows_of_plugins_stand_on_the_same_grid_and_must_suit() {
    use kilter_protocol::row::{Needs, Parameter};
    let row = |id: &str, needs| Row {
        id: id.to_owned(),
        collective: Collective::Reduce,
        needs,
        parameters: vec![Parameter {
            name: "segment_bytes".to_owned(),
            min: 1,
            max: 1 << 20,
            default: 8192,
        }],
        scratch: None,
    };
    let even = Needs {
        even_ranks: true,
        ..Needs::default()
    };
    let plugin = Plugin {
        file: "/p.so".into(),
        digest: String::new(),
        rows: vec![row("reduce.mine", Needs::default()), row("reduce.even", even)],
    };
    let ids = |collective, bytes| -> Vec<String> {
        let target = Target::unbounded(collective, bytes);
        let all = of_plugins(&openmpi(), std::slice::from_ref(&plugin), &target, 3, true);
        all.iter().map(Selection::id).collect()
    };
    assert_eq!(
        ids(Collective::Reduce, 262_144),
        ["reduce.mine segment_bytes=8192", "reduce.mine segment_bytes=32768"]
    );
    assert_eq!(ids(Collective::Reduce, 16), ["reduce.mine segment_bytes=8192"]);
    assert_eq!(ids(Collective::Bcast, 16), Vec::<String>::new());
    let mine = plugin.selection(&plugin.rows[0]);
    let set = with_knob(&mine, "segment_bytes", 64);
    assert_eq!(
        (knob_value(&set, "segment_bytes"), family(&set)),
        (Some(64), family(&mine))
    );
    assert_eq!(knobs(&openmpi(), &set, 4096)[0].max, 4096);
}

#[test]
fn a_small_message_has_no_segments_and_infeasible_algorithms_are_left_out() {
    assert!(
        !ids(Collective::Reduce, 8, 8)
            .iter()
            .any(|id| id.contains("segmentsize"))
    );
    let two_proc = "coll_tuned_allgather_algorithm=6";
    assert!(ids(Collective::Allgather, 8, 2).iter().any(|id| id == two_proc));
    assert!(
        !ids(Collective::Allgather, 8, 3)
            .iter()
            .any(|id| id == two_proc || id == "coll_tuned_allgather_algorithm=5")
    );
}

#[test]
fn what_needs_several_nodes_is_left_out_on_one() {
    let mut library = openmpi();
    let bcast = library
        .algorithms
        .iter_mut()
        .find(|row| row.collective == Collective::Bcast);
    bcast.unwrap().choices[0].several_nodes = true;
    let target = Target::unbounded(Collective::Bcast, 1024);
    let has_first = |one_node| {
        let all = selections(&library, &target, 8, one_node);
        all.iter()
            .any(|selection| selection.id() == "coll_tuned_bcast_algorithm=1")
    };
    assert_eq!((has_first(true), has_first(false)), (false, true));
}

#[test]
fn what_a_selection_does_not_say_stands_at_the_librarys_default() {
    let chain = Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "2".to_owned())]);
    let knobs = knobs(&openmpi(), &chain, 65536);
    // No segments are one of the whole message.
    assert_eq!(point(&knobs, &chain), [65536, 4]);
    let other = at_point(&knobs, &chain, &[4096, 2]);
    assert_eq!(
        other.id(),
        "coll_tuned_bcast_algorithm=2 coll_tuned_bcast_algorithm_segmentsize=4096 coll_tuned_bcast_algorithm_chain_fanout=2"
    );
    assert_eq!(point(&knobs, &other), [4096, 2]);
}

#[test]
fn every_value_of_every_knob_is_a_candidate_once() {
    let target = Target::unbounded(Collective::Scan, 65536);
    let all = every(&openmpi(), &target, 8, true);
    let chains: Vec<u64> = all
        .iter()
        .filter(|one| family(one) == "scan.pipelined_chain")
        .filter_map(|one| knob_value(one, "segment_bytes"))
        .collect();
    let row = registry::find("scan.pipelined_chain").unwrap();
    let expected = (65536_u64 / row.parameters[0].min).ilog2() as usize + 1;
    assert_eq!(chains.len(), expected, "{chains:?}");
    for selection in selections(&openmpi(), &target, 8, true) {
        assert_eq!(
            all.iter().filter(|one| **one == selection).count(),
            1,
            "{}",
            selection.id()
        );
    }
    let fan = Knob {
        name: "fan".to_owned(),
        min: 2,
        max: 5,
        scale: Scale::Linear,
        unset: 4,
    };
    assert_eq!(fan.values(), [2, 3, 4, 5]);
}

/// A tree of radix 2 is the binomial one, which is a row of its own; of a reduce it is another tree.
#[test]
fn a_row_with_two_names_is_proposed_by_one() {
    let by_radix_two = |collective: Collective| {
        let target = Target::unbounded(collective, 65536);
        let (tree, binomial) = (
            format!("{}.k_nomial", collective.name()),
            format!("{}.binomial", collective.name()),
        );
        let all: Vec<String> = every(&openmpi(), &target, 8, false).iter().map(Selection::id).collect();
        let times = |id: &str| all.iter().filter(|one| *one == id).count();
        assert_eq!((times(&binomial), times(&format!("{tree} radix=4"))), (1, 1), "{all:?}");
        let start = Selection::Algorithm(tree.clone(), vec![4]);
        let walked = at_point(&knobs(&openmpi(), &start, 65536), &start, &[2]).id();
        assert_eq!(times(&walked), 1, "{all:?}");
        (times(&format!("{tree} radix=2")), walked)
    };
    assert_eq!(by_radix_two(Collective::Bcast), (0, "bcast.binomial".to_owned()));
    assert_eq!(by_radix_two(Collective::Gather), (0, "gather.binomial".to_owned()));
    assert_eq!(by_radix_two(Collective::Scatter), (0, "scatter.binomial".to_owned()));
    assert_eq!(
        by_radix_two(Collective::Reduce),
        (1, "reduce.k_nomial radix=2".to_owned())
    );
}

#[test]
fn knobs_are_set_and_read() {
    let library = openmpi();
    let base = Selection::Settings(vec![("coll_tuned_reduce_algorithm".to_owned(), "2".to_owned())]);
    let names: Vec<String> = knobs(&library, &base, 65536)
        .into_iter()
        .map(|knob| knob.name)
        .collect();
    assert_eq!(
        names,
        [
            "coll_tuned_reduce_algorithm_segmentsize",
            "coll_tuned_reduce_algorithm_chain_fanout"
        ]
    );
    let set = with_knob(&with_knob(&base, &names[0], 4096), &names[0], 8192);
    assert_eq!(
        (knob_value(&set, &names[0]), knob_value(&base, &names[0])),
        (Some(8192), None)
    );
    let scan = Selection::Algorithm("scan.pipelined_chain".to_owned(), vec![16384]);
    assert_eq!(
        knob_value(&with_knob(&scan, "segment_bytes", 4096), "segment_bytes"),
        Some(4096)
    );
    assert_eq!(family(&set), family(&base));
}

/// A parameter that no file can deploy is not searched.
#[test]
fn requests_are_searched_where_the_rules_file_has_a_column_for_them() {
    let base = Selection::Settings(vec![("coll_tuned_alltoall_algorithm".to_owned(), "4".to_owned())]);
    let names = |version: &str| -> Vec<String> {
        let library = find_for(&format!("mpirun (Open MPI) {version}")).unwrap();
        knobs(&library, &base, 65536)
            .into_iter()
            .map(|knob| knob.name)
            .collect()
    };
    assert_eq!(names("4.1.4"), [""; 0]);
    assert_eq!(names("5.0.6"), [""; 0]);
    assert_eq!(names("5.0.11"), ["coll_tuned_alltoall_algorithm_max_requests"]);
}

#[test]
fn a_message_smaller_than_the_smallest_segment_has_no_knob() {
    let scan = Selection::Algorithm("scan.pipelined_chain".to_owned(), vec![16384]);
    assert_eq!(knobs(&openmpi(), &scan, 8), []);
    assert_eq!(knobs(&openmpi(), &scan, 65536).len(), 1);
}

#[test]
fn launch_candidates_follow_the_transport() {
    let on_one_host = launch_candidates(&openmpi(), &["vader".to_owned()], &[]);
    assert!(on_one_host.iter().any(|c| c.parameter == "btl_vader_eager_limit"));
    assert!(!on_one_host.iter().any(|c| c.parameter.starts_with("btl_tcp")));
    let malloc = on_one_host
        .iter()
        .find(|c| c.parameter == "MALLOC_MMAP_THRESHOLD_")
        .unwrap();
    assert_eq!(malloc.assignments.len(), 2);
    assert!(malloc.assignments.iter().all(|assignment| assignment.environment));
}

#[test]
fn overlap_depends_on_how_messages_travel_and_on_threads() {
    let names = |transports: &[&str]| -> Vec<String> {
        let transports: Vec<String> = transports.iter().map(|&name| name.to_owned()).collect();
        let all = overlap_candidates(&openmpi(), &transports, &Heard::default(), None);
        all.into_iter().map(|candidate| candidate.parameter).collect()
    };
    let tcp = names(&["tcp"]);
    assert_eq!(tcp[0], "btl_tcp_progress_thread");
    assert!(tcp.contains(&"btl_tcp_eager_limit".to_owned()), "{tcp:?}");
    assert!(!tcp.iter().any(|name| name.starts_with("MALLOC")), "{tcp:?}");
    assert!(!names(&["vader"]).iter().any(|name| name.contains("_tcp_")));
    // A guideline is not fixed by a thread that takes a core.
    let for_guidelines = launch_candidates(&openmpi(), &["tcp".to_owned()], &[]);
    assert!(
        !for_guidelines
            .iter()
            .any(|one| one.parameter == "btl_tcp_progress_thread")
    );
}

/// Settings of a transport are tried where it carries messages, and those of its own transports where these do.
#[test]
fn settings_of_a_shared_transport_are_tried_where_it_is_in_use() {
    let names = |transports: &[&str]| -> Vec<String> {
        let transports: Vec<String> = transports.iter().map(|name| (*name).to_owned()).collect();
        let all = launch_candidates(&openmpi(), &transports, &[]);
        let id = |candidate: LaunchCandidate| kilter_model::change::id(&candidate.assignments);
        all.into_iter().map(id).collect()
    };
    let has = |all: &[String], part: &str| all.iter().any(|id| id.starts_with(part));
    let usual = names(&["vader", "tcp"]);
    assert!(!has(&usual, "UCX_") && !has(&usual, "FI_") && has(&usual, "btl_vader_") && has(&usual, "pml_ob1_"));
    let memory = names(&["ucx", "ucx/posix", "ucx/cma"]);
    for tried in [
        "UCX_RNDV_THRESH=",
        "UCX_POSIX_SEG_SIZE=",
        "UCX_CMA_SEG_SIZE=",
        "UCX_TLS=^cma",
    ] {
        assert!(has(&memory, tried), "{tried}: {memory:?}");
    }
    for other in [
        "UCX_TCP_",
        "UCX_SYSV_",
        "UCX_RC_",
        "UCX_TLS=^knem",
        "btl_",
        "pml_ob1_",
        "FI_",
    ] {
        assert!(!has(&memory, other), "{other}: {memory:?}");
    }
    let network = names(&["ucx", "ucx/rc_mlx5"]);
    assert!(
        has(&network, "UCX_RC_MLX5_TM_ENABLE=y") && has(&network, "UCX_MAX_RNDV_RAILS=") && !has(&network, "UCX_TLS")
    );
    let libfabric = names(&["ofi", "ofi/ofi_rxm", "ofi/tcp"]);
    assert!(has(&libfabric, "FI_OFI_RXM_EAGER_LIMIT=") && has(&libfabric, "FI_TCP_") && !has(&libfabric, "FI_CXI_"));
}

/// Candidates that exist for overlap alone, in every description, by the transports of one host and of several.
#[test]
fn what_is_made_for_overlap() {
    let mut text = String::new();
    for library in load_embedded().unwrap() {
        for transports in [&library.transports.one_host, &library.transports.several_hosts] {
            let made_for_it = |candidate: &LaunchCandidate| {
                let row = library.parameters.iter().find(|row| row.name == candidate.parameter);
                row.is_some_and(|row| !row.overlap.is_empty() && row.r#try.is_empty())
            };
            let spare: &[usize] = &[6, 7];
            for candidate in overlap_candidates(&library, transports, &Heard::default(), Some(spare)) {
                if made_for_it(&candidate) {
                    let id = kilter_model::change::id(&candidate.assignments);
                    writeln!(text, "{}, {}: {id}", library.id, transports.join(" ")).unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(text, @r"
    intelmpi-2021, shm: I_MPI_ASYNC_PROGRESS=1 I_MPI_ASYNC_PROGRESS_THREADS=1
    intelmpi-2021, shm: I_MPI_ASYNC_PROGRESS=1 I_MPI_ASYNC_PROGRESS_THREADS=1 I_MPI_ASYNC_PROGRESS_PIN=6,7
    intelmpi-2021, ofi: I_MPI_ASYNC_PROGRESS=1 I_MPI_ASYNC_PROGRESS_THREADS=1
    intelmpi-2021, ofi: I_MPI_ASYNC_PROGRESS=1 I_MPI_ASYNC_PROGRESS_THREADS=1 I_MPI_ASYNC_PROGRESS_PIN=6,7
    mpich-4.0, shm ucx: MPIR_CVAR_ASYNC_PROGRESS=1
    mpich-4.0, shm ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=auto
    mpich-4.0, shm ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=6,7
    mpich-4.0, ucx: MPIR_CVAR_ASYNC_PROGRESS=1
    mpich-4.0, ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=auto
    mpich-4.0, ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=6,7
    mpich-4.3, shm: MPIR_CVAR_ASYNC_PROGRESS=1
    mpich-4.3, shm: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=auto
    mpich-4.3, shm: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=6,7
    mpich-4.3, ucx: MPIR_CVAR_ASYNC_PROGRESS=1
    mpich-4.3, ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=auto
    mpich-4.3, ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=6,7
    mpich-5.0, shm: MPIR_CVAR_ASYNC_PROGRESS=1
    mpich-5.0, shm: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=auto
    mpich-5.0, shm: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=6,7
    mpich-5.0, ucx: MPIR_CVAR_ASYNC_PROGRESS=1
    mpich-5.0, ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=auto
    mpich-5.0, ucx: MPIR_CVAR_ASYNC_PROGRESS=1 MPIR_CVAR_PROGRESS_THREAD_AFFINITY=6,7
    openmpi-4.1, tcp: btl_tcp_progress_thread=1
    openmpi-5.0, tcp: btl_tcp_progress_thread=1
    openmpi-6.0, tcp: btl_tcp_progress_thread=1
    ");
    let pinned = |spare: Option<&[usize]>| {
        let mpich = find_for("HYDRA build details: Version: 4.0.2").unwrap();
        let all = overlap_candidates(&mpich, &["shm".to_owned()], &Heard::default(), spare);
        let one = |candidate: &&LaunchCandidate| {
            let named = |one: &Assignment| one.name == "MPIR_CVAR_PROGRESS_THREAD_AFFINITY";
            candidate.assignments.iter().any(named)
        };
        all.iter().filter(one).count()
    };
    assert_eq!(
        (pinned(None), pinned(Some(&[1]))),
        (1, 2),
        "without a spare unit only where the library chooses"
    );
}

/// A switch of one collective is not tried where another one is too slow, and what is chosen at the start is not switched in a job.
#[test]
fn launch_candidates_follow_the_targets() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let names = |collective| -> Vec<String> {
        let target = Target::unbounded(collective, 8);
        let all = launch_candidates(&mvapich2, &["shm".to_owned()], &[target]);
        all.into_iter().map(|candidate| candidate.parameter).collect()
    };
    let direct = "MV2_USE_DIRECT_GATHER".to_owned();
    assert!(names(Collective::Gather).contains(&direct));
    assert!(!names(Collective::Bcast).contains(&direct));
    let eager = "MV2_SMP_EAGERSIZE".to_owned();
    assert!(names(Collective::Gather).contains(&eager) && names(Collective::Bcast).contains(&eager));
    assert!(!names(Collective::Bcast).contains(&"MV2_IBA_EAGER_THRESHOLD".to_owned()));
    let in_job = selections(&mvapich2, &Target::unbounded(Collective::Bcast, 1024), 8, true);
    assert!(
        in_job
            .iter()
            .all(|selection| !matches!(selection, Selection::Settings(_)))
    );
}

fn in_force(pairs: &[(&str, &str)]) -> Situation {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Situation {
        in_force: pairs.iter().map(owned).collect(),
        ..Situation::default()
    }
}

/// Candidates of a parameter, each with all its settings.
fn tried(
    library: &Library,
    transport: &str,
    parameter: &str,
    collective: Collective,
    situation: &Situation,
) -> Vec<String> {
    let target = Target::unbounded(collective, 1024);
    let all = launch_candidates(library, &[transport.to_owned()], &[target]);
    in_situation(library, all, situation)
        .into_iter()
        .filter(|candidate| candidate.parameter == parameter)
        .map(|candidate| kilter_model::change::id(&candidate.assignments))
        .collect()
}

/// `try` holds no default, since that is always measured; what the site has set is not, and is taken back by the library's own value.
#[test]
fn what_the_site_sets_is_taken_back_and_what_is_in_force_is_not_tried() {
    let openmpi = openmpi();
    let tried_of =
        |situation: &Situation| tried(&openmpi, "vader", "btl_vader_eager_limit", Collective::Bcast, situation);
    let taken_back = |set: &[(&str, &str)], own: &[(&str, &str)]| -> Vec<String> {
        let situation = in_force(set);
        let own = own
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let all = of_site(&openmpi, &own.collect(), &situation.in_force, &situation);
        all.iter()
            .map(|one| kilter_model::change::id(&one.assignments))
            .collect()
    };
    let usual = tried_of(&Situation::default());
    assert!(!usual.contains(&"btl_vader_eager_limit=4096".to_owned()), "{usual:?}");
    let changed = tried_of(&in_force(&[("btl_vader_eager_limit", "8192")]));
    assert_eq!(changed.len() + 1, usual.len(), "{changed:?}");
    assert_eq!(
        taken_back(&[("btl_vader_eager_limit", "8192")], &[]),
        ["btl_vader_eager_limit=4096"],
        "as it is described"
    );
    assert_eq!(taken_back(&[("btl_vader_eager_limit", "4096")], &[]), [""; 0]);
    let set = [
        ("btl", "tcp,self"),
        ("coll_tuned_bcast_algorithm", "3"),
        ("unknown", "1"),
    ];
    assert_eq!(
        taken_back(&set, &[("btl", "^openib"), ("coll_tuned_bcast_algorithm", "0")]),
        ["btl=^openib", "coll_tuned_bcast_algorithm=0"],
        "as the library's own program says"
    );
    let copies = "btl_vader_single_copy_mechanism";
    let none = in_force(&[(copies, "3")]);
    let emulated = "btl_vader_single_copy_mechanism=emulated";
    assert_eq!(tried(&openmpi, "vader", copies, Collective::Bcast, &none), [emulated]);
    // Nothing stands for what a library takes by itself.
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let eager = "MV2_SMP_EAGERSIZE";
    let small = tried(&mvapich2, "shm", eager, Collective::Bcast, &in_force(&[(eager, "64")]));
    assert!(
        small
            .iter()
            .all(|one| !one.starts_with("MV2_SMP_EAGERSIZE= ") && one != "MV2_SMP_EAGERSIZE="),
        "{small:?}"
    );
    let situation = in_force(&[("MV2_USE_SHMEM_BCAST", "0"), (eager, "64")]);
    let back = of_site(&mvapich2, &BTreeMap::new(), &situation.in_force, &situation);
    let back = back.iter().map(|one| kilter_model::change::id(&one.assignments));
    assert_eq!(back.collect::<Vec<_>>(), ["MV2_USE_SHMEM_BCAST=1"]);
}

/// MVAPICH2 ends a job whose eager size is not below half of its queues.
#[test]
fn two_settings_that_go_together_are_tried_together() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let eager = |situation: &Situation| tried(&mvapich2, "shm", "MV2_SMP_EAGERSIZE", Collective::Bcast, situation);
    assert_eq!(
        eager(&Situation::default()),
        [
            "MV2_SMP_EAGERSIZE=8192",
            "MV2_SMP_EAGERSIZE=32768 MV2_SMP_QUEUE_LENGTH=131072",
            "MV2_SMP_EAGERSIZE=131072 MV2_SMP_QUEUE_LENGTH=524288"
        ]
    );
    assert_eq!(
        eager(&in_force(&[("MV2_SMP_QUEUE_LENGTH", "524288")]))[2],
        "MV2_SMP_EAGERSIZE=131072"
    );
    // A shorter queue is not tried under what needs a longer one; the library's own, by processor, is.
    let queues = tried(
        &mvapich2,
        "shm",
        "MV2_SMP_QUEUE_LENGTH",
        Collective::Bcast,
        &in_force(&[("MV2_SMP_EAGERSIZE", "65536"), ("MV2_SMP_QUEUE_LENGTH", "524288")]),
    );
    assert_eq!(
        queues,
        ["MV2_SMP_QUEUE_LENGTH=65536", "MV2_SMP_QUEUE_LENGTH=262144"][1..]
    );
    // So it is for what a refinement comes to.
    let target = Target::unbounded(Collective::Bcast, 1024);
    let all = launch_candidates(&mvapich2, &["shm".to_owned()], &[target]);
    let first = all.iter().find(|one| one.parameter == "MV2_SMP_EAGERSIZE").unwrap();
    let refined = with_value(&mvapich2, first, 65536, &Situation::default()).unwrap();
    let id = kilter_model::change::id(&refined.assignments);
    assert_eq!(id, "MV2_SMP_EAGERSIZE=65536 MV2_SMP_QUEUE_LENGTH=262144");
}

/// On ranks that fill one host after the other MVAPICH2's gather heeds none of its settings.
#[test]
fn what_acts_on_other_placements_alone_is_not_tried() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let on = |hosts: &[&str]| Situation {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..Situation::default()
    };
    for (hosts, acts) in [
        (&["a", "a", "a", "a"][..], false),
        (&["a", "a", "b", "b"], false),
        (&["a", "b", "a", "b"], true),
        // Not known: it may.
        (&[], true),
    ] {
        let situation = on(hosts);
        let settings = tried(
            &mvapich2,
            "shm",
            "MV2_USE_DIRECT_GATHER",
            Collective::Gather,
            &situation,
        );
        assert_eq!(!settings.is_empty(), acts, "{hosts:?}");
        let target = Target::unbounded(Collective::Gather, 1024);
        let trials = crate::startup_algorithms::trials(&mvapich2, &[target], 4, &situation.hosts);
        assert_eq!(!trials.is_empty(), acts, "{hosts:?}");
    }
}

#[test]
fn a_setting_of_one_collective_is_tried_where_that_is_too_slow() {
    let smpi = find_for("SimGrid version 3.32").unwrap();
    let names = |collectives: &[Collective]| -> BTreeSet<String> {
        let targets: Vec<Target> = collectives.iter().map(|c| Target::unbounded(*c, 65536)).collect();
        let candidates = launch_candidates(&smpi, &["simulated".to_owned()], &targets);
        candidates.into_iter().map(|candidate| candidate.parameter).collect()
    };
    assert_eq!(names(&[]), BTreeSet::new());
    assert_eq!(
        names(&[Collective::Reduce, Collective::Scan]),
        ["smpi/reduce".to_owned()].into()
    );
    assert_eq!(
        names(&[Collective::ReduceScatterBlock]),
        ["smpi/reduce_scatter".to_owned()].into()
    );
}

#[test]
fn no_more_lanes_are_tried_than_the_smallest_node_has_ranks() {
    let lanes = Selection::Algorithm("bcast.lanes".to_owned(), Vec::new());
    let most = |nodes: Option<&Nodes>| -> Option<u64> {
        let knobs = knobs_on(nodes, &openmpi(), &lanes, 65536);
        knobs.iter().find(|knob| knob.name == "lanes").map(|knob| knob.max)
    };
    assert_eq!(most(None), Some(64));
    assert_eq!(most(Some(&Nodes::new(&["a", "a", "b", "b", "b"]))), Some(2));
    assert_eq!(
        most(Some(&Nodes::new(&["a", "b"]))),
        None,
        "one lane is the leaders' form"
    );
}
