//! The descriptions of Open MPI against what an installed one says of itself through `ompi_info`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::*;

/// What `ompi_info --parsable` says of a parameter.
#[derive(Debug, Default)]
struct Reported {
    value: String,
    source: String,
    kind: String,
    /// Number and name of each legal value; empty where any will do.
    legal: BTreeSet<(String, String)>,
}

/// Lines `mca:FRAMEWORK:COMPONENT:param:NAME:KEY:REST`; a legal value has the rest `value:NUMBER:NAME`.
fn parse(text: &str) -> BTreeMap<String, Reported> {
    let mut parameters: BTreeMap<String, Reported> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(7, ':').collect();
        let ["mca", _, _, "param", name, key, rest] = fields[..] else {
            continue;
        };
        let reported = parameters.entry(name.to_owned()).or_default();
        match key {
            "value" => reported.value = rest.to_owned(),
            "source" => reported.source = rest.to_owned(),
            "type" => reported.kind = rest.to_owned(),
            "enumerator" => {
                if let Some((number, name)) = rest.strip_prefix("value:").and_then(|rest| rest.split_once(':')) {
                    reported.legal.insert((number.to_owned(), name.to_owned()));
                }
            }
            _ => {}
        }
    }
    parameters
}

/// The parameters of the Open MPI of a release, by its `ompi_info`, with no setting of this user's; `None` where there is none.
fn installed(program: &Path, release: &str) -> Option<BTreeMap<String, Reported>> {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", home.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OMPI_MCA_")) {
            command.env_remove(name);
        }
        let output = command.output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    run(&["--version"]).filter(|version| version.contains(&format!("Open MPI v{release}.")))?;
    run(&["--all", "--level", "9", "--parsable"]).map(|text| parse(&text))
}

/// What is described otherwise than it is reported, one line each.
fn differences(library: &Library, live: &BTreeMap<String, Reported>) -> Vec<String> {
    let mut found = Vec::new();
    let check_default = |found: &mut Vec<String>, name: &str, default: &str| match live.get(name) {
        None => found.push(format!("{name} is unknown to the library")),
        // A site's file may have changed it; what the default was is not reported then.
        Some(reported) if reported.source == "default" && !library.same_value(name, default, &reported.value) => {
            found.push(format!(
                "{name}: default {default} is described, {} is reported",
                reported.value
            ));
        }
        Some(_) => {}
    };
    for algorithms in &library.algorithms {
        let parameter = &algorithms.parameter;
        check_default(&mut found, parameter, "ignore");
        let choices = algorithms
            .choices
            .iter()
            .map(|choice| (choice.value.to_string(), choice.name.clone()));
        let described: BTreeSet<_> = choices.chain([("0".to_owned(), "ignore".to_owned())]).collect();
        let legal = live
            .get(parameter)
            .map(|reported| reported.legal.clone())
            .unwrap_or_default();
        for (number, name) in described.symmetric_difference(&legal) {
            found.push(format!(
                "{parameter}: value {number} {name} is only described or only reported"
            ));
        }
        for (knob, row) in &algorithms.knobs {
            check_default(&mut found, &format!("{parameter}_{knob}"), &row.default.to_string());
        }
        let knobs = live
            .keys()
            .filter_map(|name| name.strip_prefix(parameter.as_str())?.strip_prefix('_'));
        for knob in knobs.filter(|knob| *knob != "count" && !algorithms.knobs.contains_key(*knob)) {
            found.push(format!("{parameter}_{knob} is not described"));
        }
    }
    for row in library.parameters.iter().filter(|row| !row.environment) {
        check_default(&mut found, &row.name, &row.default);
        let Some(reported) = live.get(&row.name) else { continue };
        let names: BTreeSet<_> = row
            .names
            .iter()
            .map(|(name, number)| (number.clone(), name.clone()))
            .collect();
        if !row.names.is_empty() && names != reported.legal {
            found.push(format!("{}: the names {:?} are reported", row.name, reported.legal));
        }
        for value in row.r#try.iter().map(Value::to_string) {
            let legal = |(number, name): &(String, String)| *number == value || *name == value;
            let is_text = reported.kind == "string";
            if !(is_text
                || reported.legal.iter().any(legal)
                || reported.legal.is_empty() && value.parse::<u64>().is_ok())
            {
                found.push(format!(
                    "{}: `{value}` is tried, which is no legal {}",
                    row.name, reported.kind
                ));
            }
        }
    }
    let launcher = &library.launcher;
    // From 5.0 on the launcher is a program with parameters of its own.
    let is_own = launcher.agent.iter().any(|word| word == "--mca");
    let agent = launcher.agent.iter().filter(|word| is_own && word.starts_with("plm_"));
    let counting = library.messages.iter();
    let counting = counting.flat_map(|row| row.parameters.keys().chain(row.among.keys()));
    let others = library.switching.parameters.keys().chain(agent).chain(counting);
    found.extend(
        others
            .filter(|name| !live.contains_key(*name))
            .map(|name| format!("{name} is unknown to the library")),
    );
    found
}

