//! Programs of Debian's archive, counted and traced at once: their results are as without the tracer.

use std::path::{Path, PathBuf};

use kilter_protocol::trace::DIRECTORY_VARIABLE;
use kilter_tracing::gather::gather;
use kilter_tracing::matching::matches;

use crate::dropin::applications::{
    assert_hpcc_is_right, assert_thermodynamics, hpcc_folder, installed, lammps, thermodynamics,
};
use crate::dropin::job::{Mpi, Output};
use crate::tracer::hpl::{self, Program};

const RANKS: usize = 4;

/// Runs a program with the tracer. It has counted calls on all ranks, and the trace is whole: each message has both of its ends, with the same data.
fn counted_and_traced(words: &[&Path], behind: &[&str], variables: &[(&str, &str)]) -> Output {
    let mpi = Mpi::OpenMpi;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    let variables = [&[(DIRECTORY_VARIABLE, path.as_str())], variables].concat();
    let (output, profile) = super::traced(mpi, words, RANKS, behind, &variables);
    assert!(output.ok, "{}\n{}", output.stdout, output.stderr);
    let finalized = profile.ranks.iter().filter(|rank| rank.finalized).count();
    assert!(finalized == RANKS && profile.calls.len() > 20, "{words:?}");
    let trace = gather(directory.path()).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let matches = matches(&trace);
    assert_eq!(matches.different(), 0, "{words:?}");
    assert!(matches.sends.is_empty() && matches.receives.is_empty(), "{words:?}");
    assert!(matches.messages.len() > 100, "{words:?}: {}", matches.messages.len());
    output
}

/// The benchmarks that check what they compute.
fn hpcc_is_as_right_as_without() {
    let Some(hpcc) = hpl::made().and_then(|made| Program::of_the_package(&made)) else {
        return;
    };
    let behind = hpcc.behind.iter().map(|path| path.display().to_string());
    let behind: Vec<String> = behind.collect();
    let behind: Vec<&str> = behind.iter().map(String::as_str).collect();
    let folder = hpcc_folder();
    counted_and_traced(
        &[Path::new("-wdir"), folder.path(), &hpcc.path],
        &behind,
        &[("HPCC_ONLY", " HPL PTRANS MPIRandomAccess MPIFFT ")],
    );
    assert_hpcc_is_right(folder.path(), "counted and traced");
}

fn lammps_has_the_same_energies_as_without() {
    if !installed("/usr/bin/lmp", "lammps") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let words = lammps(folder.path());
    let words: Vec<&Path> = words.iter().map(PathBuf::as_path).collect();
    let without = Mpi::OpenMpi.run(&words, RANKS, &[("LD_PRELOAD", "")]);
    assert!(without.ok, "{}\n{}", without.stdout, without.stderr);
    let with = counted_and_traced(&words, &[], &[]);
    let [with, without] = [with, without].map(|output| thermodynamics(&output.stdout));
    assert_thermodynamics(&with, &without, "counted and traced");
}

kilter_tests::cases![hpcc_is_as_right_as_without, lammps_has_the_same_energies_as_without,];
