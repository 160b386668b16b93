//! Files are short: at most 400 lines of code each.
//!
//! Tests do not count: a module of tests at the end of a file, files named `tests.rs`, folders named `tests` or `benches`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::root;

/// Lines of code that a file may have.
const MOST: usize = 400;

/// Folders that hold no code of ours, or tests alone.
const SKIPPED: [&str; 4] = ["benches", "shared", "target", "tests"];

/// Lines of a file above its module of tests.
fn lines_of_code(text: &str) -> usize {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().count()
}

/// Lines of code of every file below a directory, by the path from the root.
fn measured(root: &Path, directory: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                measured(root, &path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let below = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.insert(below, lines_of_code(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Objections to the files that were found, in words.
fn objections(found: &BTreeMap<String, usize>) -> Vec<String> {
    let too_long = found.iter().filter(|(_, lines)| **lines > MOST);
    too_long
        .map(|(file, lines)| {
            format!(
                "{file} has {lines} lines of code, and {MOST} are allowed. Divide it by subject into modules in a folder of its name, with the \
                 tests in `tests.rs` there."
            )
        })
        .collect()
}

#[test]
fn files_are_short() {
    let root = root();
    let mut found = BTreeMap::new();
    measured(&root, &root, &mut found);
    assert!(found.len() > 300, "{} files", found.len());
    let wrong = objections(&found);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_file_that_is_too_long_is_named() {
    let found = [("short", MOST), ("long", MOST + 1)];
    let wrong = objections(&found.map(|(file, lines)| (file.to_owned(), lines)).into());
    let begin: Vec<&str> = wrong.iter().map(|text| text.split('.').next().unwrap()).collect();
    assert_eq!(begin, ["long has 401 lines of code, and 400 are allowed"]);
}

#[test]
fn tests_at_the_end_do_not_count() {
    assert_eq!(
        lines_of_code("one\ntwo\n\n#[cfg(test)]\nmod tests {\n    three\n}\n"),
        3
    );
    assert_eq!(lines_of_code("one\n\n#[cfg(test)]\nmod tests;\n"), 4);
}
