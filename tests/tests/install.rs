//! `scripts/install`: what is installed works from its prefix and for another user, and goes without a trace.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kilter_tests::script;

/// Nobody in particular, who owns nothing of this.
const OTHER: u32 = 65534;

fn install(prefix: &Path, arguments: &[&str]) -> Output {
    let output = script("install")
        .arg("--prefix")
        .arg(prefix)
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    output
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn what_is_installed_works_for_another_user_and_goes_whole() {
    let all = tempfile::tempdir().unwrap();
    fs::set_permissions(all.path(), Permissions::from_mode(0o755)).unwrap();
    let prefix = all.path().join("a prefix");
    let (foreign, outside) = (prefix.join("bin/other"), all.path().join("outside"));
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(&foreign, "of somebody else").unwrap();
    fs::write(&outside, "of somebody else").unwrap();

    install(&prefix, &[]);
    for file in [
        "bin/kilter",
        "share/man/man1/kilter-tune.1",
        "share/bash-completion/completions/kilter",
        "share/kilter/configs/guidelines/GL01.toml",
        "include/kilter_plugin.h",
        "include/kilter_progress.h",
        "include/kilter_trace.c",
        "include/kilter_trace.h",
        "share/doc/kilter/THIRD-PARTY.txt",
        "libexec/kilter/openmpi-4.1/libkilter.so",
        "libexec/kilter/openmpi-4.1/libkilter_progress.so",
        "libexec/kilter/openmpi-4.1/libkilter_tracer.so",
    ] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    works_for_another_user(&prefix, all.path());

    // A list that has more than this installation, as an older one's, and lines that lead out of it.
    let list = prefix.join("share/kilter/installed-files");
    let stale = prefix.join("share/kilter/old/stale");
    fs::create_dir_all(stale.parent().unwrap()).unwrap();
    fs::write(&stale, "of an older one").unwrap();
    let lines = fs::read_to_string(&list).unwrap();
    fs::write(
        &list,
        format!("{lines}share/kilter/old/stale\n../outside\n{}\n", outside.display()),
    )
    .unwrap();
    install(&prefix, &[]);
    assert!(!stale.exists() && outside.exists());
    assert_eq!(fs::read_to_string(&list).unwrap(), lines);

    install(&prefix, &["--uninstall"]);
    assert_eq!(files(all.path()).len(), 2, "{:?}", files(all.path()));
    assert!(foreign.exists() && outside.exists());
    let again = script("install")
        .arg("--prefix")
        .arg(&prefix)
        .arg("--uninstall")
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
}

fn works_for_another_user(prefix: &Path, all: &Path) {
    if !nix::unistd::geteuid().is_root() {
        kilter_tests::left_out("only root can be another user");
        return;
    }
    let home = all.join("home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(OTHER), Some(OTHER)).unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120", "setpriv", "--clear-groups"])
        .args([format!("--reuid={OTHER}"), format!("--regid={OTHER}")])
        .arg(prefix.join("bin/kilter"))
        .args(["doctor", "-n", "2"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", &home)
        .env("TMPDIR", &home)
        .current_dir(&home)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("kilter-worker is built for it") && text.contains("a message takes"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::remove_dir_all(&home).unwrap();
}

kilter_tests::cases![what_is_installed_works_for_another_user_and_goes_whole,];
