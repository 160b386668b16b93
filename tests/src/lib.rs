//! Helpers of the end-to-end tests: they find the programs, run `kilter`, and read its reports and the files that it left.

pub mod cluster;
pub mod components;
pub mod harness;
pub mod preloaded;
pub mod shared;
pub mod tuned;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

pub use harness::left_out;

/// Options of a command that tells an injected delay of 20 ms from nothing: few repetitions do, and no clocks have to be made one.
pub const FEW_REPETITIONS: [&str; 8] = [
    "--min-repetitions",
    "3",
    "--max-repetitions",
    "4",
    "--wait",
    "sleep",
    "--sync",
    "barrier",
];

/// Options of a `kilter tune` whose subject is another one: finals in which ranks also arrive apart take twice as long.
pub const TOGETHER: [&str; 2] = ["--arrival", "none"];

/// Options of a command of whose cells nothing is asserted but that they were measured, and right: one launch of a few repetitions to see what
/// there is, and one that is judged.
pub const ONE_LAUNCH: [&str; 3] = ["--fixed", "--launches", "1"];

/// Options of a command that finds one violation of a hundred times the bound: the fewest launches that can show it at the level of 5 %, and one
/// look at them.
pub const FEW_LAUNCHES: [&str; 3] = ["--fixed", "--launches", "4"];

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// The folder of this build's programs: test programs lie in its `deps`.
///
/// # Panics
/// The system does not say where this program is.
#[must_use]
pub fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a program knows its path");
    test.ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// The folder of an MPI library other than the one of this build, such as `mpich-4.0`. It holds Kilter's build for that library ([`build_for`])
/// and, if `scripts/setup --mpi` brought the library, its installation in `install`.
#[must_use]
pub fn folder_of(library: &str) -> PathBuf {
    build().with_file_name("mpi").join(library)
}

/// The folder of Kilter's build for such a library, made with the same profile as this one.
#[must_use]
pub fn build_for(library: &str) -> PathBuf {
    folder_of(library).join(build().file_name().unwrap_or_default())
}

/// The programs of such a library that `scripts/setup --mpi NAME` brings; `None`, and noted, where it or Kilter's build for it is not there.
#[must_use]
pub fn brought(library: &str) -> Option<PathBuf> {
    let bin = folder_of(library).join("install/bin");
    if bin.join("mpicc").exists() && build_for(library).join("kilter-worker").exists() {
        return Some(bin);
    }
    left_out(format!(
        "no {library}; make it with `scripts/setup --mpi {library} && scripts/build --mpi {library}`"
    ));
    None
}

/// A program or library of this workspace, of the test's build and not older than its sources.
///
/// It is not built here: a package by itself has other features than the workspace, and most of what it needs would be compiled
/// once more.
///
/// # Panics
/// It is not there, or a source has changed since it was built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    static FOUND: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let path = build().join(name);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if !found.contains(name) {
        assert_up_to_date(&path);
        found.insert(name.to_owned());
    }
    path
}

fn assert_up_to_date(path: &Path) {
    let how = "run `cargo build --workspace --lib --bins` first, with the profile of the tests";
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let built = changed(path).unwrap_or_else(|| panic!("{} is missing: {how}", path.display()));
    let list = path.with_extension("d");
    let sources = std::fs::read_to_string(&list).unwrap_or_else(|error| panic!("{}: {error}: {how}", list.display()));
    for source in sources.split_whitespace().skip(1).map(Path::new) {
        let is_older = changed(source).is_some_and(|changed| changed <= built);
        assert!(is_older, "{} is older than {}: {how}", path.display(), source.display());
    }
}

/// A script of this repository, which takes what this build has made.
#[must_use]
pub fn script(name: &str) -> Command {
    let mut command = Command::new(root().join("scripts").join(name));
    let folder = build().file_name().unwrap_or_default().to_owned();
    command.env(
        "KILTER_CARGO_PROFILE",
        if folder == "debug" { "dev".into() } else { folder },
    );
    if let Some(target) = build().parent() {
        command.env("CARGO_TARGET_DIR", target);
    }
    command
}

