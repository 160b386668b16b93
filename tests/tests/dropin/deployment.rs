//! What is wrong with a profile or a plugin is said once, and the program runs as if the drop-in were not there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kilter_profile::{Profile, VERSION};

use crate::job::{self, Deployed, Mpi, Output, rule};

fn good() -> Deployed {
    Deployed::rules(vec![rule("allreduce", 2, 1..=u64::MAX, "allreduce.as_reduce_bcast")])
}

/// One warning, with these words, and right results.
fn falls_back(output: &Output, words: &[&str]) {
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{output:?}");
    let said = output.lines("kilter:");
    assert_eq!(said.len(), 1, "{}", output.stderr);
    assert!(
        said[0].starts_with("kilter: warning: ") && said[0].ends_with("the library's own collectives are used"),
        "{said:?}"
    );
    for word in words {
        assert!(said[0].contains(word), "`{word}` is missing: {}", said[0]);
    }
}

#[test]
fn a_good_profile_is_followed_without_a_word() {
    let deployed = good();
    let profile = deployed.path.display().to_string();
    let output = job::run(job::verify(), 2, &[("KILTER_PROFILE", &profile)]);
    assert!(output.ok && output.lines("kilter").is_empty(), "{output:?}");
    let counted = deployed.verify(2, &[]).calls();
    assert!(counted["allreduce.as_reduce_bcast"] > 0, "{counted:?}");
}

#[test]
fn without_a_profile_one_warning() {
    falls_back(&job::run(job::verify(), 2, &[]), &["KILTER_PROFILE"]);
    falls_back(
        &job::run(job::verify(), 2, &[("KILTER_PROFILE", "/nonexistent/profile.json")]),
        &["/nonexistent/profile.json"],
    );
    let deployed = good();
    falls_back(
        &deployed.verify(2, &[("KILTER_MODE", "sometimes")]),
        &["KILTER_MODE", "sometimes", "replace, log, off"],
    );
}

#[test]
fn a_broken_profile_one_warning() {
    for (text, words) in [
        ("", &["profile.json", "line 1"][..]),
        ("{\"version\": 1, \"library\": \"\", \"plugins\": []", &["line 1"]),
        (
            "{\"version\": 9, \"library\": \"\", \"plugins\": [], \"rules\": []}",
            &["version 9"],
        ),
        (
            "{\"version\": 1, \"library\": \"\", \"plugins\": [], \"rules\": [{\"collective\": \"reduce\", \"ranks\": 2, \
             \"min_bytes\": 0, \"max_bytes\": 1, \"implementation\": \"reduce.ring\"}]}",
            &["rules[0]", "reduce.ring"],
        ),
        (
            "{\"version\": 1, \"library\": \"\", \"plugins\": [\"missing.so\"], \"rules\": []}",
            &["missing.so", "cannot open"],
        ),
    ] {
        falls_back(&Deployed::text(text).verify(2, &[]), words);
    }
}

#[test]
fn files_that_others_may_write_are_refused() {
    let deployed = good();
    for mode in [0o664, 0o646, 0o666] {
        deployed.set_mode(mode);
        falls_back(
            &deployed.verify(2, &[]),
            &["profile.json", &format!("{mode:o}"), "chmod go-w"],
        );
    }
    deployed.set_mode(0o644);
    let plugin = deployed.directory.path().join("libkilter_collectives.so");
    fs::set_permissions(&plugin, Permissions::from_mode(0o775)).unwrap();
    falls_back(&deployed.verify(2, &[]), &["libkilter_collectives.so", "775"]);
    fs::set_permissions(&plugin, Permissions::from_mode(0o755)).unwrap();
    assert!(!deployed.verify(2, &[]).calls().is_empty());
}

fn with_plugin(file: &str) -> Deployed {
    Deployed::profile(Profile {
        version: VERSION,
        library: job::version().to_owned(),
        plugins: vec![file.to_owned()],
        rules: vec![rule("bcast", 3, 1..=u64::MAX, "bcast.example_chain")],
    })
}

