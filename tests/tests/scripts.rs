//! Every script says what it does when it is asked, and does nothing else.

use std::fs;
use std::process::Command;

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

kilter_tests::cases![
    licences_fit_and_no_crate_is_there_twice_without_a_reason,
    help_is_the_comment_at_the_head,
];
