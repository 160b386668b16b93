//! A faulty profile or plugin: the drop-in warns once, and the program runs as if the drop-in were not there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kilter_profile::{Profile, VERSION};

use crate::dropin::job::{self, Deployed, Mpi, Output, rule};

fn good(mpi: Mpi) -> Deployed {
    let rules = vec![rule("allreduce", 2, 1..=u64::MAX, "allreduce.as_reduce_bcast")];
    Deployed::for_library(mpi, rules)
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

fn a_good_profile_is_followed_without_a_word() {
    for mpi in Mpi::installed() {
        let deployed = good(mpi);
        let profile = deployed.path.display().to_string();
        let output = mpi.run(&[&mpi.brief()], 2, &[("KILTER_PROFILE", &profile)]);
        assert!(output.ok && output.lines("kilter").is_empty(), "{mpi:?}: {output:?}");
        let counted = deployed.brief(mpi, 2, &[]).calls();
        assert!(counted["allreduce.as_reduce_bcast"] > 0, "{mpi:?}: {counted:?}");
    }
}

fn without_a_profile_one_warning() {
    for mpi in Mpi::installed() {
        falls_back(&mpi.run(&[&mpi.brief()], 2, &[]), &["KILTER_PROFILE"]);
        let deployed = good(mpi);
        let directory = deployed.directory.path().display().to_string();
        for (path, words) in [
            ("/nonexistent/profile.json", "cannot open `/nonexistent/profile.json`"),
            (directory.as_str(), "is no regular file"),
        ] {
            falls_back(&deployed.brief(mpi, 2, &[("KILTER_PROFILE", path)]), &[path, words]);
        }
        falls_back(
            &deployed.brief(mpi, 2, &[("KILTER_MODE", "sometimes")]),
            &["KILTER_MODE", "sometimes", "replace, log, off"],
        );
    }
}

fn a_broken_profile_one_warning() {
    for mpi in Mpi::installed() {
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
            falls_back(&Deployed::text(text).brief(mpi, 2, &[]), words);
        }
    }
}

fn files_that_others_may_write_are_refused() {
    for mpi in Mpi::installed() {
        let deployed = good(mpi);
        for mode in [0o664, 0o646, 0o666] {
            deployed.set_mode(mode);
            falls_back(
                &deployed.brief(mpi, 2, &[]),
                &["profile.json", &format!("{mode:o}"), "chmod go-w"],
            );
        }
        deployed.set_mode(0o644);
        let plugin = deployed.directory.path().join("libkilter_collectives.so");
        fs::set_permissions(&plugin, Permissions::from_mode(0o775)).unwrap();
        falls_back(&deployed.brief(mpi, 2, &[]), &["libkilter_collectives.so", "775"]);
        fs::set_permissions(&plugin, Permissions::from_mode(0o755)).unwrap();
        // Nor may they put another file into its place.
        let directory = deployed.directory.path();
        fs::set_permissions(directory, Permissions::from_mode(0o757)).unwrap();
        falls_back(
            &deployed.brief(mpi, 2, &[]),
            &[&directory.display().to_string(), "757", "chmod go-w"],
        );
        fs::set_permissions(directory, Permissions::from_mode(0o700)).unwrap();
        assert!(!deployed.brief(mpi, 2, &[]).calls().is_empty());
    }
}

/// The example's broadcast on so many ranks, by a plugin that is still to be put there as `plugin.so`.
fn with_plugin(mpi: Mpi, ranks: usize) -> Deployed {
    Deployed::profile(&Profile {
        version: VERSION,
        library: mpi.version(),
        plugins: vec!["plugin.so".to_owned()],
        order: None,
        rules: vec![rule("bcast", ranks, 1..=u64::MAX, "bcast.example_chain")],
        online: Vec::new(),
    })
}

fn build(mpi: Mpi, deployed: &Deployed, file: &Path, options: &[&str]) {
    let include = format!("-I{}", job::source("../plugins/abi/include").display());
    let options: Vec<&str> = ["-std=c11", "-shared", "-fPIC", &include]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    let output = deployed.directory.path().join("plugin.so");
    mpi.compile(file, &options, &output);
    fs::set_permissions(output, Permissions::from_mode(0o755)).unwrap();
}