#[test]
fn the_description_is_what_the_library_says_of_itself() {
    // Of the system, and as `scripts/setup --mpi` installs it.
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mpi/openmpi-5.0/install/bin/ompi_info");
    for (release, program) in [("4.1", Path::new("ompi_info")), ("5.0", &own)] {
        let Some(live) = installed(program, release) else {
            println!("no Open MPI {release}: nothing to compare with");
            continue;
        };
        assert!(live.len() > 500, "only {} parameters were read", live.len());
        let library = find_for(&format!("mpirun (Open MPI) {release}.4")).unwrap();
        let found = differences(&library, &live);
        assert!(found.is_empty(), "{}.toml:\n{}", library.id, found.join("\n"));
    }
}

/// The comparison sees each kind of difference, with or without a library at hand.
#[test]
fn differences_are_found() {
    let library = find_for("mpirun (Open MPI) 4.1.4").unwrap();
    let scan = library.algorithms_of(Collective::Scan).unwrap().clone();
    let eager = library
        .parameters
        .iter()
        .find(|row| row.name == "btl_vader_eager_limit")
        .unwrap()
        .clone();
    let small = Library {
        algorithms: vec![scan],
        parameters: vec![eager],
        ..library
    };
    let text = "mca:coll:tuned:param:coll_tuned_scan_algorithm:value:ignore\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:source:default\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:enumerator:value:0:ignore\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:enumerator:value:1:linear\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:enumerator:value:2:recursive_doubling\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm_count:value:3\n\
                mca:coll:tuned:param:coll_tuned_use_dynamic_rules:help:a: b\n\
                mca:plm:rsh:param:plm_rsh_agent:type:string\n\
                mca:pml:base:param:pml:type:string\n\
                mca:pml:monitoring:param:pml_monitoring_enable:type:int\n\
                mca:btl:vader:param:btl_vader_eager_limit:value:4096\n\
                mca:btl:vader:param:btl_vader_eager_limit:source:default\n\
                mca:btl:vader:param:btl_vader_eager_limit:type:size_t\n";
    assert_eq!(differences(&small, &parse(text)), Vec::<String>::new());
    for (from, to, part) in [
        (
            "2:recursive_doubling",
            "2:doubling",
            "value 2 doubling is only described or only reported",
        ),
        (
            "algorithm_count:",
            "algorithm_segmentsize:",
            "coll_tuned_scan_algorithm_segmentsize is not described",
        ),
        (
            "value:4096",
            "value:8192",
            "btl_vader_eager_limit: default 4096 is described, 8192 is reported",
        ),
        (
            "btl_vader_eager_limit:",
            "btl_sm_eager_limit:",
            "btl_vader_eager_limit is unknown",
        ),
        (
            "coll_tuned_use_dynamic_rules:",
            "coll_tuned_rules:",
            "coll_tuned_use_dynamic_rules is unknown",
        ),
        ("plm_rsh_agent:", "plm_agent:", "plm_rsh_agent is unknown"),
        (
            "pml_monitoring_enable:",
            "pml_monitoring:",
            "pml_monitoring_enable is unknown",
        ),
    ] {
        let found = differences(&small, &parse(&text.replace(from, to)));
        assert!(found.iter().any(|line| line.contains(part)), "{part}: {found:?}");
    }
    // Changed by a site's file: its value is no default.
    let changed = text
        .replace("limit:value:4096", "limit:value:9")
        .replace("limit:source:default", "limit:source:file");
    assert_eq!(differences(&small, &parse(&changed)), Vec::<String>::new());
}
