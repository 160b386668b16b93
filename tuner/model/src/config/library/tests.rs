use super::*;
use crate::config::embedded;

/// The text of an embedded description.
fn description(name: &str) -> &'static str {
    let all = embedded("libraries");
    all.iter().find(|(file, _)| file.contains(name)).unwrap().1
}

fn openmpi() -> Library {
    find_for("mpirun (Open MPI) 4.1.4").unwrap()
}

#[test]
fn open_mpi_is_found_by_its_version_line_and_others_are_not() {
    assert_eq!(openmpi().id, "openmpi-4.1");
    assert_eq!(find_for("mpirun (Open MPI) 5.0.11").unwrap().id, "openmpi-5.0");
    assert_eq!(openmpi().version_of("mpirun (Open MPI) 4.1.4"), "4.1.4");
    for other in [
        "HYDRA build details: Version: 3.4.3",
        "mpirun (Open MPI) 7.0.0",
        "mpirun (Open MPI) 4.0.5",
        "",
    ] {
        let error = find_for(other).unwrap_err().to_string();
        assert!(
            error.contains(&format!("no description fits `{other}`; known: "))
                && error.contains("`(Open MPI) 4.1.` or `(OpenRTE) 4.1.` (openmpi-4.1)"),
            "{error}"
        );
    }
}

#[test]
fn no_choice_is_made_by_a_parameter_that_no_job_can_write() {
    for library in [openmpi(), find_for("mpirun (Open MPI) 5.0.11").unwrap()] {
        let count = |collective| library.algorithms_of(collective).unwrap().choices_on(2).count();
        assert_eq!(count(Collective::Allgatherv), 0, "{}", library.id);
        assert!(count(Collective::Allgather) > 0, "{}", library.id);
    }
}

#[test]
fn what_a_site_sets_for_its_launcher_and_networks_acts_on_no_time() {
    let mpich = find_for("HYDRA build details: Version: 4.0.2").unwrap();
    let choice = "MPIR_CVAR_BCAST_INTRA_ALGORITHM";
    let variable = openmpi().launcher.variable_of("btl");
    assert_eq!(openmpi().launcher.parameter_of(&variable), Some("btl"));
    assert_eq!(openmpi().launcher.parameter_of("PATH"), None);
    assert_eq!(
        mpich.launcher.parameter_of(&mpich.launcher.variable_of(choice)),
        Some(choice)
    );
    assert!(mpich.same_value(choice, "auto", "0") && !mpich.same_value(choice, "auto", "1"));
    assert!(!mpich.same_value("MPIR_CVAR_CH4_NETMOD", "auto", "0"));
    for (library, name, may) in [
        (&openmpi(), "btl", true),
        (&openmpi(), "btl_vader_eager_limit", true),
        (&openmpi(), "coll_tuned_dynamic_rules_filename", true),
        (&openmpi(), "coll_tuned_bcast_algorithm_segmentsize", true),
        (&openmpi(), "btl_tcp_if_include", false),
        (&openmpi(), "orte_tmpdir_base", false),
        (&openmpi(), "plm", false),
        (&mpich, choice, true),
    ] {
        assert_eq!(library.may_act(name), may, "{name}");
    }
}

/// The description of 5.0 takes over from 4.1 all that both have in common.
#[test]
fn a_description_is_like_another_one() {
    let (old, new) = (openmpi(), find_for("mpirun (Open MPI) 5.0.11").unwrap());
    assert_eq!(
        new.algorithms_of(Collective::Bcast),
        old.algorithms_of(Collective::Bcast)
    );
    assert_ne!(
        new.algorithms_of(Collective::Allgather),
        old.algorithms_of(Collective::Allgather)
    );
    let newest = find_for("mpirun (Open MPI) 6.0.0").unwrap();
    assert_eq!(newest.id, "openmpi-6.0");
    assert_eq!(
        newest.algorithms_of(Collective::Allgatherv),
        new.algorithms_of(Collective::Allgatherv)
    );
    assert_eq!(newest.rules_file.form, RulesForm::Json);
    let names = |library: &Library| -> Vec<String> { library.parameters.iter().map(|row| row.name.clone()).collect() };
    assert!(names(&new).contains(&"btl_sm_eager_limit".to_owned()));
    assert!(!names(&new).iter().any(|name| name.contains("vader")));
    let error = Library::parse("like = \"openmpi-9\"", "x.toml")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("x.toml") && error.contains("`openmpi-9`") && error.contains("openmpi-4.1"),
        "{error}"
    );
}

