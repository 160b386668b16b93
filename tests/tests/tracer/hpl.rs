//! HPL, an application that broadcasts its panels by hand in one of six ways: each is found with all panels and the places of its calls. What is run is
//! the HPL of HPCC, which `scripts/hpl` gets from Debian's source and compiles with lines, and that of the package's program, which has no symbols;
//! HPCC's benchmark of latency and bandwidth, in which nothing is a collective, as well.
//!
//! Each broadcast has a job of its own: HPL makes the same matrix each time, and panels that come whole by one call and in parts by another are
//! followed as neither.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kilter_detect::Detection;
use kilter_detect::model::finding::{Collective, Confidence, Finding, Replacement, Root};
use kilter_detect::model::trace::Trace;
use kilter_profiling::places;
use kilter_protocol::trace::DIRECTORY_VARIABLE;
use kilter_tests::{build, left_out};
use kilter_tracing::detectable;
use kilter_tracing::gather::gather;

use crate::dropin::applications::installed;
use crate::dropin::job::Mpi;

/// One of HPL's broadcasts: its function, the source with its calls, and their lines.
struct Broadcast {
    function: &'static str,
    file: &'static str,
    lines: &'static [u32],
}

const fn broadcast(function: &'static str, file: &'static str, lines: &'static [u32]) -> Broadcast {
    Broadcast { function, file, lines }
}

/// In the order of their numbers in the input. The last two send a panel in parts.
const BROADCASTS: [Broadcast; 6] = [
    broadcast("HPL_bcast_1ring", "HPL_1ring.c", &[152, 165, 170]),
    broadcast("HPL_bcast_1rinM", "HPL_1rinM.c", &[153, 156, 173, 178]),
    broadcast("HPL_bcast_2ring", "HPL_2ring.c", &[154, 157, 172, 177]),
    broadcast("HPL_bcast_2rinM", "HPL_2rinM.c", &[154, 166, 184, 189]),
    broadcast("HPL_bcast_blong", "HPL_blong.c", &[207, 232, 297, 315]),
    broadcast("HPL_bcast_blonM", "HPL_blonM.c", &[191, 216, 285, 311, 379, 397]),
];
const FIRST_IN_PARTS: usize = 4;

/// Panels of a solution.
const PANELS: usize = 8;

/// Bytes of the least panel. HPL also broadcasts small numbers that all processes get.
const LEAST_PANEL: u64 = 8456;

/// Bytes of the panels on a grid of one row.
const IN_ONE_ROW: &[u64] = &[65_800, 57_608, 49_416, 41_224, 33_032, 24_840, 16_648, 8456];

/// Bytes of the panels in the rows of a grid of two.
const IN_TWO_ROWS: [&[u64]; 2] = [
    &[33_032, 33_032, 24_840, 24_840, 16_648, 16_648, 8456, 8456],
    &[41_224, 33_032, 33_032, 24_840, 24_840, 16_648, 16_648, 8456],
];

/// The folder that `scripts/hpl` makes; `None`, and noted, if it is not there.
pub(super) fn made() -> Option<PathBuf> {
    let folder = build().with_file_name("hpl");
    if folder.join("libhpl.a").exists() {
        return Some(folder);
    }
    left_out(format!(
        "there is no {}; make it with `scripts/hpl`",
        folder.join("libhpl.a").display()
    ));
    None
}

/// A program that is traced.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// A library that is preloaded behind the tracer.
    pub(super) behind: Option<PathBuf>,
    /// True if the places of its calls have functions and lines, and not only offsets.
    has_symbols: bool,
}

impl Program {
    /// A program of `fixtures/hpl`.
    fn compiled(folder: &Path, name: &str) -> Program {
        // The package has the library without the link that compilers look for.
        let libraries = [&within(folder, "libhpl.a"), "-l:libblas.so.3", "-lm"];
        Program {
            path: compiled(folder, name, &libraries),
            behind: None,
            has_symbols: true,
        }
    }

    /// The package's, with those of its benchmarks that `HPCC_ONLY` names.
    pub(super) fn of_the_package(folder: &Path) -> Option<Program> {
        let path = PathBuf::from("/usr/bin/hpcc");
        installed(&path.display().to_string(), "hpcc").then(|| Program {
            path,
            behind: Some(compiled(folder, "hpcc_only", &["-shared", "-fPIC"])),
            has_symbols: false,
        })
    }
}

fn within(folder: &Path, path: &str) -> String {
    folder.join(path).display().to_string()
}

