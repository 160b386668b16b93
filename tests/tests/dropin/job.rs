//! Building programs and running them with the drop-in.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use kilter_profile::{Profile, Rule};

/// Seconds after which a job has failed.
const LIMIT: &str = "180";

/// The folder with this build's libraries: beside the folder of this test program.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("a program knows its path");
    program
        .ancestors()
        .nth(2)
        .expect("tests lie in deps of the target folder")
        .to_owned()
}

/// A shared object of this workspace.
pub(crate) fn library(name: &str) -> PathBuf {
    let path = target().join(name);
    assert!(
        path.exists(),
        "{} is missing: run `cargo build -p kilter-dropin -p kilter-collectives -p kilter-example` first",
        path.display()
    );
    path
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compiles a C file with the MPI library's compiler.
pub(crate) fn compile(file: &Path, options: &[&str], output: &Path) {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let result = Command::new(&mpicc)
        .args(options)
        .arg(file)
        .arg("-o")
        .arg(output)
        .output();
    let result = result.unwrap_or_else(|error| panic!("cannot run `{mpicc}`: {error}; run scripts/setup"));
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}

/// The program `verify.c`, compiled once.
pub(crate) fn verify() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kilter_verify");
        compile(&source("tests/dropin/verify.c"), &["-std=c11", "-O1"], &program);
        program
    })
}

/// What a job printed.
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

/// Runs `program` on so many ranks with the drop-in preloaded into the ranks (not into the launcher).
pub(crate) fn run(program: &Path, ranks: usize, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("timeout");
    command.args([
        "--kill-after=5",
        LIMIT,
        "mpirun",
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        &ranks.to_string(),
    ]);
    command
        .arg("-x")
        .arg(format!("LD_PRELOAD={}", library("libkilter.so").display()));
    for (name, value) in variables {
        command.arg("-x").arg(format!("{name}={value}"));
    }
    let output = command.arg(program).output().expect("coreutils' timeout starts");
    Output {
        ok: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The library's version as profiles have it: what a tuned profile would say here.
pub(crate) fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kilter_version");
        compile(&source("tests/dropin/version.c"), &["-std=c11"], &program);
        let output = Command::new(&program).output().expect("the program was just built");
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    })
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

    /// Writes a profile of Kilter's own implementations; the plugin lies beside it, as the tuner would put it.
    pub(crate) fn rules(rules: Vec<Rule>) -> Deployed {
        Deployed::profile(Profile {
            version: kilter_profile::VERSION,
            library: version().to_owned(),
            plugins: vec!["libkilter_collectives.so".to_owned()],
            rules,
        })
    }

    /// Writes a profile.
    pub(crate) fn profile(profile: Profile) -> Deployed {
        let deployed = Deployed::text(&profile.to_json().expect("a profile is JSON"));
        let plugin = deployed.directory.path().join("libkilter_collectives.so");
        fs::copy(library("libkilter_collectives.so"), &plugin).expect("a copy of the plugin");
        fs::set_permissions(&plugin, Permissions::from_mode(0o755)).expect("the owner sets the mode");
        deployed
    }

    pub(crate) fn set_mode(&self, mode: u32) {
        fs::set_permissions(&self.path, Permissions::from_mode(mode)).expect("the owner sets the mode");
    }

    /// Runs `verify.c` with this profile.
    pub(crate) fn verify(&self, ranks: usize, variables: &[(&str, &str)]) -> Output {
        let profile = self.path.display().to_string();
        let mut all = vec![("KILTER_PROFILE", profile.as_str()), ("KILTER_LOG", "1")];
        all.extend(variables);
        run(verify(), ranks, &all)
    }
}

/// A rule without parameters.
pub(crate) fn rule(collective: &str, ranks: usize, bytes: std::ops::RangeInclusive<u64>, implementation: &str) -> Rule {
    Rule {
        collective: collective.to_owned(),
        ranks,
        min_bytes: *bytes.start(),
        max_bytes: *bytes.end(),
        implementation: implementation.to_owned(),
        parameters: BTreeMap::new(),
    }
}