#[test]
fn mpich_4_is_found_by_its_launchers_version() {
    let mpich = find_for("HYDRA build details: Version: 4.0.2").unwrap();
    assert_eq!(mpich.id, "mpich-4.0");
    assert_eq!(find_for("HYDRA build details: Version: 4.1.1").unwrap().id, "mpich-4");
    assert_eq!(mpich.version_of("HYDRA build details: Version: 4.0.2"), "4.0.2");
    assert_eq!(mpich.build_name("4.0.2"), "mpich-4.0");
    assert_eq!(mpich.build_name("4.3.2"), "mpich-4.3");
    assert_eq!(mpich.emitter.as_deref(), Some("mpich"));
    assert_eq!(openmpi().build_name("4.1.4"), "openmpi-4.1");
}

#[test]
fn a_job_runs_with_the_library_that_the_launcher_belongs_to() {
    let mpich = find_for("HYDRA build details: Version: 4.0.2").unwrap();
    assert!(mpich.is_reported_by("4.0.2", "MPICH Version:\t4.0.2"));
    let newer = find_for("HYDRA build details: Version: 4.3.2").unwrap();
    assert!(newer.is_reported_by("4.3.2", "MPICH Version:      4.3.2"));
    assert!(!mpich.is_reported_by("4.0.2", "MPICH Version:      4.3.2"));
    assert!(!mpich.is_reported_by("4.0.2", "MVAPICH Version: 4.0.2"));
    let debian = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
    assert!(!mpich.is_reported_by("4.1.4", debian));
    assert!(openmpi().is_reported_by("4.1.4", debian));
    assert!(!openmpi().is_reported_by("4.1.5", debian));
}

#[test]
fn rooted_collectives_are_never_switched_on_size() {
    for collective in [
        Collective::Gather,
        Collective::Scatter,
        Collective::Scan,
        Collective::Exscan,
    ] {
        assert!(!openmpi().rules_entry(collective).unwrap().size_switch, "{collective}");
    }
    assert_eq!(
        openmpi().rules_entry(Collective::Reduce),
        Some(RulesEntry {
            id: 11,
            size_switch: true
        })
    );
}

/// Sizes are compared by a test that means the same on all ranks: scatter's and gather's do not, and in a scan the library aborts.
#[test]
fn a_selection_file_switches_on_size_where_the_library_has_a_test_for_it() {
    for version in ["4.0.2", "4.3.2"] {
        let mpich = find_for(&format!("HYDRA build details: Version: {version}")).unwrap();
        let test = |collective| mpich.algorithms_of(collective).unwrap().size_test.clone();
        assert_eq!(test(Collective::Reduce).as_deref(), Some("avg_msg_size"));
        assert_eq!(test(Collective::Alltoall).as_deref(), Some("total_msg_size"));
        for collective in [
            Collective::Gather,
            Collective::Gatherv,
            Collective::Scatter,
            Collective::Scatterv,
            Collective::Scan,
            Collective::Exscan,
            Collective::Barrier,
            Collective::Alltoallv,
        ] {
            assert_eq!(test(collective), None, "{collective}");
        }
        for row in &mpich.algorithms {
            // The setting that an algorithm needs belongs to this collective alone, so that it slows no other.
            let own = format!("MPIR_CVAR_{}_DEVICE_COLLECTIVE", row.collective.name().to_uppercase());
            assert_eq!(row.together.keys().collect::<Vec<_>>(), [&own]);
            assert!(!mpich.keeps_other_sizes(row.collective));
        }
    }
}

#[test]
fn every_collective_that_is_verified_has_its_algorithms() {
    for collective in Collective::PGMPI {
        assert!(openmpi().algorithms_of(collective).is_some(), "{collective}");
    }
}

#[test]
fn names_and_numbers_mean_the_same() {
    let library = openmpi();
    assert!(library.same_value("btl_vader_single_copy_mechanism", "none", "3"));
    assert!(library.same_value("coll_tuned_use_dynamic_rules", "1", "true"));
    assert!(!library.same_value("btl_vader_eager_limit", "8192", "4096"));
}