/// `kilter COMMAND` with an output directory of its own.
#[must_use]
pub fn kilter(command: &str, out: &Path) -> Command {
    let mut kilter = Command::new(program("kilter"));
    kilter.arg(command).arg("--out").arg(out);
    // A test must not depend on what the caller's shell has.
    for name in [
        "KILTER_HOSTFILE",
        "KILTER_PLATFORM",
        "KILTER_LAUNCH_AGENT",
        "KILTER_MCA",
        "KILTER_ENV",
        "KILTER_WAIT",
        "KILTER_MPIRUN",
        "KILTER_LIBEXEC",
    ] {
        kilter.env_remove(name);
    }
    kilter
}

/// Runs it and shows what it printed when the exit status is none of `allowed`.
///
/// # Panics
/// It cannot be started, or ends with another status.
pub fn run(command: &mut Command, allowed: &[i32]) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let code = output.status.code();
    assert!(
        code.is_some_and(|code| allowed.contains(&code)),
        "{command:?} ended with {code:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The report that a run wrote.
///
/// # Panics
/// It is missing or no JSON.
#[must_use]
pub fn report(out: &Path) -> Value {
    let path = out.join("report.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of a report for one guideline and volume.
#[must_use]
pub fn cells<'r>(report: &'r Value, guideline: &str, bytes: u64) -> Vec<&'r Value> {
    let all = report["cells"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter()
        .filter(|cell| cell["guideline"] == guideline && cell["measured_bytes"] == bytes)
        .collect()
}

/// True if a program is in PATH.
#[must_use]
pub fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Compiles C for the MPI library under test.
///
/// # Panics
/// The compiler refuses.
pub fn mpicc(arguments: &[&str]) {
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    run(Command::new(compiler).args(arguments), &[0]);
}

/// Processes whose environment carries this text: what a run left behind.
#[must_use]
pub fn processes_with(marker: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter(|entry| {
            std::fs::read(entry.path().join("environ"))
                .is_ok_and(|environ| environ.windows(marker.len()).any(|window| window == marker.as_bytes()))
        })
        .map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            format!(
                "{}: {}",
                entry.file_name().to_string_lossy(),
                String::from_utf8_lossy(&line).replace('\0', " ")
            )
        })
        .collect()
}

/// Time that a test waits for an event that must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Interval of looks at files and processes of others, whose changes are no events for a test: a rank that measures needs the core that looking
/// would take.
pub const LOOK: Duration = Duration::from_millis(2);

/// Waits until something has come true that must.
///
/// # Panics
/// It has not after [`PATIENCE`]; `else_what` says what is missing.
pub fn wait_until(else_what: impl Fn() -> String, come_true: impl Fn() -> bool) {
    let begin = Instant::now();
    while !come_true() {
        assert!(begin.elapsed() < PATIENCE, "not in time: {}", else_what());
        std::thread::sleep(LOOK);
    }
}

/// The description of a library, such as `openmpi-4.1`, with its algorithms and some of its parameters: a search launches a job for each value of
/// each, which takes most of a test's time.
///
/// # Panics
/// The description has no such parameter.
#[must_use]
pub fn description_with(library: &str, parameters: &[&str]) -> String {
    let mut describe = Command::new("python3");
    describe.arg(root().join("scripts/common/description.py"));
    let output = run(describe.args([library, "--settings", &parameters.join(",")]), &[0]);
    String::from_utf8(output.stdout).expect("descriptions are UTF-8")
}

/// [`description_with`] no parameters: settings of whole launches are another matter.
#[must_use]
pub fn algorithms_of(library: &str) -> String {
    description_with(library, &[])
}

/// Writes [`description_with`] these parameters of Open MPI 4.1 beside what a test leaves, for `--library-description`.
///
/// # Panics
/// The file cannot be written.
#[must_use]
pub fn few_settings(directory: &Path, parameters: &[&str]) -> PathBuf {
    let file = directory.join("few-settings.toml");
    std::fs::write(&file, description_with("openmpi-4.1", parameters)).expect("the directory is the test's");
    file
}
