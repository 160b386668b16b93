//! Fixes that `kilter tune` deploys on MPICH take effect there. The tests use Debian's MPICH 4.0, and for what differs from release to release
//! those of PyPI, 4.3 and 5.0, as well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_algorithms::Collective;
use kilter_emit::mpich_library::{self, OwnSelection};
use kilter_emit::selection::{ForRanks, Range, SizeRule, Tree};
use kilter_emit::{selection_guard, selection_lint};
use kilter_tests::shared::made_once;
use kilter_tests::{algorithms_of, brought, build_for, cells, in_path, left_out, preloaded, report, root, run};

const LAUNCHER: &str = "mpirun.mpich";
const COMPILER: &str = "mpicc.mpich";
const VARIABLE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";

/// The worker for Debian's MPICH; `None` where there is no MPICH.
fn worker() -> Option<PathBuf> {
    if !in_path(LAUNCHER) || !in_path(COMPILER) {
        left_out("no `mpirun.mpich` and `mpicc.mpich` in PATH; install them with `scripts/setup --mpi mpich-4.0`");
        return None;
    }
    let worker = build_for("mpich-4.0").join("kilter-worker");
    assert!(
        worker.exists(),
        "{} is missing: run `scripts/build --mpi mpich-4.0` first",
        worker.display()
    );
    Some(worker)
}

