//! Collectives written by hand in C and Fortran (`fixtures/by_hand`), traced on real ranks: found as what they are, with root, ranks, bytes, times and
//! call sites; and programs that only look like one, in which nothing is found. All run on 4 and on 7 ranks, and on the even and the odd ones of 7 apart.
//!
//! Lists hold what the detector misses, finds in part, or finds and should not. A test fails for what is missing in them and for what is there without need, so
//! that the table in `docs/method/detection.md` is what the test prints.

mod known;
mod patterns;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use kilter_detect::Detection;
use kilter_detect::model::finding::{Collective, Finding, Replacement};
use kilter_detect::model::trace::Trace;
use kilter_profiling::places;
use kilter_protocol::trace::DIRECTORY_VARIABLE;
use kilter_tests::root;
use kilter_tracing::detectable;
use kilter_tracing::gather::gather;

use crate::dropin::job::Mpi;
use patterns::Has;

/// Language of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Language {
    C,
    Fortran,
}

impl Language {
    /// The program with all patterns.
    fn built(self, mpi: Mpi) -> PathBuf {
        let folder = root().join("tests/fixtures/by_hand");
        let include = root().join("plugins/tracer/include");
        if self == Self::Fortran {
            let folder = format!("-J{}", env!("CARGO_TARGET_TMPDIR"));
            let options = [
                "-O1",
                "-g",
                "-fallow-argument-mismatch",
                "-ffree-line-length-none",
                &folder,
                &include.join("kilter_trace.c").display().to_string(),
            ];
            return mpi.built(
                "mpif90",
                "../../fixtures/by_hand/patterns.F90",
                &options,
                "by_hand_fortran",
            );
        }
        let others = [
            "barriers.c",
            "broadcasts.c",
            "exchanges.c",
            "irregular.c",
            "lookalikes.c",
            "more_lookalikes.c",
            "reductions.c",
            "rooted.c",
            "shown.c",
        ];
        let mut options: Vec<String> = ["-std=c11", "-O1", "-g"].map(str::to_owned).into();
        options.push(format!("-I{}", include.display()));
        options.extend(others.map(|name| folder.join(name).display().to_string()));
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        mpi.built("mpicc", "../../fixtures/by_hand/main.c", &options, "by_hand")
    }

    fn expected(self, name: &str, ranks: u64) -> Option<Vec<Has>> {
        match self {
            Self::C => patterns::in_c(name, ranks),
            Self::Fortran => patterns::in_fortran(name, ranks),
        }
    }
}

/// A run of all patterns: the labels of its communicators, and what is found on them.
struct Run {
    language: Language,
    world: usize,
    labels: Vec<String>,
    trace: Trace,
    detection: Detection,
}

fn run(mpi: Mpi, language: Language, world: usize) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let tracer = mpi.library("libkilter_tracer.so").display().to_string();
    let path = directory.path().display().to_string();
    let variables = [("LD_PRELOAD", tracer.as_str()), (DIRECTORY_VARIABLE, path.as_str())];
    let output = mpi.run(&[&language.built(mpi)], world, &variables);
    let case = format!("{language:?} on {world} ranks of {mpi:?}");
    assert!(output.ok && output.stdout == "OK\n", "{case}: {output:?}");
    let mut trace = gather(directory.path()).unwrap_or_else(|error| panic!("{case}: {error}\n{output:?}"));
    places::resolve(&mut trace.sites);
    let labels = trace.communicators.iter().map(|one| one.label.clone()).collect();
    let trace = detectable::of(&trace);
    let detection = kilter_detect::detect(&trace);
    assert_eq!(detection.doubts.data_differ, 0, "{case}");
    assert_eq!(detection.doubts.sends_unmatched, 0, "{case}");
    Run {
        language,
        world,
        labels,
        trace,
        detection,
    }
}

/// Numbers of collectives.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    right: u32,
    missed: u32,
    part: u32,
    wrong: u32,
}

/// The account of several runs.
#[derive(Default)]
struct Account {
    counts: BTreeMap<Collective, Count>,
    /// Collectives that are not found, and findings that are none.
    missed: BTreeSet<String>,
    parts: BTreeSet<String>,
    wrong: BTreeSet<String>,
    /// Patterns with a collective, and those that only look like one.
    names: [BTreeSet<(Language, String)>; 2],
    /// The findings behind it, for whoever reads a failure.
    log: String,
}

fn is_met(has: &Has, finding: &Finding) -> bool {
    let about = |bytes: u64| bytes * 4 >= has.bytes * 3 && bytes * 3 <= has.bytes * 4;
    finding.collective == has.collective
        && finding.root == has.root
        && finding.ranks.len() as u64 == has.ranks
        && finding.instances.len() == has.times
        && finding.confidence >= has.least
        && (finding.bytes == has.bytes || has.about && about(finding.bytes))
}