#[test]
fn mistakes_name_the_file_and_what_is_allowed() {
    let good = description("openmpi");
    for (from, to, part) in [
        ("detect = [", "detekt = [", "unknown field `detekt`"),
        ("detect = [\"(Open MPI) 4.1.\"", "detect = [\" \"", "detect is empty"),
        ("reports = \"Open MPI v4.1.\"", "reports = \"\"", "reports is empty"),
        ("builds = \"openmpi-", "builds = \"../", "builds is `../"),
        ("emitter = \"openmpi\"", "emitter = \"\"", "emitter is empty"),
        ("\"{agent}\"]", "\"agent\"]", "launcher.agent must contain {agent}"),
        (
            "scale = \"log2\"",
            "scale = \"log3\"",
            "unknown variant `log3`, expected `log2` or `linear`",
        ),
        (
            "form = \"numbers\"",
            "form = \"number\"",
            "unknown variant `number`, expected `numbers` or `json`",
        ),
        (
            "form = \"numbers\"",
            "form = \"numbers\", requests_since = \"new\"",
            "rules_file.requests_since is `new`",
        ),
        (
            "form = \"numbers\"",
            "form = \"json\", requests_since = \"5.0.7\"",
            "requests_since belongs to form = \"numbers\"",
        ),
        (
            "column = \"fan\"",
            "column = \"fanout\"",
            "unknown variant `fanout`, expected one of `segment`, `fan`, `requests`",
        ),
        (
            "collective = \"bcast\"",
            "collective = \"bcats\"",
            "`bcats` is not a collective",
        ),
        (
            "collective = \"reduce\"",
            "collective = \"bcast\"",
            "algorithms of `bcast` stands there twice",
        ),
        ("rules_id = 11", "rules_id = 7", "rules_id `7` stands there twice"),
        (
            "size_switch = true\n",
            "size_switch = true\nsize_test = \"avg_msg_size\"\n",
            "`size_test` belongs to",
        ),
        (
            "knobs = [\"segmentsize\"]",
            "knobs = [\"segmentsise\"]",
            "`segmentsise`, which is not described; known: chain_fanout",
        ),
        (
            "value = 2, name = \"chain\"",
            "value = 1, name = \"chain\"",
            "coll_tuned_bcast_algorithm: value `1` stands there twice",
        ),
        (
            "value = 1, name",
            "value = 0, name",
            "has the value 0, by which the library decides",
        ),
        (
            "min = 1024, max = 1048576",
            "min = 1048576, max = 1024",
            "knob `segmentsize`: `min` must be below `max`",
        ),
        (
            "\"--mca\", \"{name}\"",
            "\"--mca\", \"name\"",
            "launcher.parameter must contain {name} and {value}",
        ),
        (
            "ranks_flag = \"-np\"",
            "ranks_flag = \"\"",
            "launcher.ranks_flag is empty",
        ),
        (
            "name = \"btl_vader_eager_limit\"",
            "name = \"btl_vader_fbox_size\"",
            "parameter `btl_vader_fbox_size` stands there twice",
        ),
        (
            "name = \"MALLOC_MMAP_THRESHOLD_\"",
            "name = \"MALLOC MMAP\"",
            "parameter name `MALLOC MMAP` cannot be set",
        ),
        (
            "MALLOC_TRIM_THRESHOLD_ =",
            "\"A=B\" =",
            "parameter name `A=B` cannot be set",
        ),
        (
            "MALLOC_TRIM_THRESHOLD_ =",
            "\"A.B\" =",
            "parameter name `A.B` cannot be set",
        ),
        (
            "transport = \"vader\"",
            "transport = \"vadre\"",
            "btl_vader_eager_limit: transport `vadre` is never in use; known: ofi, tcp, ucx, vader",
        ),
        (
            "try = [8192, 32768",
            "try = [8192, 8192",
            "btl_vader_eager_limit: try `8192` stands there twice",
        ),
        (
            "try = [8192, 32768",
            "try = [4096, 32768",
            "btl_vader_eager_limit: `try` holds the default `4096`",
        ),
        (
            "try = [8192, 32768",
            "try = [512, 32768",
            "btl_vader_eager_limit: `try` holds 512; allowed: 1024 to 65536",
        ),
        (
            "try = [\"none\"",
            "try = [\"no\\nne\"",
            "\"no\\nne\" holds a control character",
        ),
        (
            "counters = [\"pml_monitoring_messages_count\", \"pml_monitoring_messages_size\"]",
            "counters = []",
            "messages.counters is empty",
        ),
        (
            "pml_monitoring_enable = \"1\"",
            "\"pml monitoring\" = \"1\"",
            "messages: parameter name `pml monitoring` cannot be set",
        ),
        (
            "try = [8192, 32768, 65536, 2048]",
            "try = []",
            "btl_vader_eager_limit: `try` is empty",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Library::parse(&good.replacen(from, to, 1), "x.toml")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("x.toml: ") && error.contains(part), "`{to}`: {error}");
    }
    let misspelt = Library::parse(&good.replacen("detect =", "detekt =", 1), "x.toml")
        .unwrap_err()
        .to_string();
    assert!(misspelt.contains("line 5"), "{misspelt}");
}

