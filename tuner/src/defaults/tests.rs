use std::path::Path;

use super::*;
use crate::cli::Command;

fn file(text: &str) -> File {
    File::parse(Path::new("/etc/kilter/kilter.toml"), text).unwrap()
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// The command line with these files.
fn parsed(texts: &[&str], line: &str) -> Command {
    let files: Vec<File> = texts.iter().map(|text| file(text)).collect();
    let (command, _) = apply(Cli::command(), &files, &words(line)).unwrap();
    let matches = command.try_get_matches_from(words(line)).unwrap();
    Cli::from_arg_matches(&matches).unwrap().command
}

fn budget(texts: &[&str], line: &str) -> f64 {
    match parsed(texts, line) {
        Command::Tune(typed) => typed.measure.budget,
        Command::Check(typed) => typed.measure.budget,
        other => panic!("{other:?}"),
    }
}

fn refusal(text: &str) -> String {
    let refused = match File::parse(Path::new("site.toml"), text) {
        Err(error) => error,
        Ok(file) => apply(Cli::command(), &[file], &words("kilter tune")).unwrap_err(),
    };
    refused.to_string()
}

#[test]
fn what_is_typed_wins_and_then_the_command_and_then_the_later_file() {
    let site = "[options]\nbudget = 100\n[tune]\nbudget = 200\n";
    assert_eq!(budget(&[site], "kilter check"), 100.0);
    assert_eq!(budget(&[site], "kilter tune"), 200.0);
    assert_eq!(budget(&[site], "kilter tune --budget 300"), 300.0);
    assert_eq!(budget(&[site, "[tune]\nbudget = 250\n"], "kilter tune"), 250.0);
    // A user's word for all commands does not reach one for which the site speaks.
    assert_eq!(budget(&[site, "[options]\nbudget = 250\n"], "kilter tune"), 200.0);
    assert_eq!(budget(&[site, "[options]\nbudget = 250\n"], "kilter check"), 250.0);
}

#[test]
fn switches_and_lists_are_as_typed() {
    let text =
        "[options]\nquiet = true\nenv = [\"A=1\", \"B=two words\"]\nsizes = \"8,1KiB\"\n[check]\nquiet = false\n";
    let typed = |line: &str| format!("{:?}", parsed(&[], line));
    let with = |line: &str| format!("{:?}", parsed(&[text], line));
    assert_eq!(
        with("kilter check"),
        typed("kilter check --env A=1 --env B=X --sizes 8,1KiB").replace("B=X", "B=two words")
    );
    assert_eq!(
        with("kilter tune"),
        typed("kilter tune --quiet --env A=1 --env B=X --sizes 8,1KiB").replace("B=X", "B=two words")
    );
}

#[test]
fn commands_of_commands_have_tables_in_tables() {
    let text = "[profile.show]\nformat = \"json\"\n";
    assert_eq!(
        format!("{:?}", parsed(&[text], "kilter profile show x.db")),
        format!("{:?}", parsed(&[], "kilter profile show x.db --format json"))
    );
}

#[test]
fn what_is_typed_takes_the_place_of_what_it_excludes() {
    let text = "[apply]\nsystem = true\n";
    let Command::Apply(apply) = parsed(&[text], "kilter apply out") else {
        panic!("no apply")
    };
    assert!(apply.place.system);
    let Command::Apply(apply) = parsed(&[text], "kilter apply out --prefix /opt/mpi") else {
        panic!("no apply")
    };
    assert!(!apply.place.system);
}

#[test]
fn what_cannot_be_followed_is_named_by_file_and_line() {
    for (text, parts) in [
        (
            "budget = 1\n",
            &["site.toml:1", "`budget` stands in no table", "[options]"][..],
        ),
        (
            "[options]\n\nlancher = \"slurm\"\n",
            &["site.toml:3", "no command has the option `lancher`"],
        ),
        ("[tuen]\nbudget = 1\n", &["site.toml:2", "no command `tuen`", "tune"]),
        (
            "[explain]\nbudget = 1\n",
            &["site.toml:2", "`kilter explain` lacks the option `budget`", "tune"],
        ),
        (
            "[tune]\nbudget = \"soon\"\n",
            &["site.toml:2", "`budget` of `kilter tune`", "soon"],
        ),
        ("[options]\nquiet = 3\n", &["site.toml:2", "`quiet`", "true or false"]),
        ("[tune]\nbudget = 1979-05-27\n", &["site.toml:2", "`budget` is a date"]),
        ("[tune]\n\nbudget = = 1\n", &["site.toml:3"]),
        ("[tune]\nhelp = true\n", &["site.toml:2", "the option `help`"]),
    ] {
        let said = refusal(text);
        for part in parts {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
}

#[test]
fn a_file_that_others_may_write_is_not_followed() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kilter.toml");
    std::fs::write(&path, "[tune]\nbudget = 1\n").unwrap();
    let place = Place {
        path: path.clone(),
        whose: "the user",
        asked_for: false,
    };
    assert_eq!(read(std::slice::from_ref(&place)).unwrap()[0].sets.len(), 1);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let said = read(&[place]).unwrap_err().to_string();
    assert!(said.contains("may be written by others"), "{said}");
    let missing = Place {
        path: directory.path().join("none"),
        whose: "KILTER_CONFIG",
        asked_for: true,
    };
    assert!(read(&[missing]).is_err());
}
