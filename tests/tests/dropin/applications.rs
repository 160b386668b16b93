//! Programs of Debian's archive that check their own results, with every replacement forced. Of those for MPICH, ScaLAPACK's fail by themselves in
//! about every third run (MPICH 4.0.2, two ranks, nothing preloaded); `python` has what is run there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kilter_algorithms::mockup::MOCKUPS;
use kilter_algorithms::{Collective, registry};
use kilter_profile::Rule;
use kilter_tests::left_out;

use crate::dropin::job::{Deployed, Mpi, Output, rule};

const RANKS: usize = 4;

/// Kilter's algorithms for a collective on so many ranks, and then its mock-ups.
fn fitting(collective: Collective, ranks: usize) -> Vec<&'static str> {
    let rows = registry::by_collective(collective).filter(|row| row.unmet(ranks, true, true).is_none());
    let mockups = MOCKUPS.iter().filter(|mockup| mockup.collective == collective);
    rows.map(|row| row.id).chain(mockups.map(|mockup| mockup.id)).collect()
}

/// The `round`-th of them for each collective, at every volume, on communicators of every size up to the job's.
pub(crate) fn forced(round: usize) -> Vec<Rule> {
    let mut rules = Vec::new();
    for collective in Collective::of_several_ranks() {
        for ranks in 1..=RANKS {
            let fitting = fitting(collective, ranks);
            if let Some(id) = fitting.get(round % fitting.len().max(1)) {
                rules.push(rule(collective.name(), ranks, 0..=u64::MAX, id));
            }
        }
    }
    rules
}

/// Runs a program in a folder with the rules of a round.
fn run(program: &[&Path], directory: &Path, round: usize) -> Output {
    let deployed = Deployed::for_library(Mpi::OpenMpi, forced(round));
    let mut line = vec![Path::new("-wdir"), directory];
    line.extend(program);
    let output = deployed.run(Mpi::OpenMpi, &line, RANKS, &[]);
    assert!(
        output.ok,
        "{program:?}, round {round}:\n{}\n{}",
        output.stdout, output.stderr
    );
    assert!(output.lines("kilter: warning").is_empty(), "{}", output.stderr);
    output
}

/// Calls that were replaced on rank 0, by collective.
pub(crate) fn replaced(output: &Output) -> BTreeMap<String, u64> {
    let mut by_collective = BTreeMap::new();
    for (id, calls) in output.calls() {
        let collective = id.split('.').next().unwrap_or_default().to_owned();
        *by_collective.entry(collective).or_default() += calls;
    }
    by_collective
}

pub(crate) fn assert_replaced(output: &Output, collectives: &[&str], program: &str, round: usize) {
    let replaced = replaced(output);
    for collective in collectives {
        assert!(
            replaced.get(*collective).is_some_and(|calls| *calls > 0),
            "{program}, round {round}: {collective} was never replaced: {replaced:?}"
        );
    }
}

/// Rounds in which every row of the registry and every mock-up has its turn.
fn rounds() -> usize {
    Collective::of_several_ranks()
        .map(|collective| fitting(collective, RANKS).len())
        .max()
        .unwrap_or(0)
}

/// True if a program of a Debian package is there; else notes that the test leaves it out.
pub(crate) fn installed(program: &str, package: &str) -> bool {
    let there = Path::new(program).exists();
    if !there {
        left_out(format!(
            "{program} is not there; install the package {package} (scripts/setup does)"
        ));
    }
    there
}

/// The input of hpcc in a folder of its own.
pub(crate) fn hpcc_folder() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hpccinf.txt");
    fs::copy(&input, directory.path().join("hpccinf.txt")).expect("the input is in the repository");
    directory
}

/// HPL, PTRANS, RandomAccess and FFT have passed their own validations, as the results in this folder say.
pub(crate) fn assert_hpcc_is_right(folder: &Path, case: &str) {
    let results = fs::read_to_string(folder.join("hpccoutf.txt")).expect("hpcc writes its results");
    let value = |key: &str| {
        let line = results
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key} in\n{results}")).to_owned()
    };
    assert_eq!(value("Success"), "1", "{case}\n{results}");
    assert_eq!(value("PTRANS_residual"), "0", "{case}");
    assert_eq!(value("MPIRandomAccess_Errors"), "0", "{case}");
    let error: f64 = value("MPIFFT_maxErr").parse().expect("a number");
    assert!(error < 1e-12, "{case}: FFT is off by {error}");
    assert!(
        results.contains("1 tests completed and passed residual checks")
            && results.contains("0 tests completed and failed residual checks"),
        "{case}: HPL and PTRANS pass\n{results}"
    );
}

