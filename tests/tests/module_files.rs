//! Module files as `kilter tune` writes them, read by Tcl and by Lua: whatever a variable's value is, it arrives.

use std::collections::BTreeMap;
use std::process::Command;

use kilter_emit::forms::{Exported, FORMS, PRELOAD};
use kilter_fixtures::environment::NASTY;
use kilter_tests::{in_path, left_out, run};
use proptest::test_runner::{Config, TestRunner};

/// Name and value of each variable that a job ends up with.
type Environment = BTreeMap<String, String>;

const BEFORE: &str = "/site/lib.so";

/// The module file with these variables.
fn module_file(file: &str, variables: &[(String, String)]) -> String {
    let title = ["Settings of `Open MPI` [4.1.4] $(id) \"x\"\nexit 3".to_owned()];
    let form = FORMS.iter().find(|form| form.file == file).unwrap();
    (form.text)(&Exported::new(&title, variables).unwrap())
}

/// The expected environment if `LD_PRELOAD` was set before: the file's libraries, then those.
fn expected(variables: &[(String, String)]) -> Environment {
    let mut expected: Environment = variables.iter().cloned().collect();
    if let Some(preload) = expected.get_mut(PRELOAD) {
        *preload = format!("{preload}:{BEFORE}");
    }
    expected
}

/// Runs `program` on `script` and parses the variables that it prints: `NAME=value`, each ended by a byte that no value contains.
fn read_by(program: &[&str], script: &str) -> Environment {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    let output = run(Command::new(program[0]).args(&program[1..]).arg(file.path()), &[0]);
    String::from_utf8(output.stdout)
        .unwrap()
        .split_terminator('\u{1}')
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// With the commands of a module file as Environment Modules defines them, as far as they are used.
fn by_tcl(variables: &[(String, String)]) -> Environment {
    let script = format!(
        "fconfigure stdin -encoding utf-8\nfconfigure stdout -encoding utf-8\n\
         proc module-whatis {{text}} {{}}\nproc conflict {{name}} {{}}\n\
         proc setenv {{name value}} {{ puts -nonewline \"$name=$value\\x01\" }}\n\
         proc prepend-path {{name value}} {{ puts -nonewline \"$name=$value:{BEFORE}\\x01\" }}\n"
    );
    let script = script + &module_file("modulefile.tcl", variables);
    read_by(&["tclsh", "-encoding", "utf-8"], &script)
}

/// With the commands of a module file as Lmod defines them, as far as they are used.
fn by_lua(variables: &[(String, String)]) -> Environment {
    let script = format!(
        "function whatis(text) end\nfunction conflict(name) end\n\
         function setenv(name, value) io.write(name, '=', value, '\\1') end\n\
         function prepend_path(name, value) io.write(name, '=', value, ':{BEFORE}\\1') end\n"
    );
    let script = script + &module_file("modulefile.lua", variables);
    read_by(&["lua5.4"], &script)
}

/// Nasty values, and any other ones of one line.
fn all_values_arrive(program: &str, by: fn(&[(String, String)]) -> Environment) {
    if !in_path(program) {
        left_out(format!("no `{program}` in PATH; `scripts/setup --tests` installs it"));
        return;
    }
    let nasty: Vec<_> = NASTY
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    assert_eq!(by(&nasty), expected(&nasty));
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(24)
    });
    let found = runner.run(&"[^\\p{Cc}]{0,30}", |value| {
        let variables = [("VALUE".to_owned(), value)];
        assert_eq!(by(&variables), expected(&variables));
        Ok(())
    });
    found.unwrap();
}

fn tcl_reads_what_was_meant() {
    all_values_arrive("tclsh", by_tcl);
}

fn lua_reads_what_was_meant() {
    all_values_arrive("lua5.4", by_lua);
}

kilter_tests::cases![tcl_reads_what_was_meant, lua_reads_what_was_meant];