impl Account {
    fn add(&mut self, run: &Run) {
        for (communicator, label) in run.labels.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
            let name = label.trim_end_matches(" half");
            let ranks = run.trace.communicators[communicator].members.len();
            let expected = run.language.expected(name, ranks as u64);
            let expected = expected.unwrap_or_else(|| panic!("{name} is not in `patterns.rs`"));
            let place = if name == label {
                format!("{ranks}")
            } else {
                format!("{ranks} of {}", run.world)
            };
            self.names[usize::from(expected.is_empty())].insert((run.language, name.to_owned()));
            let here = |collective: Collective| line(run.language, name, &place, collective);
            let parts = listed(known::PARTS);
            let mut left: Vec<&Finding> = run.detection.findings.iter().collect();
            left.retain(|one| one.communicator as usize == communicator);
            for one in &left {
                let _ = writeln!(
                    self.log,
                    "{:?} {name} on {place}: {:?} x {} of {} B, root {:?}, {:?}: {:?}",
                    run.language,
                    one.collective,
                    one.instances.len(),
                    one.bytes,
                    one.root,
                    one.confidence,
                    one.why
                );
            }
            for has in expected {
                let count = self.counts.entry(has.collective).or_default();
                let Some(at) = left.iter().position(|one| is_met(&has, one)) else {
                    count.missed += 1;
                    self.missed.insert(here(has.collective));
                    continue;
                };
                count.right += 1;
                let finding = left.remove(at);
                check_sites(run, name, finding);
                check_replacement(name, finding);
            }
            for finding in left {
                let count = self.counts.entry(finding.collective).or_default();
                let here = here(finding.collective);
                if parts.contains(&here) {
                    count.part += 1;
                    self.parts.insert(here);
                } else {
                    count.wrong += 1;
                    self.wrong.insert(here);
                }
            }
        }
    }

    /// The table of `docs/method/detection.md`.
    fn table(&self) -> String {
        let mut text = String::from(
            "| collective | found | missed | a part of another | wrong | precision | recall |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for (collective, count) in &self.counts {
            let part = |of: u32| f64::from(count.right) / f64::from((count.right + of).max(1));
            let Count {
                right,
                missed,
                part: parts,
                wrong,
            } = *count;
            let name = known::name(*collective);
            let _ = writeln!(
                text,
                "| {name} | {right} | {missed} | {parts} | {wrong} | {:.2} | {:.2} |",
                part(wrong),
                part(missed)
            );
        }
        text
    }
}

/// Calls of C are in the pattern's own function. Fortran's are in the library's layer for it.
fn check_sites(run: &Run, name: &str, finding: &Finding) {
    let site = |site: &u32| run.trace.sites[*site as usize].function.as_str();
    let functions: BTreeSet<&str> = finding.sites.iter().map(site).collect();
    if run.language == Language::C {
        assert_eq!(functions, BTreeSet::from([name]), "on {} ranks", run.world);
    }
}

fn check_replacement(name: &str, finding: &Finding) {
    let is_right = match &finding.replacement {
        Replacement::NonBlocking(function) => name == "bcast_polled" && function == "MPI_Ibcast",
        // The tokens of the outer broadcast wait for the inner ones.
        Replacement::Deadlock { .. } => name == "bcast_nested",
        Replacement::Blocking(_) => name != "bcast_polled",
    };
    assert!(is_right, "{name}: {:?}", finding.replacement);
}

fn patterns_on_real_ranks_are_what_they_are() {
    let mut account = Account::default();
    for (language, world) in [
        (Language::C, 4),
        (Language::C, 7),
        (Language::Fortran, 4),
        (Language::Fortran, 7),
    ] {
        account.add(&run(Mpi::OpenMpi, language, world));
    }
    let [collectives, lookalikes] = &account.names;
    // On three ranks, one of the collectives is none.
    let (collectives, lookalikes) = (collectives.len(), lookalikes.difference(collectives).count());
    println!(
        "{collectives} patterns, {lookalikes} that only look like one\n{}",
        account.table()
    );
    assert!(collectives >= 25 && lookalikes >= 15, "{collectives}, {lookalikes}");
    let log = &account.log;
    assert_eq!(
        account.missed,
        listed(known::MISSED),
        "missed (left), and listed (right)\n{log}"
    );
    assert_eq!(
        account.wrong,
        listed(known::WRONG),
        "wrong (left), and listed (right)\n{log}"
    );
}

fn listed(errors: &[known::Errors]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for one in errors {
        all.extend(
            one.on
                .iter()
                .map(|ranks| line(one.language, one.pattern, ranks, one.collective)),
        );
    }
    all
}

fn line(language: Language, pattern: &str, ranks: &str, collective: Collective) -> String {
    format!("{language:?} {pattern} on {ranks}: {collective:?}")
}

/// Nothing rests on one library.
fn patterns_on_mpich_are_the_same() {
    if !Mpi::Mpich.is_there() {
        return;
    }
    let run = run(Mpi::Mpich, Language::Fortran, 4);
    let mut account = Account::default();
    account.add(&run);
    assert!(account.missed.is_empty() && account.wrong.is_empty(), "{}", account.log);
}

kilter_tests::cases![patterns_on_real_ranks_are_what_they_are, patterns_on_mpich_are_the_same,];
