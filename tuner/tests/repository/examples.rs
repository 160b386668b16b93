//! Examples in the documentation of crates are run, and so are their tests.
//!
//! Crates without examples have `doctest = false`: rustdoc would read each of them once more, to find none. Libraries and programs without tests have
//! `test = false`: each would be compiled and linked once more.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::metadata;

/// Every file of Rust below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The line of the first example that rustdoc would run. Words behind a fence that are no Rust make it a text.
fn example(text: &str) -> Option<usize> {
    const RUST: [&str; 6] = ["rust", "no_run", "should_panic", "compile_fail", "ignore", "edition"];
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let Some(documented) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            continue;
        };
        if let Some(words) = documented.trim_start().strip_prefix("```") {
            is_open = !is_open;
            if is_open && (words.is_empty() || RUST.iter().any(|word| words.starts_with(word))) {
                return Some(number);
            }
        }
    }
    None
}

/// The line of the first test.
fn test(text: &str) -> Option<usize> {
    let mut lines = (1..).zip(text.lines());
    lines.find_map(|(number, line)| line.trim_start().starts_with("#[test]").then_some(number))
}

/// Asserts that targets for which Cargo.toml says `KEY = false` have nothing that `found` finds; returns how many there are.
fn assert_nothing_is_left_out(key: &str, found: impl Fn(&str) -> Option<usize>) -> usize {
    let packages = metadata::packages();
    let targets = packages.iter();
    let targets = targets.flat_map(|package| package["targets"].as_array().unwrap());
    let mut silent = 0;
    // rustdoc reads no target without documentation.
    let is_read = |target: &&Value| key != "doctest" || target["doc"] == true;
    for target in targets.filter(|target| target[key] == false).filter(is_read) {
        let root = Path::new(target["src_path"].as_str().unwrap());
        let mut files = Vec::new();
        if root.ends_with("src/lib.rs") {
            sources(root.parent().unwrap(), &mut files);
        } else if root.ends_with("src/main.rs") && key == "test" {
            // What lies beside it may be the library's.
            let text = fs::read_to_string(root).unwrap();
            assert!(
                !text.contains("\nmod "),
                "{}: nobody would run a module's tests",
                root.display()
            );
            files.push(root.to_owned());
        } else {
            continue;
        }
        silent += 1;
        for file in files {
            if let Some(line) = found(&fs::read_to_string(&file).unwrap()) {
                panic!(
                    "{}, line {line}: nobody runs it; remove `{key} = false` from the crate's Cargo.toml",
                    file.display()
                );
            }
        }
    }
    silent
}

#[test]
fn no_example_is_left_out() {
    let silent = assert_nothing_is_left_out("doctest", example);
    assert!(silent > 10, "{silent} crates without examples");
}

#[test]
fn no_test_is_left_out() {
    let silent = assert_nothing_is_left_out("test", test);
    assert!(silent > 5, "{silent} libraries and programs without tests");
}

#[test]
fn examples_are_told_from_other_texts() {
    assert_eq!(example("//! ```\n//! let x = 1;\n//! ```\n"), Some(1));
    assert_eq!(example("/// Text.\n/// ```should_panic\n/// ```\n"), Some(2));
    assert_eq!(example("/// ```text\n/// 0 -> 1\n/// ```\n// ```\n"), None);
    assert_eq!(test("mod tests {\n    #[test]\n"), Some(2));
    assert_eq!(test("/// `#[test]`\n"), None);
}
