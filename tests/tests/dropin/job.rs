//! Building programs and running them with the drop-in.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use kilter_profile::{Profile, Rule};
use kilter_tests::components::with_all;
use kilter_tests::{build, build_for, left_out};

use crate::dropin::yielding;

/// Seconds after which a job has failed.
const LIMIT: &str = "180";

/// An MPI library that programs are built with and run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "the library's own name ends so")]
pub(crate) enum Mpi {
    /// The one that this test program's workspace is built for.
    OpenMpi,
    /// Debian's MPICH. Kilter's build for it has a folder of its own.
    Mpich,
    /// A library that `scripts/setup --mpi` brings, by that name. It is tested if [`FURTHER`] names it.
    Brought(&'static str),
}

/// The variable that names further libraries to test, between commas: each needs `scripts/setup --mpi NAME` and
/// `scripts/build --mpi NAME -p kilter-example`. `scripts/test-dropin` does all of it.
const FURTHER: &str = "KILTER_TEST_MPI";

/// Libraries that it may name.
const BROUGHT: [&str; 4] = ["openmpi-5.0", "mpich-4.3", "mpich-5.0", "intelmpi-2021"];

/// Those that [`FURTHER`] names.
fn further() -> Vec<Mpi> {
    let names = std::env::var(FURTHER).unwrap_or_default();
    let found = |name: &str| {
        let found = BROUGHT.into_iter().find(|brought| *brought == name);
        found.unwrap_or_else(|| panic!("{FURTHER}: `{name}` is no library; allowed: {}", BROUGHT.join(", ")))
    };
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(|name| Mpi::Brought(found(name))).collect()
}

impl Mpi {
    /// Those that are installed, each for the same tests.
    pub(crate) fn installed() -> Vec<Mpi> {
        let mut all = vec![Mpi::OpenMpi, Mpi::Mpich];
        all.retain(|mpi| mpi.is_there());
        all.extend(further());
        all
    }

    /// As part of a file's name.
    fn label(self) -> String {
        match self {
            Mpi::Brought(name) => name.to_owned(),
            other => format!("{other:?}"),
        }
    }

    /// True for every version of Open MPI.
    pub(crate) fn is_open_mpi(self) -> bool {
        matches!(self, Mpi::OpenMpi | Mpi::Brought("openmpi-5.0"))
    }

    /// True if `MPI_Finalize` aborts a job in which a message was not received. MPICH does so since 4.3.
    pub(crate) fn wants_all_messages_received(self) -> bool {
        matches!(self, Mpi::Brought("mpich-4.3" | "mpich-5.0"))
    }

    /// True if it has the functions of MPI 4 with counts of type `MPI_Count`. Open MPI has none before 6.
    pub(crate) fn has_large_counts(self) -> bool {
        !self.is_open_mpi()
    }

    /// True if it has a Fortran compiler; wheels of PyPI may have none.
    pub(crate) fn has_fortran(self) -> bool {
        !matches!(self, Mpi::Brought(_)) || self.program("mpif90").exists()
    }

    /// The folder with Kilter's build for it.
    fn build(self) -> PathBuf {
        match self {
            Mpi::OpenMpi => build(),
            Mpi::Mpich => build_for("mpich-4.0"),
            Mpi::Brought(name) => build_for(name),
        }
    }

    /// Its compiler of C, or of another language by the wrapper's name, such as `mpif90`.
    fn compiler(self, wrapper: &str) -> String {
        match self {
            Mpi::OpenMpi if wrapper == "mpicc" => std::env::var("MPICC").unwrap_or_else(|_| wrapper.to_owned()),
            Mpi::OpenMpi => format!("{wrapper}.openmpi"),
            Mpi::Mpich => format!("{wrapper}.mpich"),
            Mpi::Brought(_) => self.program(wrapper).display().to_string(),
        }
    }

    /// A program of one that was brought.
    fn program(self, name: &str) -> PathBuf {
        self.prefix().join("bin").join(name)
    }

    /// The folder in which `scripts/setup --mpi` installed it.
    fn prefix(self) -> PathBuf {
        let folder = self.build().join("../install");
        folder
            .canonicalize()
            .unwrap_or_else(|error| panic!("{}: {error}; run `{}` first", folder.display(), self.how()))
    }

    /// True if it is installed; else notes that the test leaves it out.
    pub(crate) fn is_there(self) -> bool {
        let there = self != Mpi::Mpich || kilter_tests::in_path("mpirun.mpich");
        if !there {
            left_out("no `mpirun.mpich` in PATH; install it with `scripts/setup --mpi mpich-4.0`");
        }
        there
    }

    /// The commands that build for it.
    fn how(self) -> String {
        match self {
            Mpi::OpenMpi => {
                "cargo build -p kilter-dropin -p kilter-collectives -p kilter-example -p kilter-progress -p kilter-tracer".to_owned()
            }
            Mpi::Mpich => "KILTER_CARGO_PROFILE=dev scripts/build --mpi mpich-4.0 -p kilter-example".to_owned(),
            Mpi::Brought(name) => {
                format!(
                    "scripts/setup --mpi {name} && KILTER_CARGO_PROFILE=dev scripts/build --mpi {name} -p kilter-example"
                )
            }
        }
    }