fn hpcc_validates() {
    if !installed("/usr/bin/hpcc", "hpcc") {
        return;
    }
    for round in 0..rounds() {
        let directory = hpcc_folder();
        let output = run(&[Path::new("/usr/bin/hpcc")], directory.path(), round);
        assert_hpcc_is_right(directory.path(), &format!("round {round}"));
        assert_replaced(
            &output,
            &["allreduce", "bcast", "reduce", "barrier", "gather", "alltoall"],
            "hpcc",
            round,
        );
    }
}

/// LU and QR of ScaLAPACK's own tests, over Fortran and the BLACS. Their problems are few: beside one busy process the package's own input takes a
/// minute a run (Open MPI 4.1.4 alone, four ranks on two cores), since ranks that wait keep the others from computing.
fn scalapack_passes_its_residual_checks() {
    let programs = Path::new("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests");
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scalapack");
    if !installed(
        "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu",
        "scalapack-mpi-test",
    ) {
        return;
    }
    for round in 0..rounds() {
        for program in ["xdlu", "xdqr"] {
            let output = run(&[&programs.join(program)], &input, round);
            assert!(
                output
                    .stdout
                    .contains("    0 tests completed and failed residual checks."),
                "{program}, round {round}\n{}",
                output.stdout
            );
            assert_replaced(&output, &["bcast", "allreduce"], program, round);
        }
    }
}

/// The command of lammps for `melt.lammps`, behind options of the launcher that choose its folder.
pub(crate) fn lammps(folder: &Path) -> Vec<PathBuf> {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/melt.lammps");
    let words = [
        Path::new("-wdir"),
        folder,
        Path::new("/usr/bin/lmp"),
        Path::new("-in"),
        &input,
    ];
    words.map(Path::to_path_buf).into()
}

/// The table of step, temperature, energies and pressure that lammps prints for `melt.lammps`.
pub(crate) fn thermodynamics(printed: &str) -> Vec<f64> {
    let table = printed.split_once("Step Temp").expect("a table").1;
    let lines = table.lines().skip(1).take_while(|line| !line.starts_with("Loop time"));
    let numbers = lines
        .flat_map(str::split_whitespace)
        .map(|text| text.parse().expect("a number"));
    let numbers: Vec<f64> = numbers.collect();
    assert_eq!(numbers.len(), 6 * 5, "{printed}");
    numbers
}

/// Such tables are equal, up to the order of sums.
pub(crate) fn assert_thermodynamics(got: &[f64], expected: &[f64], case: &str) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
    assert!(
        got.len() == expected.len() && got.iter().zip(expected).all(close),
        "{case}: {got:?}, expected {expected:?}"
    );
}

/// Molecular dynamics over tiled boxes that are balanced anew: energies as with the library's own collectives.
fn lammps_computes_the_same_energies() {
    if !installed("/usr/bin/lmp", "lammps") {
        return;
    }
    let run = |deployed: Option<&Deployed>| {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let words = lammps(directory.path());
        let words: Vec<&Path> = words.iter().map(PathBuf::as_path).collect();
        let output = match deployed {
            Some(deployed) => deployed.run(Mpi::OpenMpi, &words, RANKS, &[]),
            None => Mpi::OpenMpi.run(&words, RANKS, &[("KILTER_MODE", "off")]),
        };
        assert!(output.ok, "{}\n{}", output.stdout, output.stderr);
        output
    };
    let expected = thermodynamics(&run(None).stdout);
    for round in 0..rounds() {
        let output = run(Some(&Deployed::for_library(Mpi::OpenMpi, forced(round))));
        assert!(output.lines("kilter: warning").is_empty(), "{}", output.stderr);
        assert_replaced(&output, &["allreduce", "bcast", "reduce"], "lmp", round);
        assert_thermodynamics(&thermodynamics(&output.stdout), &expected, &format!("round {round}"));
    }
}

kilter_tests::cases![
    hpcc_validates,
    scalapack_passes_its_residual_checks,
    lammps_computes_the_same_energies,
];