/// Compiles a source of `fixtures/hpl`.
fn compiled(folder: &Path, name: &str, further: &[&str]) -> PathBuf {
    let includes =
        ["source/hpl/include", "source/include", "source/src"].map(|path| format!("-I{}", within(folder, path)));
    let mut options = vec!["-g", "-O1", "-w", "-DAdd_", "-DF77_INTEGER=int", "-DStringSunStyle"];
    options.extend(includes.iter().map(String::as_str));
    options.extend(further);
    let source = format!("../../fixtures/hpl/{name}.c");
    Mpi::OpenMpi.built("mpicc", &source, &options, &format!("hpcc_{name}"))
}

/// Input of a solution on a grid of four columns, with panels of 32 columns, some steps of which are made ahead.
fn input(rows: usize, broadcast: usize, ahead: usize) -> String {
    let values = [
        "256",
        "1",
        "32",
        "0",
        "1",
        &rows.to_string(),
        "4",
        "16.0",
        "1",
        "2",
        "1",
        "4",
        "1",
        "2",
        "1",
        "1",
        "1",
        &broadcast.to_string(),
        "1",
        &ahead.to_string(),
        "2",
        "64",
        "0",
        "0",
        "1",
        "8",
    ]
    .join("\n");
    format!("HPL\nKilter\nHPL.out\n8\n1\n{values}\n")
}

/// Runs a program in a folder, and detects what it does by hand.
fn detected(program: &Program, folder: &Path, ranks: usize) -> (Trace, Detection) {
    let traced = folder.join("trace");
    std::fs::create_dir(&traced).unwrap();
    let mut preload = Mpi::OpenMpi.library("libkilter_tracer.so").display().to_string();
    if let Some(behind) = &program.behind {
        preload = format!("{preload}:{}", behind.display());
    }
    let path = traced.display().to_string();
    let variables = [
        ("LD_PRELOAD", preload.as_str()),
        (DIRECTORY_VARIABLE, path.as_str()),
        ("HPCC_ONLY", " HPL "),
    ];
    let output = Mpi::OpenMpi.run(&[Path::new("-wdir"), folder, &program.path], ranks, &variables);
    assert!(output.ok, "{output:?}");
    let mut trace = gather(&traced).unwrap_or_else(|error| panic!("{error}\n{output:?}"));
    places::resolve(&mut trace.sites);
    let trace = detectable::of(&trace);
    let detection = kilter_detect::detect(&trace);
    let doubts = detection.doubts;
    assert_eq!((doubts.data_differ, doubts.sends_unmatched), (0, 0), "{doubts:?}");
    (trace, detection)
}

/// Functions of a finding's calls.
fn functions<'t>(trace: &'t Trace, finding: &Finding) -> BTreeSet<&'t str> {
    let sites = finding.sites.iter().map(|site| &trace.sites[*site as usize]);
    sites.map(|site| site.function.as_str()).collect()
}

/// True of a broadcast of panels, which this function makes.
fn is_of_panels(program: &Program, trace: &Trace, finding: &Finding, function: &str, case: &str) -> bool {
    if !program.has_symbols {
        return finding.instances.iter().any(|instance| instance.bytes >= LEAST_PANEL);
    }
    let functions = functions(trace, finding);
    let is_of_panels = functions == BTreeSet::from([function]);
    assert!(
        is_of_panels || functions == BTreeSet::from(["HPL_broadcast"]),
        "{case}: {functions:?}"
    );
    is_of_panels
}

/// The calls are at these lines of a source; without symbols, at as many offsets in the program.
fn places_are(program: &Program, trace: &Trace, finding: &Finding, (file, lines): (&str, &[u32]), case: &str) {
    if program.has_symbols {
        let expected = lines.iter().map(|line| (file.to_owned(), *line)).collect();
        assert_eq!(places(trace, finding), expected, "{case}");
    } else {
        let sites = finding.sites.iter().map(|site| &trace.sites[*site as usize]);
        let (mut offsets, name) = (BTreeSet::new(), program.path.file_name());
        for site in sites {
            assert!(site.function.is_empty() && site.offset > 0, "{case}: {site:?}");
            assert_eq!(Path::new(&site.object).file_name(), name, "{case}");
            offsets.insert(site.offset);
        }
        assert_eq!(offsets.len(), lines.len(), "{case}: {offsets:x?}");
    }
}

/// Sources and lines of a finding's calls.
fn places(trace: &Trace, finding: &Finding) -> BTreeSet<(String, u32)> {
    let sites = finding.sites.iter().map(|site| &trace.sites[*site as usize]);
    sites.map(|site| (site.file.clone(), site.line)).collect()
}