fn a_plugin_in_c_is_followed() {
    for mpi in Mpi::installed() {
        // Ranks of MPICH spin while they wait.
        let ranks = if mpi.is_open_mpi() { 3 } else { 2 };
        let mut deployed = with_plugin(mpi, ranks);
        let source = job::source("../plugins/example/c/kilter_plugin.c");
        build(mpi, &deployed, &source, &[]);
        let calls = deployed.brief(mpi, ranks, &[]).calls();
        assert!(calls["bcast.example_chain"] > 0, "{mpi:?}: {calls:?}");

        // Its parameter reaches it, and is checked.
        let mut profile = Profile::read(&fs::read_to_string(&deployed.path).unwrap(), "").unwrap();
        profile.rules[0].parameters.insert("segment_bytes".to_owned(), 7);
        fs::write(&deployed.path, profile.to_json().unwrap()).unwrap();
        let output = deployed.brief(mpi, ranks, &[]);
        assert!(output.ok && output.calls()["bcast.example_chain"] > 0, "{output:?}");
        profile.rules[0].parameters.insert("segment_bytes".to_owned(), 0);
        fs::write(&deployed.path, profile.to_json().unwrap()).unwrap();
        falls_back(&deployed.brief(mpi, ranks, &[]), &["segment_bytes", "1 to 1073741824"]);
        deployed.path = deployed.directory.path().join("none.json");
        falls_back(&deployed.brief(mpi, ranks, &[]), &["none.json"]);
    }
}

fn what_is_no_plugin_for_this_program_is_refused_before_it_is_called() {
    let source = job::source("tests/dropin/foreign_plugin.c");
    for mpi in Mpi::installed() {
        let identity = if mpi.is_open_mpi() {
            "-DIDENTITY=((2u<<16)|4u)"
        } else {
            "-DIDENTITY=((1u<<16)|8u)"
        };
        for (options, words) in [
            (&["-DMAGIC=1"][..], &["magic number"][..]),
            (&["-DABI_VERSION=7"], &["version 7"]),
            (&[identity], &["MPICH", "Open MPI"]),
            (&["-DSIZE=8"], &["8 bytes"]),
            (&["-DNO_SYMBOL"], &["kilter_plugin"]),
            (&["-DBAD_NEEDS"], &["row 0", "needs"]),
            (&["-DBAD_ID"], &["row 0", "id"]),
        ] {
            let deployed = with_plugin(mpi, 2);
            build(mpi, &deployed, &source, options);
            let output = deployed.brief(mpi, 2, &[]);
            falls_back(&output, words);
            let called = output.stderr.contains("the foreign plugin was called");
            assert_eq!(
                called,
                options[0].starts_with("-DBAD"),
                "{mpi:?} {options:?}: {}",
                output.stderr
            );
        }
        let deployed = with_plugin(mpi, 2);
        fs::write(deployed.directory.path().join("plugin.so"), "no shared object").unwrap();
        falls_back(&deployed.brief(mpi, 2, &[]), &["plugin.so", "cannot be loaded"]);
    }
}

fn a_profile_for_another_library_is_followed_only_where_that_is_asked_for() {
    for mpi in Mpi::installed() {
        let deployed = good(mpi);
        let mut profile = Profile::read(&fs::read_to_string(&deployed.path).unwrap(), "").unwrap();
        profile.library = "Another MPI 1.0".to_owned();
        fs::write(&deployed.path, profile.to_json().unwrap()).unwrap();
        falls_back(
            &deployed.brief(mpi, 2, &[]),
            &["Another MPI 1.0", &mpi.version(), "KILTER_ANY_LIBRARY=1"],
        );
        let output = deployed.brief(mpi, 2, &[("KILTER_ANY_LIBRARY", "1")]);
        let said = output.lines("kilter: warning");
        assert!(
            said.len() == 1 && said[0].contains("Another MPI 1.0") && said[0].contains(&mpi.version()),
            "{mpi:?}: {said:?}"
        );
        assert!(
            output.ok && output.calls()["allreduce.as_reduce_bcast"] > 0,
            "{output:?}"
        );
    }
}

