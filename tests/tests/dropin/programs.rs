//! Programs in other languages, with threads, beside other tools and with error handlers of their own.

use std::collections::BTreeMap;

use kilter_profile::Rule;
use kilter_tests::left_out;

use crate::dropin::job::{self, Deployed, Mpi, Output, rule};

/// Rules for the calls that the programs in other languages make, on two ranks.
fn rules() -> Vec<Rule> {
    vec![
        rule("allreduce", 2, 16..=u64::MAX, "allreduce.recursive_doubling"),
        rule("bcast", 2, 16..=u64::MAX, "bcast.binomial"),
        rule("gather", 2, 16..=u64::MAX, "gather.binomial"),
    ]
}

fn ran(output: &Output, case: &str) {
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
    let expected = [
        ("allreduce.recursive_doubling", 10),
        ("bcast.binomial", 5),
        ("gather.binomial", 3),
    ];
    let expected: BTreeMap<String, u64> = expected.map(|(id, calls)| (id.to_owned(), calls)).into();
    assert_eq!(output.calls(), expected, "{case}: {}", output.stderr);
}

fn fortran_of_every_kind_is_followed() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        if !mpi.is_there() {
            continue;
        }
        let deployed = Deployed::for_library(mpi, rules());
        for interface in ["MPIF_H", "MPI", "MPI_F08"] {
            // A call with MPI_IN_PLACE has other types than one without; `mpif.h` declares neither.
            let options = ["-fallow-argument-mismatch", &format!("-DKILTER_{interface}")];
            let program = mpi.built("mpif90", "fortran.F90", &options, &format!("fortran_{interface}"));
            ran(
                &deployed.run(mpi, &[&program], 2, &[]),
                &format!("{interface} on {mpi:?}"),
            );
        }
    }
}

fn threads_with_communicators_of_their_own_do_not_disturb_each_other() {
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "threads.c", &["-std=c11", "-O1", "-pthread"], "threads");
        // If threads make communicators at the same time, Kilter makes no private communicator for one rank.
        let mut rules = rules();
        rules.push(rule("allreduce", 1, 1..=u64::MAX, "allreduce.recursive_doubling"));
        let output = Deployed::for_library(mpi, rules).run(mpi, &[&program], 2, &[]);
        assert!(output.ok, "{output:?}");
        if output.stdout.contains("NO THREADS") {
            left_out("this library has no MPI_THREAD_MULTIPLE");
            continue;
        }
        let calls = output.calls();
        assert!(output.stdout.ends_with("CALLS 800\nOK\n"), "{output:?}");
        assert_eq!(calls["allreduce.recursive_doubling"], 800, "{calls:?}");
        assert_eq!(calls["bcast.binomial"], 800, "{calls:?}");
    }
}

/// A tool in front sees every call; one behind sees none that the drop-in exports, since it asks the library itself.
fn another_tool_of_the_profiling_interface_may_be_preloaded_too() {
    for mpi in Mpi::installed() {
        let options = ["-std=c11", "-shared", "-fPIC"];
        let tool = mpi.built("mpicc", "counting_tool.c", &options, "counting_tool.so");
        let (tool, dropin) = (
            tool.display().to_string(),
            mpi.library("libkilter.so").display().to_string(),
        );
        let options = ["-fallow-argument-mismatch", "-DKILTER_MPIF_H"];
        let fortran = mpi
            .has_fortran()
            .then(|| mpi.built("mpif90", "fortran.F90", &options, "fortran_MPIF_H"));
        let c_program = mpi.built("mpicc", "threads.c", &["-std=c11", "-O1", "-pthread"], "threads");
        let deployed = Deployed::for_library(mpi, rules());
        for (preload, seen) in [(format!("{tool}:{dropin}"), 800), (format!("{dropin}:{tool}"), 0)] {
            let case = format!("{mpi:?}, {preload}");
            let output = deployed.run(mpi, &[&c_program], 2, &[("LD_PRELOAD", &preload)]);
            assert!(output.ok, "{case}: {output:?}");
            if !output.stdout.contains("NO THREADS") {
                assert_eq!(output.calls()["bcast.binomial"], 800, "{case}: {}", output.stderr);
                let counted = output.stderr.contains(&format!("TOOL {seen}\n"));
                assert!(counted, "{case}: {}", output.stderr);
            }
            if let Some(program) = &fortran {
                ran(&deployed.run(mpi, &[program], 2, &[("LD_PRELOAD", &preload)]), &case);
            }
        }
    }
}

fn an_error_goes_to_the_handler_of_the_programs_communicator() {
    for mpi in Mpi::installed() {
        let include = format!("-I{}", job::source("../plugins/abi/include").display());
        let options = ["-std=c11", "-shared", "-fPIC", "-DFAILS", &include];
        let plugin = mpi.built("mpicc", "foreign_plugin.c", &options, "failing_plugin");
        let deployed = Deployed::profile(&kilter_profile::Profile {
            version: kilter_profile::VERSION,
            library: mpi.version(),
            plugins: vec!["failing.so".to_owned()],
            order: None,
            rules: vec![rule("bcast", 2, 1..=u64::MAX, "bcast.example_chain")],
            online: Vec::new(),
        });
        deployed.add(&plugin, "failing.so");
        let program = mpi.built("mpicc", "errors.c", &["-std=c11"], "errors");
        let output = deployed.run(mpi, &[&program], 2, &[]);
        assert!(output.ok, "{mpi:?}: {output:?}");
        assert_eq!(output.stdout, "HANDLED 1 CODES 1 1\n", "{mpi:?}");
    }
}

/// One buffer for both sides, and `MPI_IN_PLACE` where it is not allowed: `erroneous.c`.
fn what_the_library_refuses_is_refused_with_the_drop_in_too() {
    let collectives = ["allreduce", "allgather", "scan", "reduce", "gather", "scatter"];
    let rules: Vec<Rule> = collectives
        .iter()
        .map(|collective| {
            let row = kilter_algorithms::registry::by_collective(collective.parse().unwrap())
                .next()
                .unwrap();
            rule(collective, 3, 1..=u64::MAX, row.id)
        })
        .collect();
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "erroneous.c", &["-std=c11"], "erroneous");
        let variables: &[(&str, &str)] = if mpi.is_open_mpi() {
            &[("KILTER_TEST_IN_PLACE", "1")]
        } else {
            &[]
        };
        let alone = mpi.run(&[&program], 3, variables);
        assert!(
            alone.ok && alone.stdout.contains("allreduce, one buffer: 3 of 3"),
            "{mpi:?}: {alone:?}"
        );
        let deployed = Deployed::for_library(mpi, rules.clone());
        let output = deployed.run(mpi, &[&program], 3, variables);
        assert!(output.ok, "{mpi:?}: {output:?}");
        assert_eq!(output.stdout, alone.stdout, "{mpi:?}");
        assert!(output.calls().values().all(|calls| *calls > 0), "{mpi:?}: {output:?}");
    }
}

kilter_tests::cases![
    fortran_of_every_kind_is_followed,
    threads_with_communicators_of_their_own_do_not_disturb_each_other,
    another_tool_of_the_profiling_interface_may_be_preloaded_too,
    an_error_goes_to_the_handler_of_the_programs_communicator,
    what_the_library_refuses_is_refused_with_the_drop_in_too,
];
