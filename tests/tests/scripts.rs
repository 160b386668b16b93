//! Scripts say what they do when they are asked, and do nothing else; `scripts/setup` says what it needs on systems that it cannot set up.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kilter_tests::{root, run};

/// Distributors ask for licences and duplicate crates first.
fn licences_fit_and_no_crate_is_there_twice_without_a_reason() {
    let mut check = Command::new(root().join("scripts/notices"));
    let output = run(check.arg("--check"), &[0, 1]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let notices = run(&mut Command::new(root().join("scripts/notices")), &[0]);
    let notices = String::from_utf8_lossy(&notices.stdout);
    for words in [
        "\nargmin 0.",
        "\nlibsqlite3-sys 0.",
        "Permission is hereby granted, free of charge",
    ] {
        assert!(notices.contains(words), "{words}");
    }
    // Crates that only tests need are not installed, so they need no notice.
    assert!(!notices.contains("\nproptest "));
}

fn help_is_the_comment_at_the_head() {
    let mut scripts: Vec<_> = fs::read_dir(root().join("scripts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        // It hands over to a program, which has to be built for that.
        .filter(|path| !path.ends_with("virtual-cluster"))
        .collect();
    scripts.sort();
    assert!(scripts.len() > 20, "{scripts:?}");
    for script in scripts {
        let text = fs::read_to_string(&script).unwrap();
        let second = text.lines().nth(1).unwrap();
        let head = second.trim_start_matches("\"\"\"").trim_start_matches("# ");
        // A script that does not know `--help` might begin a benchmark, so the time is limited.
        for arguments in [&["--help"][..], &["name", "--help"]] {
            let output = run(Command::new("timeout").arg("10").arg(&script).args(arguments), &[0]);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(printed.contains(head), "{}: {printed}", script.display());
            assert!(output.stderr.is_empty(), "{}: {output:?}", script.display());
        }
    }
}

/// A machine of another distribution, whose programs are stand-ins.
struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    /// A machine that names itself so, whose user has this number; it has cargo, and nothing that a build needs beside that.
    fn new(os_release: &str, user: u32) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("bin")).unwrap();
        fs::create_dir_all(directory.path().join("etc")).unwrap();
        fs::write(directory.path().join("etc/os-release"), os_release).unwrap();
        let machine = Machine { directory };
        for tool in ["bash", "cat", "dirname", "head", "mkdir"] {
            let real = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(tool));
            let real = real.iter().find(|path| path.exists()).unwrap();
            symlink(real, machine.path("bin").join(tool)).unwrap();
        }
        machine.has("id", &format!("echo {user}"));
        machine.has("cargo", "exit 1");
        machine
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    /// Gives it a program that does this.
    fn has(&self, program: &str, script: &str) {
        let path = self.path("bin").join(program);
        fs::write(&path, format!("#!/usr/bin/env bash\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    /// Gives it a package manager that notes its arguments, and brings a compiler of Open MPI to where its packages have it.
    fn has_manager(&self, manager: &str, mpicc: &str) {
        let (log, mpicc) = (self.path("called"), self.path(mpicc));
        let script = format!(
            "echo \"$*\" >> '{}'\nmkdir -p '{}'\necho > '{}'",
            log.display(),
            mpicc.parent().unwrap().display(),
            mpicc.display()
        );
        self.has(manager, &script);
    }

    /// Arguments of the package manager's calls, a line each.
    fn called(&self) -> String {
        fs::read_to_string(self.path("called")).unwrap_or_default()
    }

    /// `scripts/setup` there: exit status, and what it said.
    fn setup(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output: Output = Command::new(root().join("scripts/setup"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.directory.path())
            .env("KILTER_SETUP_ROOT", self.directory.path())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }
}

/// `scripts/build` with a cargo that notes the compiler, the target directory and what the linker is told. On a cluster `mpicc` is that of the module
/// that is loaded now.
fn builds_for_libraries_of_modules_keep_to_their_compilers_and_find_their_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let (bin, release) = (directory.path().join("bin"), directory.path().join("target/release"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&release).unwrap();
    let log = directory.path().join("called");
    let note = format!(
        "{{ echo \"$MPICC $CARGO_TARGET_DIR\"; grep -o 'rpath.*' \"$(command -v cc)\"; }} >> '{}'\ntrue",
        log.display()
    );
    for (path, script) in [
        (bin.join("cargo"), note.as_str()),
        // A linker that passes no path of libraries on.
        (bin.join("cc"), ""),
        (bin.join("mpicc.openmpi"), "echo cc -L/usr/lib/openmpi -lmpi"),
        (bin.join("mpicc-first"), "echo cc -L/apps/openmpi/lib -lmpi"),
        (bin.join("mpicc-second"), "echo cc -L/apps/mpich/lib -lmpi"),
        (release.join("kilter-worker"), ""),
    ] {
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let target = directory.path().join("target").display().to_string();
    let [first, second] = ["mpicc-first", "mpicc-second"].map(|name| bin.join(name).display().to_string());
    for (compiler, arguments) in [(&first, &[][..]), (&second, &["--mpi", "mpich-4.2"])] {
        let mut build = Command::new(root().join("scripts/build"));
        let build = build.args(arguments).env_remove("KILTER_CARGO_PROFILE");
        let build = build.env("PATH", &path).env("CARGO_TARGET_DIR", &target);
        run(build.env("MPICC", compiler), &[0]);
    }
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        format!(
            "{first} {target}\nrpath\\,/apps/openmpi/lib\n{first} {target}\n{second} {target}/mpi/mpich-4.2\nrpath\\,/apps/mpich/lib\n"
        )
    );
}

const ROCKY: &str = "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n";
const LEAP: &str = "NAME=\"openSUSE Leap\"\nID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n";

fn setup_installs_with_dnf_and_with_zypper_where_it_may() {
    for (os_release, manager, mpicc, call) in [
        (
            ROCKY,
            "dnf",
            "usr/lib64/openmpi/bin/mpicc",
            "install -y -q gcc clang-devel clang pkgconf-pkg-config openmpi-devel\n",
        ),
        (
            LEAP,
            "zypper",
            "usr/lib64/mpi/gcc/openmpi4/bin/mpicc",
            "--non-interactive --quiet install --no-recommends gcc clang-devel clang pkg-config openmpi4-devel\n",
        ),
    ] {
        let machine = Machine::new(os_release, 0);
        machine.has_manager(manager, mpicc);
        let (status, said) = machine.setup(&[]);
        assert_eq!((status, machine.called().as_str()), (Some(0), call), "{said}");
        let how = format!("MPICC={} scripts/build", machine.path(mpicc).display());
        assert!(said.contains(&how), "{said}");
    }
}

fn setup_says_without_root_what_an_administrator_or_spack_installs() {
    let machine = Machine::new(ROCKY, 1000);
    machine.has_manager("dnf", "usr/lib64/openmpi/bin/mpicc");
    let (status, said) = machine.setup(&[]);
    assert_eq!((status, machine.called().as_str()), (Some(2), ""), "{said}");
    for words in [
        "as root: dnf install gcc clang-devel clang pkgconf-pkg-config openmpi-devel\n",
        "spack install gcc llvm+clang pkgconf openmpi\n",
        "spack load gcc llvm+clang pkgconf openmpi\n",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // Modules bring what counts as well: a compiler, a library's mpicc, and libclang where llvm-config says.
    for program in ["cc", "mpicc", "pkg-config"] {
        machine.has(program, "");
    }
    let llvm = machine.path("llvm");
    fs::create_dir_all(llvm.join("clang/17/include")).unwrap();
    fs::write(llvm.join("libclang.so.17"), "").unwrap();
    fs::write(llvm.join("clang/17/include/stddef.h"), "").unwrap();
    machine.has("llvm-config", &format!("echo '{}'", llvm.display()));
    let (status, said) = machine.setup(&[]);
    assert_eq!((status, said.as_str()), (Some(0), "setup: every package is there\n"));
}

fn setup_says_what_it_cannot_bring_on_other_systems() {
    let unknown = Machine::new("ID=alpine\n", 0);
    let (status, said) = unknown.setup(&[]);
    assert_eq!(status, Some(2));
    assert!(
        said.contains("none of the package managers") && said.contains("spack install gcc"),
        "{said}"
    );
    let rocky = Machine::new(ROCKY, 0);
    for (arguments, words) in [
        (&["--tests"][..], "--tests needs Debian 12"),
        (&["--mpi", "mpich-4.0"], "MPICC=$(command -v mpicc) scripts/build --mpi"),
        (&["--mpi", "mpich-9"], "unknown library 'mpich-9'"),
    ] {
        let (status, said) = rocky.setup(arguments);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(rocky.called(), "");
}

kilter_tests::cases![
    licences_fit_and_no_crate_is_there_twice_without_a_reason,
    help_is_the_comment_at_the_head,
    builds_for_libraries_of_modules_keep_to_their_compilers_and_find_their_libraries,
    setup_installs_with_dnf_and_with_zypper_where_it_may,
    setup_says_without_root_what_an_administrator_or_spack_installs,
    setup_says_what_it_cannot_bring_on_other_systems,
];
