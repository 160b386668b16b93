//! Each form's real reader reads nasty values; Tcl and Lua, which not every machine has, read them in the end-to-end tests.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use kilter_fixtures::environment::NASTY;
use proptest::prelude::*;

use super::*;

/// Name and value of each variable that a job ends up with.
type Environment = BTreeMap<String, String>;

const BEFORE: &str = "/site/lib.so";

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn nasty() -> Vec<(String, String)> {
    pairs(&NASTY)
}

fn exported(variables: &[(String, String)]) -> Exported {
    let title = ["Settings of `Open MPI` [4.1.4] $(id) \"x\"\nexit 3".to_owned()];
    Exported::new(&title, variables).unwrap()
}

/// The environment that must arrive if `LD_PRELOAD` was set before.
fn expected(variables: &[(String, String)]) -> Environment {
    let mut expected: Environment = variables.iter().cloned().collect();
    if let Some(preload) = expected.get_mut(PRELOAD) {
        *preload = format!("{preload}:{BEFORE}");
    }
    expected
}

/// Runs a reader with the script on its standard input; its output.
fn reader(program: &[&str], script: &str) -> String {
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{program:?} ended with {}\n{script}",
        output.status
    );
    String::from_utf8(output.stdout).unwrap()
}

/// `NAME=value` and an end that no value has.
const END: char = '\u{1}';

fn parse(output: &str) -> Environment {
    output
        .split_terminator(END)
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn by_shell(variables: &[(String, String)], asked: bool) -> Environment {
    let mut script = format!("set -u\nLD_PRELOAD={BEFORE}\n");
    if asked {
        script.push_str("KILTER_PRELOAD=1\n");
    }
    script.push_str(&(shell::FORM.text)(&exported(variables)));
    for (name, _) in variables {
        script.push_str(&format!("printf '%s=%s\\001' {name} \"${name}\"\n"));
    }
    parse(&reader(&["sh"], &script))
}

/// Reads the output of a task prolog like slurmstepd: in lines that begin with `export `, white space before the name and before the first `=`
/// is dropped, the value is the rest of the line.
fn by_slurm(variables: &[(String, String)]) -> Environment {
    let script = format!("LD_PRELOAD={BEFORE}\n{}", (slurm::FORM.text)(&exported(variables)));
    reader(&["sh"], &script)
        .lines()
        .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn a_shell_reads_what_was_meant_and_preloads_only_when_asked() {
    let mut unasked = expected(&nasty());
    unasked.insert(PRELOAD.to_owned(), BEFORE.to_owned());
    assert_eq!(by_shell(&nasty(), false), unasked);
    assert_eq!(by_shell(&nasty(), true), expected(&nasty()));
}

#[test]
fn slurm_reads_what_was_meant() {
    assert_eq!(by_slurm(&nasty()), expected(&nasty()));
}

const DAEMONS: &[Daemon] = &[Daemon {
    variable: "AGENT",
    command: "orted",
    handed_on: &["OMPI_"],
}];

/// A daemon's command as each form's reader reads it.
fn daemon(variables: &[(&str, &str)]) -> Vec<Option<String>> {
    let exported = exported(&pairs(variables)).with_daemons(DAEMONS);
    let shell = (shell::FORM.text)(&exported);
    let by_shell = |before: &str| {
        let said = reader(&["sh"], &format!("set -u\n{before}\n{shell}printf %s \"${{AGENT-}}\""));
        (!said.is_empty()).then_some(said)
    };
    // The words of the two others are read by their readers elsewhere.
    let line = |text: &str, begin: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(begin));
        line.map(|line| line.trim_matches(['"', ')', ' ', ',']).to_owned())
    };
    vec![
        by_shell(""),
        by_shell("KILTER_PRELOAD=1"),
        by_shell("KILTER_PRELOAD=1 AGENT='wrapped orted'"),
        line(&(tcl::FORM.text)(&exported), "setenv AGENT"),
        line(&(lua::FORM.text)(&exported), "setenv(\"AGENT\""),
    ]
}

#[test]
fn daemons_of_other_hosts_start_with_what_the_launcher_does_not_hand_on() {
    let variables = [
        ("OMPI_MCA_x", "1"),
        ("KILTER_PROFILE", "/k/p.json"),
        (PRELOAD, "/k/a.so:/k/b.so"),
    ];
    let all = "env KILTER_PROFILE=/k/p.json LD_PRELOAD=/k/a.so:/k/b.so";
    assert_eq!(
        daemon(&variables)
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect::<Vec<_>>(),
        [
            "env KILTER_PROFILE=/k/p.json orted".to_owned(),
            format!("{all} env KILTER_PROFILE=/k/p.json orted"),
            format!("{all} env KILTER_PROFILE=/k/p.json wrapped orted"),
            format!("{all} orted"),
            format!("{all} orted"),
        ]
    );
    // As it was before.
    let none = [None, None, Some("wrapped orted".to_owned()), None, None];
    // A variable that the launcher hands on by itself needs nothing; a blank or a shell's sign would be taken apart on the way.
    for value in ["a b", "$HOME", "a;b", "'", "~", "*"] {
        assert_eq!(daemon(&[("A", value)]), none, "{value}");
    }
    assert_eq!(daemon(&[("OMPI_MCA_x", "1")]), none);
}

#[test]
fn nothing_is_put_before_what_is_not_there() {
    for (form, script) in [(&shell::FORM, "KILTER_PRELOAD=1\n"), (&slurm::FORM, "")] {
        let text = (form.text)(&exported(&pairs(&[(PRELOAD, "/a.so:/b.so")])));
        let printed = reader(
            &["sh"],
            &format!("unset LD_PRELOAD\n{script}{text}printf %s \"${{LD_PRELOAD-}}\""),
        );
        assert_eq!(
            printed.trim_end().trim_start_matches("export LD_PRELOAD="),
            "/a.so:/b.so"
        );
    }
}

#[test]
fn what_no_form_can_carry_is_refused_with_the_reason() {
    for (name, value, part) in [
        ("A B", "1", "letters"),
        ("", "1", "letters"),
        ("A", "1\n2", "one line"),
        ("LD_PRELOAD", "/a b/lib.so", "blank"),
    ] {
        let error = Exported::new(&[], &pairs(&[(name, value)])).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn every_file_has_a_row() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/forms");
    let files = std::fs::read_dir(directory).unwrap().count();
    assert_eq!(FORMS.len(), files - 2, "a file has no row, or a row no file");
    assert!(FORMS.iter().all(|form| form.applied.contains("{library}")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_value_of_one_line_arrives(value in "[^\\p{Cc}]{0,30}") {
        let variables = pairs(&[("VALUE", value.as_str())]);
        prop_assert_eq!(by_shell(&variables, false), expected(&variables));
        prop_assert_eq!(by_slurm(&variables), expected(&variables));
    }
}