    /// A shared object of Kilter's build for it.
    pub(crate) fn library(self, name: &str) -> PathBuf {
        let path = self.build().join(name);
        // A library finds its parts by the path by which it was loaded.
        path.canonicalize()
            .unwrap_or_else(|error| panic!("{}: {error}; run `{}` first", path.display(), self.how()))
    }

    /// Compiles a program or shared object from a source in `tests/dropin`, once, under a name of its own.
    pub(crate) fn built(self, wrapper: &str, file: &str, options: &[&str], name: &str) -> PathBuf {
        static BUILT: Mutex<BTreeMap<PathBuf, ()>> = Mutex::new(BTreeMap::new());
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kilter_{name}_{}", self.label()));
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if !built.contains_key(&output) {
            // Two test programs that run beside each other may build the same one, and either may be running it.
            let own = output.with_file_name(format!("kilter_{name}_{}.{}", self.label(), std::process::id()));
            compile_with(self, wrapper, &source(&format!("tests/dropin/{file}")), options, &own);
            std::fs::rename(&own, &output).unwrap_or_else(|error| panic!("{}: {error}", output.display()));
            built.insert(output.clone(), ());
        }
        output
    }

    /// `verify.c`, in the large count forms of the functions or not.
    pub(crate) fn verify(self, large_counts: bool) -> PathBuf {
        if large_counts {
            self.built(
                "mpicc",
                "verify.c",
                &["-std=c11", "-O1", "-DLARGE_COUNTS"],
                "verify_large",
            )
        } else {
            self.built("mpicc", "verify.c", &["-std=c11", "-O1"], "verify")
        }
    }

    /// `verify.c` with one count: every collective, in a fraction of the time.
    pub(crate) fn brief(self) -> PathBuf {
        self.built("mpicc", "verify.c", &["-std=c11", "-O1", "-DBRIEF"], "verify_brief")
    }

    /// Compiles a C file.
    pub(crate) fn compile(self, file: &Path, options: &[&str], output: &Path) {
        compile_with(self, "mpicc", file, options, output);
    }

    /// The library's version as profiles have it: what a tuned profile would say here.
    pub(crate) fn version(self) -> String {
        let program = self.built("mpicc", "version.c", &["-std=c11"], "version");
        let output = self.command(&program).output().expect("the program was just built");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().unwrap_or_default().trim().to_owned()
    }

    /// A command in the environment that the library wants.
    fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if matches!(self, Mpi::Brought(_)) {
            with_all(&mut command);
        }
        if self == Mpi::Brought("intelmpi-2021") {
            command.env("I_MPI_ROOT", self.prefix());
        }
        command
    }

    /// Runs `program` on so many ranks with the drop-in preloaded into the ranks (not into the launcher).
    pub(crate) fn run(self, program: &[&Path], ranks: usize, variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(Path::new("timeout"));
        command.args(["--kill-after=5", LIMIT]);
        match self {
            Mpi::OpenMpi => command.arg("mpirun"),
            Mpi::Mpich => command.arg("mpirun.mpich"),
            Mpi::Brought(_) => command.arg(self.program("mpirun")),
        };
        if self.is_open_mpi() {
            command.args(["--allow-run-as-root", "--oversubscribe"]);
        }
        command.args(["-n", &ranks.to_string()]);
        let preload = self.library("libkilter.so").display().to_string();
        let mut all = vec![("LD_PRELOAD", preload.as_str())];
        all.retain(|(name, _)| variables.iter().all(|(given, _)| given != name));
        all.extend(variables);
        let yielding = yielding::of(self);
        all.extend(yielding.variables);
        for (name, value) in all {
            let mut value = value.to_owned();
            if let Some(library) = yielding.behind.as_ref().filter(|_| name == "LD_PRELOAD") {
                value += &format!(":{}", library.display());
            }
            if self.is_open_mpi() {
                command.arg("-x").arg(format!("{name}={value}"));
            } else {
                command.args(["-genv", name, &value]);
            }
        }
        let output = command.args(program).output().expect("coreutils' timeout starts");
        Output {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn compile_with(mpi: Mpi, wrapper: &str, file: &Path, options: &[&str], output: &Path) {
    let compiler = mpi.compiler(wrapper);
    let result = mpi
        .command(Path::new(&compiler))
        .arg(file)
        .args(options)
        .arg("-o")
        .arg(output)
        .output();
    let result = result.unwrap_or_else(|error| panic!("cannot run `{compiler}`: {error}; run scripts/setup"));
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}

/// The program `verify.c` on Open MPI.
pub(crate) fn verify() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| Mpi::OpenMpi.verify(false))
}

/// Runs a program on Open MPI with the drop-in preloaded.
pub(crate) fn run(program: &Path, ranks: usize, variables: &[(&str, &str)]) -> Output {
    Mpi::OpenMpi.run(&[program], ranks, variables)
}

/// Exit and output of a job.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) ok: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Lines of the drop-in's that begin so.
    pub(crate) fn lines(&self, begin: &str) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with(begin)).collect()
    }

    /// The log at the end: calls by implementation.
    pub(crate) fn calls(&self) -> BTreeMap<String, u64> {
        self.counted(" calls", "")
    }

    /// The log at the end: calls inside other implementations.
    pub(crate) fn calls_inside(&self) -> BTreeMap<String, u64> {
        self.counted(" calls inside others", "")
    }

    /// The log of mode `log`.
    pub(crate) fn would_have_run(&self) -> BTreeMap<String, u64> {
        self.counted(" calls", "would have run ")
    }

    fn counted(&self, end: &str, begin: &str) -> BTreeMap<String, u64> {
        let line = |line: &&str| {
            let (id, rest) = line.strip_prefix("kilter: ")?.split_once(": ")?;
            let number = rest.strip_suffix(end)?.strip_prefix(begin)?.parse().ok()?;
            Some((id.to_owned(), number))
        };
        self.stderr.lines().filter_map(|text| line(&text)).collect()
    }
}