/// Runs on two ranks of which the second has another environment.
fn with_another_second_rank(mpi: Mpi, deployed: &Deployed, variable: (&str, &str)) -> Output {
    let script = deployed.directory.path().join("start.sh");
    let (name, value) = variable;
    let text = format!(
        "#!/bin/sh\n[ \"${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}\" = 1 ] && export {name}={value}\nexec {}\n",
        mpi.brief().display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    deployed.run(mpi, &[&script], 2, &[])
}

/// A text that every build of the plugin has.
const BUILD_TEXT: &str = "failed with MPI error code";

/// One rank alone follows nothing, or something else: the others must not replace anything that it is part of, nor wait for it.
fn ranks_in_different_states_do_not_wait_for_each_other() {
    for mpi in Mpi::installed() {
        let deployed = good(mpi);
        // The same profile with a plugin of other code.
        let other = good(mpi);
        let plugin = other.directory.path().join("libkilter_collectives.so");
        let mut code = fs::read(&plugin).unwrap();
        let place = code
            .windows(BUILD_TEXT.len())
            .position(|window| window == BUILD_TEXT.as_bytes());
        code[place.expect("the text is in the plugin")] ^= 0x20;
        fs::write(&plugin, code).unwrap();
        let other = other.path.display().to_string();
        for (variable, reason) in [
            (
                ("KILTER_PROFILE", "/nonexistent"),
                Some("rank 1: profile: cannot open `/nonexistent`"),
            ),
            (("KILTER_PROFILE", ""), Some("rank 1: libkilter.so is loaded")),
            (("KILTER_MODE", "off"), Some("rank 1: KILTER_MODE is `off`")),
            (("KILTER_MODE", "some"), Some("rank 1: KILTER_MODE is `some`; allowed")),
            (("KILTER_MODE", "log"), None),
            (("KILTER_PROFILE", &other), None),
        ] {
            let output = with_another_second_rank(mpi, &deployed, variable);
            let case = format!("{mpi:?}, {variable:?}");
            assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
            assert_eq!(output.calls()["allreduce.as_reduce_bcast"], 0, "{case}");
            let said = output.lines("kilter: warning");
            assert_eq!(said.len(), 1 + usize::from(reason.is_some()), "{case}: {said:?}");
            let has = |text: &str| said.iter().any(|line| line.contains(text));
            assert!(has("do not follow the same profile"), "{case}: {said:?}");
            assert!(reason.is_none_or(has), "{case}: {said:?}");
        }
    }
}

fn an_error_of_a_plugin_is_raised_on_the_programs_communicator() {
    let mpi = Mpi::OpenMpi;
    let deployed = with_plugin(mpi, 3);
    build(
        mpi,
        &deployed,
        &job::source("tests/dropin/foreign_plugin.c"),
        &["-DFAILS"],
    );
    // Open MPI's daemon sometimes loses the message when three ranks report the same error at once (`ORTE_ERROR_LOG: Out of
    // resource in file show_help.c`).
    let outputs: Vec<_> = (0..3).map(|_| deployed.brief(mpi, 3, &[])).collect();
    assert!(
        outputs.iter().all(|output| !output.ok),
        "the program's errors are fatal: {outputs:?}"
    );
    assert!(
        outputs.iter().any(|output| output.stderr.contains("MPI_ERR_INTERN")),
        "{outputs:?}"
    );
}

fn a_plugin_in_rust_is_followed_and_its_panic_ends_the_job_with_a_message() {
    for mpi in Mpi::installed() {
        let deployed = with_plugin(mpi, 2);
        deployed.add(&mpi.library("libkilter_example.so"), "plugin.so");
        let output = deployed.brief(mpi, 2, &[]);
        assert!(
            output.ok && output.calls()["bcast.example_chain"] > 0,
            "{mpi:?}: {output:?}"
        );
        let output = deployed.brief(mpi, 2, &[("KILTER_EXAMPLE_PANIC", "1")]);
        assert!(!output.ok, "{mpi:?}: {output:?}");
        assert!(
            output.stderr.contains("KILTER_EXAMPLE_PANIC is set")
                && output.stderr.contains("kilter: error: bcast.example_chain on rank")
                && output
                    .stderr
                    .contains("it panicked, see the message above; ending the job"),
            "{mpi:?}: {output:?}"
        );
    }
}

kilter_tests::cases![
    a_good_profile_is_followed_without_a_word,
    without_a_profile_one_warning,
    a_broken_profile_one_warning,
    files_that_others_may_write_are_refused,
    a_plugin_in_c_is_followed,
    what_is_no_plugin_for_this_program_is_refused_before_it_is_called,
    a_profile_for_another_library_is_followed_only_where_that_is_asked_for,
    ranks_in_different_states_do_not_wait_for_each_other,
    an_error_of_a_plugin_is_raised_on_the_programs_communicator,
    a_plugin_in_rust_is_followed_and_its_panic_ends_the_job_with_a_message,
];