/// Solves with one broadcast, and checks the broadcasts of panels in each row of the grid: bytes, in the order of the panels.
fn panels_are_found(hpl: &Program, broadcast: usize, ahead: usize, rows: &[&[u64]]) {
    let Broadcast { function, file, lines } = BROADCASTS[broadcast];
    let case = format!("{}: {function}, {ahead} ahead, {} rows", hpl.path.display(), rows.len());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hpccinf.txt"), input(rows.len(), broadcast, ahead)).unwrap();
    let (trace, detection) = detected(hpl, folder.path(), 4 * rows.len());
    let results = std::fs::read_to_string(folder.path().join("hpccoutf.txt")).unwrap();
    assert!(
        results.contains("1 tests completed and passed residual checks"),
        "{case}: {results}"
    );

    let is_broadcast = |finding: &&Finding| finding.collective == Collective::Broadcast;
    let broadcasts = detection.findings.iter().filter(is_broadcast);
    let mut of_panels: Vec<&Finding> = broadcasts
        .filter(|finding| is_of_panels(hpl, &trace, finding, function, &case))
        .collect();
    of_panels.sort_by_key(|finding| trace.communicators[finding.communicator as usize].members[0]);
    assert_eq!(of_panels.len(), rows.len(), "{case}: {of_panels:?}");
    for (row, (finding, expected)) in of_panels.iter().zip(rows).enumerate() {
        let case = format!("{case}, row {row}");
        let members: Vec<u32> = (4 * row as u32..4 * row as u32 + 4).collect();
        assert_eq!(
            trace.communicators[finding.communicator as usize].members, members,
            "{case}"
        );
        assert_eq!(
            (&finding.ranks[..], &finding.root),
            (&[0, 1, 2, 3][..], &Root::Varies),
            "{case}"
        );
        places_are(hpl, &trace, finding, (file, lines), &case);
        instances_are(finding, expected, &case);
        graded(finding, broadcast >= FIRST_IN_PARTS, &case);
    }
}

/// One occurrence for each panel, from the processes of the row in turn.
fn instances_are(finding: &Finding, expected: &[u64], case: &str) {
    let bytes: Vec<u64> = finding.instances.iter().map(|instance| instance.bytes).collect();
    assert_eq!(bytes, expected, "{case}");
    let roots: Vec<Option<u32>> = finding.instances.iter().map(|instance| instance.root).collect();
    let in_turn: Vec<Option<u32>> = (0..PANELS as u32).map(|panel| Some(panel % 4)).collect();
    assert_eq!(roots, in_turn, "{case}");
}

/// Whole panels are polled for; those that are sent in parts are not, and a blocking broadcast may replace them.
fn graded(finding: &Finding, in_parts: bool, case: &str) {
    assert_eq!(finding.confidence, Confidence::Certain, "{case}: {:?}", finding.why);
    let right = if in_parts {
        Replacement::Blocking("MPI_Bcast".to_owned())
    } else {
        Replacement::NonBlocking("MPI_Ibcast".to_owned())
    };
    assert_eq!(finding.replacement, right, "{case}: {:?}", finding.why);
}

/// The programs with HPL that are there.
fn programs() -> Vec<Program> {
    let Some(folder) = made() else { return Vec::new() };
    let mut programs = vec![Program::compiled(&folder, "hpl")];
    programs.extend(Program::of_the_package(&folder));
    programs
}

fn every_broadcast_of_panels_is_found_in_one_row() {
    for hpl in programs() {
        for broadcast in 0..BROADCASTS.len() {
            // With a panel made ahead its broadcast is polled for during the update.
            panels_are_found(&hpl, broadcast, 1, &[IN_ONE_ROW]);
        }
    }
}

fn every_broadcast_of_panels_is_found_in_two_rows() {
    for hpl in programs() {
        for broadcast in 0..BROADCASTS.len() {
            panels_are_found(&hpl, broadcast, 0, &IN_TWO_ROWS);
        }
    }
}

/// Reported as broadcasts before: pairs of ranks that exchange the same numbers again and again.
fn nothing_is_found_in_rings_and_exchanges_of_pairs() {
    let Some(folder) = made() else { return };
    let ring = Program::compiled(&folder, "ring");
    let folder = tempfile::tempdir().unwrap();
    let (_, detection) = detected(&ring, folder.path(), 4);
    assert!(detection.findings.is_empty(), "{:?}", detection.findings);
    assert!(detection.doubts.matched > 1000, "{:?}", detection.doubts);
}

kilter_tests::cases![
    every_broadcast_of_panels_is_found_in_one_row,
    every_broadcast_of_panels_is_found_in_two_rows,
    nothing_is_found_in_rings_and_exchanges_of_pairs,
];