/// A folder with a profile in it.
pub(crate) struct Deployed {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Deployed {
    /// Writes a text as the profile.
    pub(crate) fn text(text: &str) -> Deployed {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let path = directory.path().join("profile.json");
        fs::write(&path, text).expect("a file in it");
        let deployed = Deployed { directory, path };
        deployed.set_mode(0o644);
        deployed
    }

    /// Writes a profile for Open MPI of Kilter's own implementations and of those of `library_plugin.c`; plugins lie beside
    /// it, as the tuner would put them.
    pub(crate) fn rules(rules: Vec<Rule>) -> Deployed {
        Deployed::for_library(Mpi::OpenMpi, rules)
    }

    /// The same for any library.
    pub(crate) fn for_library(mpi: Mpi, rules: Vec<Rule>) -> Deployed {
        let mut plugins = vec!["libkilter_collectives.so".to_owned()];
        let in_c = rules.iter().any(|rule| rule.implementation.ends_with(".library"));
        if in_c {
            plugins.push("library.so".to_owned());
        }
        let profile = Profile {
            version: kilter_profile::VERSION,
            library: mpi.version(),
            plugins,
            order: None,
            rules,
            online: Vec::new(),
        };
        let deployed = Deployed::text(&profile.to_json().expect("a profile is JSON"));
        deployed.add(&mpi.library("libkilter_collectives.so"), "libkilter_collectives.so");
        if in_c {
            let include = format!("-I{}", source("../plugins/abi/include").display());
            let options = ["-std=c11", "-shared", "-fPIC", &include];
            deployed.add(
                &mpi.built("mpicc", "library_plugin.c", &options, "library_plugin"),
                "library.so",
            );
        }
        deployed
    }

    /// Copies a plugin beside the profile.
    pub(crate) fn add(&self, file: &Path, name: &str) {
        let plugin = self.directory.path().join(name);
        fs::copy(file, &plugin).expect("a copy of the plugin");
        fs::set_permissions(&plugin, Permissions::from_mode(0o755)).expect("the owner sets the mode");
    }

    /// Writes a profile that names no plugin of Kilter's.
    pub(crate) fn profile(profile: &Profile) -> Deployed {
        Deployed::text(&profile.to_json().expect("a profile is JSON"))
    }

    pub(crate) fn set_mode(&self, mode: u32) {
        fs::set_permissions(&self.path, Permissions::from_mode(mode)).expect("the owner sets the mode");
    }

    /// Runs `verify.c` with this profile.
    pub(crate) fn verify(&self, ranks: usize, variables: &[(&str, &str)]) -> Output {
        self.run(Mpi::OpenMpi, &[verify()], ranks, variables)
    }

    /// Runs the brief form of `verify.c` with this profile.
    pub(crate) fn brief(&self, mpi: Mpi, ranks: usize, variables: &[(&str, &str)]) -> Output {
        self.run(mpi, &[&mpi.brief()], ranks, variables)
    }

    /// Runs a program with this profile, counting.
    pub(crate) fn run(&self, mpi: Mpi, program: &[&Path], ranks: usize, variables: &[(&str, &str)]) -> Output {
        let profile = self.path.display().to_string();
        // Every call that has a rule is replaced, the first ones on a communicator, too, so that they can be counted.
        let mut all = vec![
            ("KILTER_PROFILE", profile.as_str()),
            ("KILTER_LOG", "1"),
            ("KILTER_PRIVATE_AFTER", "0"),
        ];
        // Launchers differ in which of two values of a variable they take.
        all.retain(|(name, _)| variables.iter().all(|(given, _)| given != name));
        all.extend(variables);
        mpi.run(program, ranks, &all)
    }
}

/// A rule without parameters.
pub(crate) fn rule(collective: &str, ranks: usize, bytes: std::ops::RangeInclusive<u64>, implementation: &str) -> Rule {
    Rule {
        collective: collective.to_owned(),
        communicators: kilter_profile::Communicators::of_ranks(ranks),
        min_bytes: *bytes.start(),
        max_bytes: *bytes.end(),
        implementation: implementation.to_owned(),
        parameters: BTreeMap::new(),
    }
}