/// Whatever stands in the environment of the ranks can be tried, also what no library knows.
#[test]
fn a_description_may_try_any_environment_variable() {
    let good = description("openmpi");
    let own = "\n[[parameters]]\nname = \"LD_PRELOAD\"\nenvironment = true\ndefault = \"\"\ntry = [\"/opt/a b/x.so\", \"y.so\"]\n\
               summary = \"s\"\n";
    let library = Library::parse(&format!("{good}{own}"), "x.toml").unwrap();
    let last = library.parameters.iter().find(|row| row.name == "LD_PRELOAD").unwrap();
    assert!(last.environment && last.transport.is_none());
    assert_eq!(
        last.r#try.iter().map(Value::to_string).collect::<Vec<_>>(),
        ["/opt/a b/x.so", "y.so"]
    );
}

/// Found by what was recorded of libraries that cannot be had here.
#[test]
fn libraries_that_were_never_run_are_found_by_what_they_say() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    assert_eq!(
        (mvapich2.id.as_str(), mvapich2.emitter.as_deref()),
        ("mvapich2-2.3", Some("mvapich2"))
    );
    assert_eq!(mvapich2.version_of("Version: mvapich2-2.3.7"), "2.3.7");
    assert_eq!(mvapich2.build_name("2.3.7"), "mvapich2-2.3");
    assert!(mvapich2.is_reported_by("2.3.7", "MVAPICH2 Version      :\t2.3.7"));
    assert!(!mvapich2.is_reported_by("2.3.7", "MVAPICH2 Version      :\t2.3.6"));
    let line = "MPT: libxmpi.so 'HPE MPT 2.18  10/02/18 04:03:22'";
    let mpt = find_for(line).unwrap();
    assert_eq!((mpt.id.as_str(), mpt.version_of(line).as_str()), ("mpt-2", "2.18"));
    assert!(mpt.is_reported_by("2.18", "HPE MPT 2.18  10/02/18 04:03:22-root"));
    assert!(!mpt.is_reported_by("2.18", "HPE MPT 2.23  08/26/20 02:54:49-root"));
    // Its other library has the interface of MPICH.
    assert!(!mpt.is_reported_by("2.18", "HPE HMPT 2.18  08/26/20 02:59:48-root"));
}

#[test]
fn presets_without_a_name_are_choices_too() {
    let intel = find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap();
    for (collective, presets) in [
        (Collective::Barrier, 11),
        (Collective::Allreduce, 32),
        (Collective::ReduceScatterBlock, 4),
        (Collective::Scan, 3),
    ] {
        let (row, at_start) = intel.chosen_at_start(collective).unwrap();
        let values: Vec<u64> = row.choices.iter().map(|choice| choice.value).collect();
        assert_eq!(values, (1..=presets).collect::<Vec<_>>());
        assert_eq!(row.size_switch, at_start.unit.is_some());
        assert_eq!(intel.chosen_by(&row.parameter), Some(collective));
    }
    assert_eq!(openmpi().chosen_at_start(Collective::Bcast), None);
}

