//! Advice on the trace of real ranks: a program with everything that the rules look for, each in a function of its name.

use std::collections::BTreeMap;
use std::process::Command;

use kilter_protocol::trace::DIRECTORY_VARIABLE;
use kilter_tests::{program, run};
use serde_json::Value;

use crate::dropin::job::Mpi;

fn every_rule_of_traces_gives_advice_with_the_place_in_the_program() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        let directory = tempfile::tempdir().unwrap();
        let options = &["-std=c11", "-O1", "-g", "-fno-inline"];
        let name = format!("tracer_advisable_{mpi:?}");
        let advisable = mpi.built("mpicc", "../tracer/advisable.c", options, &name);
        let tracer = mpi.library("libkilter_tracer.so").display().to_string();
        let path = directory.path().display().to_string();
        let variables = [("LD_PRELOAD", tracer.as_str()), (DIRECTORY_VARIABLE, path.as_str())];
        let output = mpi.run(&[&advisable], 4, &variables);
        assert!(output.ok, "{mpi:?}: {output:?}");
        let mut advise = Command::new(program("kilter"));
        advise.arg("advise").arg(directory.path()).args(["--format", "json"]);
        let advised: Value = serde_json::from_slice(&run(&mut advise, &[1]).stdout).unwrap();
        let seen: BTreeMap<&str, &str> = advised["advice"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["id"].as_str().unwrap(), one["seen"].as_str().unwrap()))
            .collect();
        for (id, function) in [
            ("TRACE_LATE_SENDERS", "late_sender"),
            ("TRACE_LATE_RECEIVERS", "late_receiver"),
            ("TRACE_JOINABLE_MESSAGES", "joinable"),
            ("TRACE_BCASTS_IN_TURN", "bcasts_in_turn"),
            ("TRACE_GATHERS_IN_TURN", "gathers_in_turn"),
            ("TRACE_REDUCES_IN_TURN", "reduces_in_turn"),
            ("TRACE_REDUCE_THEN_BCAST", "reduce_then_bcast"),
            ("TRACE_GATHER_THEN_BCAST", "gather_then_bcast"),
            ("TRACE_REDUCE_THEN_SCATTER", "reduce_then_scatter"),
            ("TRACE_BARRIERS_BEFORE_COLLECTIVES", "barriers"),
            ("TRACE_POLLS", "polls"),
            ("TRACE_WILD_CARDS", "wild_cards"),
        ] {
            let place = format!(" {function} (advisable.c:");
            let said = seen.get(id).unwrap_or_else(|| panic!("{mpi:?} {id}: {advised:#}"));
            assert!(said.contains(&place), "{mpi:?} {id}: {said}");
        }
    }
}

kilter_tests::cases![every_rule_of_traces_gives_advice_with_the_place_in_the_program];