fn build(deployed: &Deployed, file: &Path, options: &[&str]) {
    let include = format!("-I{}", job::source("../plugins/abi/include").display());
    let options: Vec<&str> = ["-std=c11", "-shared", "-fPIC", &include]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    let output = deployed.directory.path().join("plugin.so");
    job::compile(file, &options, &output);
    fs::set_permissions(output, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_plugin_in_c_is_followed() {
    let mut deployed = with_plugin("plugin.so");
    build(&deployed, &job::source("../plugins/example/c/kilter_plugin.c"), &[]);
    let calls = deployed.verify(3, &[]).calls();
    assert!(calls["bcast.example_chain"] > 0, "{calls:?}");

    // Its parameter reaches it, and is checked.
    let mut profile = Profile::read(&fs::read_to_string(&deployed.path).unwrap(), "").unwrap();
    profile.rules[0].parameters.insert("segment_bytes".to_owned(), 7);
    fs::write(&deployed.path, profile.to_json().unwrap()).unwrap();
    let output = deployed.verify(3, &[]);
    assert!(output.ok && output.calls()["bcast.example_chain"] > 0, "{output:?}");
    profile.rules[0].parameters.insert("segment_bytes".to_owned(), 0);
    fs::write(&deployed.path, profile.to_json().unwrap()).unwrap();
    falls_back(&deployed.verify(3, &[]), &["segment_bytes", "1 to 1073741824"]);
    deployed.path = deployed.directory.path().join("none.json");
    falls_back(&deployed.verify(3, &[]), &["none.json"]);
}

#[test]
fn what_is_no_plugin_for_this_program_is_refused_before_it_is_called() {
    let source = job::source("tests/dropin/foreign_plugin.c");
    for (options, words) in [
        (&["-DMAGIC=1"][..], &["magic number"][..]),
        (&["-DABI_VERSION=7"], &["version 7"]),
        (&["-DIDENTITY=((2u<<16)|4u)"], &["MPICH", "Open MPI"]),
        (&["-DSIZE=8"], &["8 bytes"]),
        (&["-DNO_SYMBOL"], &["kilter_plugin"]),
        (&["-DBAD_NEEDS"], &["row 0", "needs"]),
        (&["-DBAD_ID"], &["row 0", "id"]),
    ] {
        let deployed = with_plugin("plugin.so");
        build(&deployed, &source, options);
        let output = deployed.verify(2, &[]);
        falls_back(&output, words);
        let called = output.stderr.contains("the foreign plugin was called");
        assert_eq!(
            called,
            options[0].starts_with("-DBAD"),
            "{options:?}: {}",
            output.stderr
        );
    }
    let deployed = with_plugin("plugin.so");
    fs::write(deployed.directory.path().join("plugin.so"), "no shared object").unwrap();
    falls_back(&deployed.verify(2, &[]), &["plugin.so", "cannot be loaded"]);
}

#[test]
fn a_profile_for_another_library_is_followed_with_a_warning() {
    let deployed = good();
    let mut profile = Profile::read(&fs::read_to_string(&deployed.path).unwrap(), "").unwrap();
    profile.library = "Another MPI 1.0".to_owned();
    fs::write(&deployed.path, profile.to_json().unwrap()).unwrap();
    let output = deployed.verify(2, &[]);
    let said = output.lines("kilter: warning");
    assert!(
        said.len() == 1 && said[0].contains("Another MPI 1.0") && said[0].contains(job::version()),
        "{said:?}"
    );
    assert!(
        output.ok && output.calls()["allreduce.as_reduce_bcast"] > 0,
        "{output:?}"
    );
}

#[test]
fn ranks_with_different_profiles_do_not_wait_for_each_other() {
    // Rank 1 alone gets a profile that cannot be read: the others must not replace anything it is part of.
    let deployed = good();
    let script = deployed.directory.path().join("start.sh");
    let text = format!(
        "#!/bin/sh\n[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] && export KILTER_PROFILE=/nonexistent\nexec {}\n",
        job::verify().display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let profile = deployed.path.display().to_string();
    let output = job::run(&script, 2, &[("KILTER_PROFILE", &profile), ("KILTER_LOG", "1")]);
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{output:?}");
    assert_eq!(output.calls()["allreduce.as_reduce_bcast"], 0);
    let said = output.lines("kilter: warning");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said.iter().any(|line| line.contains("do not follow the same profile")),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|line| line.contains("rank 1: profile: cannot open `/nonexistent`")),
        "{said:?}"
    );
}

#[test]
fn an_error_of_a_plugin_is_raised_on_the_programs_communicator() {
    let deployed = with_plugin("plugin.so");
    build(&deployed, &job::source("tests/dropin/foreign_plugin.c"), &["-DFAILS"]);
    // Open MPI's daemon sometimes loses the message when three ranks report the same error at once (`ORTE_ERROR_LOG: Out of
    // resource in file show_help.c`).
    let outputs: Vec<_> = (0..3).map(|_| deployed.verify(3, &[])).collect();
    assert!(
        outputs.iter().all(|output| !output.ok),
        "the program's errors are fatal: {outputs:?}"
    );
    assert!(
        outputs.iter().any(|output| output.stderr.contains("MPI_ERR_INTERN")),
        "{outputs:?}"
    );
}

#[test]
fn a_plugin_in_rust_is_followed_and_its_panic_ends_the_job_with_a_message() {
    let deployed = with_plugin("plugin.so");
    let plugin = deployed.directory.path().join("plugin.so");
    fs::copy(Mpi::OpenMpi.library("libkilter_example.so"), &plugin).unwrap();
    fs::set_permissions(&plugin, Permissions::from_mode(0o755)).unwrap();
    let output = deployed.verify(3, &[]);
    assert!(output.ok && output.calls()["bcast.example_chain"] > 0, "{output:?}");
    let output = deployed.verify(3, &[("KILTER_EXAMPLE_PANIC", "1")]);
    assert!(!output.ok, "{output:?}");
    assert!(
        output.stderr.contains("KILTER_EXAMPLE_PANIC is set")
            && output.stderr.contains("kilter: error: bcast.example_chain on rank")
            && output
                .stderr
                .contains("it panicked, see the message above; ending the job"),
        "{output:?}"
    );
}