#[test]
fn mistakes_in_what_is_chosen_at_the_start_are_named() {
    let good = description("intelmpi");
    for (from, to, part) in [
        ("unit = \"total\", last = 22", "last = 22", "`at_start.unit` belongs to"),
        ("last = 22", "last = 7", "choice `k-nomial` is above `at_start.last`"),
        (
            "form = \"intel\"",
            "form = \"impi\"",
            "unknown variant `impi`, expected `intel` or `mvapich2`",
        ),
        (
            "at_start = { form",
            "rules_id = 1\nat_start = { form",
            "`at_start` goes with neither",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Library::parse(&good.replacen(from, to, 1), "x.toml")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("x.toml: ") && error.contains(part), "`{to}`: {error}");
    }
}

#[test]
fn a_site_s_list_of_components_says_which_transports_are_in_use() {
    let library = openmpi();
    let with = |list: &str| library.transports_in_use(&[], &[("btl".to_owned(), list.to_owned())]);
    assert_eq!(library.transports_in_use(&[], &[]), ["vader"]);
    assert_eq!(with("tcp,self"), ["tcp"]);
    assert_eq!(with("^vader"), ["tcp"]);
    // Within a host the usual one is preferred where it is there.
    assert_eq!(with("self, tcp, vader"), ["vader"]);
    assert_eq!(with("^openib"), ["vader"]);
    assert_eq!(with("usnic,self"), ["vader"], "nothing is known of it");
    let other = [("coll".to_owned(), "^tcp".to_owned())];
    assert_eq!(library.transports_in_use(&[], &other), ["vader"]);
    let on = |hosts: &[&str]| {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        library.transports_in_use(&hosts, &[])
    };
    assert_eq!(on(&["a", "b"]), ["tcp"]);
    assert_eq!(on(&["a", "a"]), ["vader"]);
    // Ranks that share a host do not use the network among themselves.
    assert_eq!(on(&["a", "a", "b", "b"]), ["vader", "tcp"]);
    let pml = |list: &str| library.transports_in_use(&[], &[("pml".to_owned(), list.to_owned())]);
    assert_eq!(pml("ucx"), ["ucx"]);
    assert_eq!(pml("^ucx"), ["vader"]);
}

/// Nobody takes a description that was never run for one that was.
/// A version that is said to have been run is one of the description's.
#[test]
fn a_description_was_run_with_versions_of_its_own() {
    let all = load_embedded().unwrap();
    let run: Vec<&str> = all
        .iter()
        .filter(|library| !library.verified.against.is_empty())
        .map(|library| library.id.as_str())
        .collect();
    assert_eq!(
        run,
        [
            "intelmpi-2021",
            "mpich-4.0",
            "mpich-4.3",
            "mpich-5.0",
            "openmpi-4.1",
            "openmpi-5.0",
            "smpi-3.32"
        ]
    );
    for library in all {
        let own = version_in(&library.reports).unwrap_or_default();
        assert!(
            library.verified.against.iter().all(|version| version.starts_with(&own)),
            "{}",
            library.id
        );
    }
}

/// The worker's words find the description that the launcher's words would.
#[test]
fn a_description_is_found_by_what_a_worker_reports() {
    for (line, id) in [
        ("Open MPI v5.0.11, package: Open MPI user@localhost", "openmpi-5.0"),
        ("MPICH Version:\t4.3.2", "mpich-4.3"),
        ("MPICH Version:      4.1.1", "mpich-4"),
        ("MVAPICH2 Version      :\t2.3.7", "mvapich2-2.3"),
        ("MVAPICH Version:      3.0", "mvapich-3"),
        ("MVAPICH Version:      4.1", "mvapich-4"),
        (
            "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)",
            "cray-mpich-8",
        ),
        (
            "MPI VERSION    : CRAY MPICH version 9.0.0.113 (ANL base 4.1.2)",
            "cray-mpich-9",
        ),
        ("Intel(R) MPI Library 2021.19.0 for Linux* OS", "intelmpi-2021"),
    ] {
        assert_eq!(find_reported(line).unwrap().unwrap().id, id, "{line}");
    }
    assert_eq!(find_reported("ParaStation MPI 5.9").unwrap(), None);
}