/// The library's own selection, read as the emitter reads it.
fn own(worker: &Path) -> OwnSelection {
    let output = run(Command::new(worker).arg("library"), &[0]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let file = said.lines().find_map(|line| line.strip_prefix("file: "));
    let file = file.unwrap_or_else(|| panic!("the worker does not say which file its library is: {said}"));
    mpich_library::read(Path::new(file)).unwrap()
}

/// A fixture, compiled once by each compiler.
fn compiled(compiler: &Path, source: &str, name: &str, further: &[&str]) -> PathBuf {
    made_once(&format!("{} {source}", compiler.display()), name, |to| {
        let source = root().join("tests/fixtures").join(source);
        let mut compile = Command::new(compiler);
        compile.args(["-O1", "-o"]).arg(to).arg(source);
        run(compile.args(further).arg("-ldl"), &[0]);
    })
}

/// The application that counts the messages of collectives.
fn count_sends(compiler: &Path) -> PathBuf {
    compiled(compiler, "count_sends.c", "count_sends", &["-rdynamic"])
}

/// The library that slows an allreduce whose algorithm nobody chose.
fn slow_default() -> PathBuf {
    compiled(
        Path::new(COMPILER),
        "slow_default.c",
        "slow_default.so",
        &["-shared", "-fPIC"],
    )
}

/// An algorithm for each collective that may be switched on size, with another number of messages than the library's own on 4
/// ranks around the sizes below.
const SWITCHED: [(Collective, &str, &str); 8] = [
    (Collective::Bcast, "avg_msg_size", "scatter_ring_allgather"),
    (Collective::Reduce, "avg_msg_size", "reduce_scatter_gather"),
    (Collective::Allreduce, "avg_msg_size", "recursive_doubling"),
    (Collective::Allgather, "total_msg_size", "ring"),
    (Collective::Allgatherv, "total_msg_size", "ring"),
    (Collective::Alltoall, "total_msg_size", "brucks"),
    (Collective::ReduceScatter, "total_msg_size", "pairwise"),
    (Collective::ReduceScatterBlock, "total_msg_size", "pairwise"),
];
/// The rules are for these sizes, in bytes.
const RANGE: (u64, u64) = (1008, 1968);
/// Below, at both ends, above.
const SIZES: [u64; 4] = [960, 1008, 1968, 2016];

fn with_rules(own: &OwnSelection, ranks: u64, per_node: Range) -> Tree {
    SWITCHED
        .iter()
        .fold(own.tree.clone(), |tree, (collective, test, algorithm)| {
            let mut operation = collective.name().to_owned();
            operation[..1].make_ascii_uppercase();
            let rule = SizeRule {
                range: RANGE,
                algorithm: format!("MPIR_{operation}_intra_{algorithm}"),
                parameters: Vec::new(),
                guards: selection_guard::of(*collective, algorithm),
            };
            let sizes = [ForRanks {
                ranks: (ranks, ranks),
                per_node: vec![(per_node, vec![rule])],
            }];
            tree.with_sizes(collective.name(), Some(test), &sizes).unwrap()
        })
}

/// Messages of all ranks by collective and size.
fn messages(launcher: &Path, program: &Path, ranks: usize, file: Option<&Path>) -> BTreeMap<(String, u64), String> {
    let mut launch = Command::new(launcher);
    // All messages over UCX, where they are counted, and nothing that the device would choose before.
    for (name, value) in [
        ("MPIR_CVAR_NOLOCAL", "1"),
        ("MPIR_CVAR_CH4_NETMOD", "ucx"),
        ("MPIR_CVAR_DEVICE_COLLECTIVES", "none"),
    ] {
        launch.args(["-genv", name, value]);
    }
    if let Some(file) = file {
        launch.args(["-genv", VARIABLE]).arg(file);
    }
    launch.args(["-n", &ranks.to_string()]).arg(program);
    for (collective, _, _) in SWITCHED {
        launch.args(
            SIZES
                .iter()
                .flat_map(|bytes| [collective.name().to_owned(), bytes.to_string()]),
        );
    }
    let output = run(&mut launch, &[0]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let counts: BTreeMap<_, _> = text
        .lines()
        .map(|line| {
            let (what, counts) = line.split_once(':').unwrap();
            let (collective, bytes) = what.split_once(' ').unwrap();
            (
                (collective.to_owned(), bytes.parse().unwrap()),
                counts.trim().to_owned(),
            )
        })
        .collect();
    assert_eq!(counts.len(), SWITCHED.len() * SIZES.len(), "{text}");
    counts
}

/// The units of sizes, and that a rule holds for its ranks and sizes alone, proven by what the library sends.
fn a_selection_file_acts_for_its_ranks_and_sizes_and_nothing_else() {
    let Some(worker) = worker() else { return };
    assert_a_file_acts(&worker, Path::new(LAUNCHER), Path::new(COMPILER));
}

/// The same of a release of PyPI.
fn a_selection_file_acts_on(library: &str) {
    let Some(bin) = brought(library) else { return };
    let worker = build_for(library).join("kilter-worker");
    let launcher = bin.join("mpiexec");
    assert_a_file_acts(&worker, &launcher, &bin.join("mpicc"));

    // A word in place of a number is 0 to the library, which does not mention it, and divides by it.
    let own = own(&worker);
    let rule = SizeRule {
        range: (0, u64::MAX),
        algorithm: "MPIR_Bcast_intra_tree".to_owned(),
        parameters: ["tree_type=kary", "k=three", "is_non_blocking=1"]
            .map(str::to_owned)
            .to_vec(),
        guards: Vec::new(),
    };
    let tree = own.tree.with_rules("bcast", 4, Some("avg_msg_size"), &[rule]).unwrap();
    let error = selection_lint::check(&tree, &own.tree, &own.algorithms).unwrap_err();
    assert!(
        error.to_string().contains("`k=three` is taken for another value"),
        "{error}"
    );
    let directory = tempfile::tempdir().unwrap();
    let (program, file) = (count_sends(&bin.join("mpicc")), directory.path().join("selection.json"));
    std::fs::write(&file, tree.to_text()).unwrap();
    let mut launch = Command::new(&launcher);
    launch
        .args(["-genv", VARIABLE])
        .arg(&file)
        .args(["-genv", "MPIR_CVAR_DEVICE_COLLECTIVES", "none"]);
    launch.args(["-n", "4"]).arg(&program).args(["bcast", "1008"]);
    assert!(
        !launch.output().unwrap().status.success(),
        "the library takes a word for a number"
    );
}

fn a_selection_file_acts_on_4_3() {
    a_selection_file_acts_on("mpich-4.3");
}

fn a_selection_file_acts_on_5_0() {
    a_selection_file_acts_on("mpich-5.0");
}

fn assert_a_file_acts(worker: &Path, launcher: &Path, compiler: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let program = count_sends(compiler);
    let own = own(worker);
    // Each rank has a node of its own to the library (`MPIR_CVAR_NOLOCAL`).
    let tree = with_rules(&own, 4, (1, 1));
    selection_lint::check(&tree, &own.tree, &own.algorithms).unwrap();
    let file = directory.path().join("selection.json");
    std::fs::write(&file, tree.to_text()).unwrap();

    let before = messages(launcher, &program, 4, None);
    let after = messages(launcher, &program, 4, Some(&file));
    for (collective, _, algorithm) in SWITCHED {
        for bytes in SIZES {
            let key = (collective.name().to_owned(), bytes);
            let inside = (RANGE.0..=RANGE.1).contains(&bytes);
            assert_eq!(
                before[&key] != after[&key],
                inside,
                "{collective} {bytes}, {algorithm}: {} messages without the file, {} with it",
                before[&key],
                after[&key]
            );
        }
    }
    for ranks in [3, 2] {
        assert_eq!(
            messages(launcher, &program, ranks, None),
            messages(launcher, &program, ranks, Some(&file)),
            "{ranks} ranks"
        );
    }

    for per_node in [(2, 2), (4, 4)] {
        let elsewhere = with_rules(&own, 4, per_node);
        selection_lint::check(&elsewhere, &own.tree, &own.algorithms).unwrap();
        std::fs::write(&file, elsewhere.to_text()).unwrap();
        let after = messages(launcher, &program, 4, Some(&file));
        assert_eq!(after, before, "{per_node:?} ranks on a node");
    }

    // The check must find errors on which the library would abort.
    let misspelt = tree
        .to_text()
        .replacen("MPIR_Bcast_intra_scatter_ring", "MPIR_Bcast_intra_scatter_rign", 1);
    std::fs::write(&file, &misspelt).unwrap();
    let error = selection_lint::check(&Tree::parse(&misspelt).unwrap(), &own.tree, &own.algorithms).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no algorithm `MPIR_Bcast_intra_scatter_rign"),
        "{error}"
    );
    let mut launch = Command::new(launcher);
    launch
        .args(["-genv", VARIABLE])
        .arg(&file)
        .args(["-n", "2"])
        .arg(&program);
    assert!(
        !launch.output().unwrap().status.success(),
        "the library takes a misspelt algorithm"
    );
}

/// The library's own allreduce takes 100 ms longer where nobody asks for an algorithm, so that GL12 is violated and any algorithm
/// that is asked for fixes it: in the search by a control variable, in the deployment by the selection file.
fn an_algorithm_of_the_library_is_found_emitted_and_confirmed() {
    let Some(worker) = worker() else { return };
    let directory = tempfile::tempdir().unwrap();
    let slow = slow_default();
    // Settings of whole launches cannot fix it; without them the budget is the algorithms'.
    let file = directory.path().join("mpich.toml");
    std::fs::write(&file, algorithms_of("mpich-4.0")).unwrap();
    let out = directory.path().join("out");
    let output = run(
        preloaded::tune_slow_allreduce(&out, &slow, "parameters")
            .arg("--library-description")
            .arg(&file)
            .args(["-n", "2", "--fixed", "--mpirun", LAUNCHER]),
        &[0, 1],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    let report = report(&out);
    let cell = cells(&report, "GL12", 1024)[0];
    assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}\n{said}");
    assert_eq!(cell["fix"]["kind"], "parameter", "{cell:#}\n{said}");
    let asked = cell["fix"]["settings"][0]["name"].as_str().unwrap();
    assert_eq!(asked, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "{cell:#}");
    let seconds = |when: &str| cell[when]["seconds"].as_f64().unwrap();
    assert!(seconds("before") - seconds("after") > 50e-3, "{cell:#}\n{said}");

    let emit = out.join("emit");
    let read = |name: &str| std::fs::read_to_string(emit.join(name)).unwrap();
    let change = &report["changes"][0];
    assert_eq!(change["file"], "mpich-coll-selection.json", "{change:#}");
    let own = own(&worker);
    let tree = Tree::parse(&read("mpich-coll-selection.json")).unwrap();
    selection_lint::check(&tree, &own.tree, &own.algorithms).unwrap();
    assert_ne!(tree, own.tree);
    let environment = read("kilter.env");
    let path = emit.join("mpich-coll-selection.json").display().to_string();
    assert!(environment.contains(&format!("{VARIABLE}={path}\n")), "{environment}");
    assert!(
        environment.contains("MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0\n"),
        "{environment}"
    );
    assert!(
        !environment.contains("INTRA_ALGORITHM"),
        "a control variable would win over the file: {environment}"
    );
    for form in ["kilter.sh", "modulefile.tcl", "modulefile.lua", "slurm-prolog.sh"] {
        let text = read(form);
        assert!(text.contains(VARIABLE) && !text.contains("OMPI_MCA"), "{form}: {text}");
    }
    assert!(read("README.txt").contains("-genv MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"));
    let launch = report["provenance"]["launch_after"].as_str().unwrap();
    assert!(
        launch.contains(&path),
        "what was verified is what was emitted: {launch}"
    );
}

/// GL12 as above, with Kilter's own rows and mock-ups alone: the drop-in carries them on MPICH, too.
fn a_row_of_kilters_is_found_emitted_and_confirmed() {
    if worker().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let slow = slow_default();
    let out = directory.path().join("out");
    let output = run(
        preloaded::tune_slow_allreduce(&out, &slow, "algorithms").args(["-n", "2", "--fixed", "--mpirun", LAUNCHER]),
        &[0, 1],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    let report = report(&out);
    let found = cells(&report, "GL12", 1024);
    assert_eq!(found.len(), 1, "{said}\n{report:#}");
    let cell = found[0];
    assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}\n{said}");
    assert!(
        cell["fix"]["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("allreduce.")),
        "{cell:#}\n{said}"
    );
    let environment = std::fs::read_to_string(out.join("emit/kilter.env")).unwrap();
    assert!(
        environment.contains("KILTER_PROFILE=") && environment.contains("libkilter.so"),
        "{environment}"
    );
    assert!(
        !out.join("emit/mpich-coll-selection.json").exists(),
        "no algorithm of the library was chosen"
    );
}

kilter_tests::cases![
    a_selection_file_acts_for_its_ranks_and_sizes_and_nothing_else,
    a_selection_file_acts_on_4_3,
    a_selection_file_acts_on_5_0,
    an_algorithm_of_the_library_is_found_emitted_and_confirmed,
    a_row_of_kilters_is_found_emitted_and_confirmed,
];
