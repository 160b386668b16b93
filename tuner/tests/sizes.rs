//! Files are short: at most 400 lines of code each, and the few that are longer only become shorter.
//!
//! Tests do not count: a module of tests at the end of a file, files named `tests.rs`, folders named `tests` or `benches`.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Lines of code that a file may have.
const MOST: usize = 400;

/// Files that have more, and the lines that each may have. A file that was divided leaves the table; none joins it.
const LONGER: &[(&str, usize)] = &[
    ("plugins/verify/src/matrix.rs", 426),
    ("tuner/fixtures/src/report.rs", 448),
    ("tuner/worker/src/candidate.rs", 431),
];

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
fn objections(found: &BTreeMap<String, usize>, longer: &[(&str, usize)]) -> Vec<String> {
    let known: BTreeMap<&str, usize> = longer.iter().copied().collect();
    let too_long = found.iter().filter_map(|(file, lines)| {
        let most = known.get(file.as_str()).copied().unwrap_or(MOST);
        (*lines > most).then(|| {
            format!(
                "{file} has {lines} lines of code, and {most} are allowed. Divide it by subject into modules in a folder of its name, with the \
                 tests in `tests.rs` there."
            )
        })
    });
    let gone = known.keys().filter_map(|file| match found.get(*file) {
        Some(lines) if *lines > MOST => None,
        Some(lines) => Some(format!(
            "{file} has {lines} lines of code, as any file may. Remove its row from LONGER, so that it stays so short."
        )),
        None => Some(format!("{file} is gone. Remove its row from LONGER.")),
    });
    too_long.chain(gone).collect()
}

#[test]
fn files_are_short_or_become_shorter() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut found = BTreeMap::new();
    measured(&root, &root, &mut found);
    assert!(found.len() > 300, "{} files", found.len());
    let wrong = objections(&found, LONGER);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_file_that_grows_is_named_and_so_is_a_row_that_nothing_needs() {
    let found = [
        ("short", 400),
        ("long", 401),
        ("known", 500),
        ("grown", 501),
        ("divided", 90),
    ];
    let found = found.map(|(file, lines)| (file.to_owned(), lines)).into();
    let longer = [("known", 500), ("grown", 500), ("divided", 500), ("removed", 500)];
    let wrong = objections(&found, &longer);
    let begin: Vec<&str> = wrong.iter().map(|text| text.split('.').next().unwrap()).collect();
    assert_eq!(
        begin,
        [
            "grown has 501 lines of code, and 500 are allowed",
            "long has 401 lines of code, and 400 are allowed",
            "divided has 90 lines of code, as any file may",
            "removed is gone"
        ]
    );
}

#[test]
fn tests_at_the_end_do_not_count() {
    assert_eq!(
        lines_of_code("one\ntwo\n\n#[cfg(test)]\nmod tests {\n    three\n}\n"),
        3
    );
    assert_eq!(lines_of_code("one\n\n#[cfg(test)]\nmod tests;\n"), 4);
}