#[test]
fn every_row_says_how_it_was_verified() {
    let mut text = String::new();
    for library in load_embedded().unwrap() {
        let shares = library.shares();
        assert_eq!(shares.unsaid, 0, "{}", library.id);
        let choices: usize = library.algorithms.iter().map(|row| row.choices.len()).sum();
        assert_eq!(shares.rows(), choices + library.parameters.len(), "{}", library.id);
        let strongest = shares.by.keys().next().map(|verified| verified.word());
        text.push_str(&format!("{}: {}\n", library.id, strongest.unwrap_or("none")));
    }
    insta::assert_snapshot!(text, @"
    cray-mpich-8: documentation
    cray-mpich-9: documentation
    intelmpi-2021: printed
    mpich-4.0: run
    mpich-4.3: printed
    mpich-4: documentation
    mpich-5.0: printed
    mpt-2: documentation
    mvapich-3: documentation
    mvapich-4: documentation
    mvapich2-2.3-hydra: source
    mvapich2-2.3: run
    openmpi-4.1: run
    openmpi-5.0: run
    openmpi-6.0: documentation
    smpi-3.32: run
    ");
}

#[test]
fn mistakes_in_what_is_said_of_rows_are_named() {
    let good = description("mvapich2-2.3.toml");
    for (from, to, part) in [
        (
            "name = \"ring\", verified = \"run\"",
            "name = \"ring\", verified = \"ran\"",
            "unknown variant `ran`, expected one of `run`, `printed`, `source`, `documentation`",
        ),
        (
            "verified = { rows = \"source\"",
            "verified = { row = \"source\"",
            "unknown field `row`, expected one of `rows`, `against`, `run`",
        ),
        (
            "documentation = [\"MALLOC_MMAP_THRESHOLD_\"]",
            "documentation = [\"MALLOC\"]",
            "verified.documentation names `MALLOC`, which is no parameter of this description",
        ),
        (
            "verified = { rows = \"source\"",
            "verified = { rows = \"source\", run = [\"MALLOC_MMAP_THRESHOLD_\"]",
            "stands in verified.run as well",
        ),
        (
            "placement = \"cyclic\"",
            "placement = \"round\"",
            "unknown variant `round`, expected one of `block`, `cyclic`, `one_host`",
        ),
        (
            "parts = 2",
            "parts = 0",
            "constraint on `MV2_SMP_EAGERSIZE`: `at_most.parts` is 0",
        ),
        (
            "parts = 2 }",
            "parts = 2 }\nneeds = \"A\"",
            "`needs` and `at_most` are two constraints",
        ),
        (
            "needs = \"MV2_INTER_REDUCE_TUNING\"",
            "needs = \"MV2_INTER_RED_SCAT_TUNING\"",
            "it needs itself",
        ),
        (
            "otherwise = \"a gather",
            "otherwize = \"a gather",
            "unknown field `otherwize`",
        ),
        (
            "name = \"MV2_GATHER_SWITCH_PT\"\nvalues = [1024, 16384]",
            "name = \"MV2_SMP_USE_CMA\"\nvalues = [0]",
            "MV2_SMP_USE_CMA: `try` holds 0, and `MV2_SMP_USE_CMA=0`: a gather ends the job by SIGSEGV",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Library::parse(&good.replacen(from, to, 1), "x.toml")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("x.toml: ") && error.contains(part), "`{to}`: {error}");
    }
}

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn a_constraint_is_broken_or_mended() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let (eager, queue) = ("MV2_SMP_EAGERSIZE", "MV2_SMP_QUEUE_LENGTH");
    let broken = |pairs: &[(&str, &str)]| mvapich2.broken(&settings(pairs)).map(|broken| broken.to_string());
    assert_eq!(broken(&[]), None);
    // The library adds a byte before it compares.
    assert_eq!(broken(&[(eager, "32767")]), None);
    assert_eq!(
        broken(&[(eager, "32768")]).unwrap(),
        "`MV2_SMP_EAGERSIZE=32768`: the job ends when it starts (run and source of 2.3.7); allowed with `MV2_SMP_QUEUE_LENGTH=65536`: up to 32767; \
         set `MV2_SMP_QUEUE_LENGTH=131072` as well"
    );
    assert_eq!(broken(&[(eager, "131072"), (queue, "524288")]), None);
    assert!(broken(&[(eager, "131072"), (queue, "262144")]).is_some());
    // No queue is as long as this needs.
    let endless = broken(&[(eager, "18446744073709551615")]).unwrap();
    assert!(endless.ends_with("up to 32767"), "{endless}");
    // The last of two settings with one name holds.
    assert!(broken(&[(queue, "524288"), (eager, "131072"), (queue, "65536")]).is_some());
    assert!(broken(&[("MV2_GATHER_SWITCH_PT", "1024")]).unwrap().contains("SIGSEGV"));
    assert_eq!(broken(&[("MV2_GATHER_SWITCH_PT", "64")]), None);
    assert!(
        broken(&[("MV2_INTER_RED_SCAT_TUNING", "1")])
            .unwrap()
            .contains("MV2_INTER_REDUCE_TUNING")
    );
    assert_eq!(
        broken(&[("MV2_INTER_RED_SCAT_TUNING", "1"), ("MV2_INTER_REDUCE_TUNING", "2")]),
        None
    );
    let mended =
        |in_force: &[(&str, &str)], pairs: &[(&str, &str)]| mvapich2.mended(&settings(in_force), &settings(pairs));
    assert_eq!(mended(&[], &[(eager, "131072")]), Some(settings(&[(queue, "524288")])));
    assert_eq!(mended(&[(queue, "524288")], &[(eager, "131072")]), Some(Vec::new()));
    // `mended` does not change the settings themselves, so that some cannot be saved.
    assert_eq!(mended(&[], &[(eager, "131072"), (queue, "65536")]), None);
    assert_eq!(mended(&[], &[("MV2_GATHER_SWITCH_PT", "1024")]), None);
}

#[test]
fn ranks_lie_in_blocks_in_turn_or_neither() {
    let of = |hosts: &[&str]| {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        [Placement::Block, Placement::Cyclic]
            .into_iter()
            .find(|one| one.is_that_of(&hosts))
    };
    let on_one = |hosts: [&str; 2]| Placement::OneHost.is_that_of(&hosts.map(str::to_owned));
    assert!(on_one(["a", "a"]) && !on_one(["a", "b"]));
    assert_eq!(of(&["a", "a"]), Some(Placement::Block));
    assert_eq!(of(&["a", "a", "b", "b"]), Some(Placement::Block));
    assert_eq!(of(&["a", "b"]), Some(Placement::Block));
    assert_eq!(of(&["a", "b", "a", "b", "a"]), Some(Placement::Cyclic));
    assert_eq!(of(&["a", "b", "b", "a"]), None);
}

/// Its `mpirun` says the version of Hydra, and MPICH 3.2.1's says the same: the worker knows.
#[test]
fn a_launcher_with_a_version_of_its_own_is_known_by_the_worker() {
    let mvapich2 = find_for("HYDRA build details: Version: 3.2.1").unwrap();
    assert_eq!(mvapich2.id, "mvapich2-2.3-hydra");
    assert_eq!(mvapich2.build_name("3.2.1"), "mvapich2-2.3");
    assert!(mvapich2.is_built_for("3.2.1", "MVAPICH2 Version      :\t2.3.7"));
    assert!(!mvapich2.is_built_for("3.2.1", "MPICH Version:\t3.2.1"));
    let rsh = find_for("Version: mvapich2-2.3.7").unwrap();
    assert!(!rsh.is_built_for("2.3.7", "MVAPICH2 Version      :\t2.3.6"));
    // The libraries differ only in the launcher.
    assert_eq!(mvapich2.algorithms.len(), rsh.algorithms.len());
    assert_eq!(
        (&mvapich2.constraints, &mvapich2.measuring),
        (&rsh.constraints, &rsh.measuring)
    );
}

/// A transport's constraints hold for every library that shares it.
#[test]
fn what_constrains_a_shared_transport_constrains_its_libraries() {
    let settings = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let too_large = settings(&[("UCX_TCP_TX_SEG_SIZE", "131072")]);
    for library in load_embedded().unwrap() {
        let shares_ucx = library.transports.shared.values().any(|id| id == "ucx");
        assert_eq!(library.broken(&too_large).is_some(), shares_ucx, "{}", library.id);
        if shares_ucx {
            let beside = library.mended(&[], &too_large);
            assert_eq!(beside, Some(settings(&[("UCX_TCP_RX_SEG_SIZE", "131072")])));
        }
    }
}
