//! Examples in the documentation of crates are run.
//!
//! Crates without examples have `doctest = false`: rustdoc would read each of them once more, to find none.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::fs;
use std::path::{Path, PathBuf};

mod metadata;

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

#[test]
fn no_example_is_left_out() {
    let packages = metadata::packages();
    let targets = packages.iter();
    let targets = targets.flat_map(|package| package["targets"].as_array().unwrap());
    let mut silent = 0;
    for target in targets.filter(|target| target["doctest"] == false && target["doc"] == true) {
        let root = Path::new(target["src_path"].as_str().unwrap());
        if !root.ends_with("src/lib.rs") {
            continue;
        }
        silent += 1;
        let mut files = Vec::new();
        sources(root.parent().unwrap(), &mut files);
        for file in files {
            if let Some(line) = example(&fs::read_to_string(&file).unwrap()) {
                panic!(
                    "{}, line {line}: nobody runs this example; remove `doctest = false` from the crate's Cargo.toml",
                    file.display()
                );
            }
        }
    }
    assert!(silent > 10, "{silent} crates without examples");
}

#[test]
fn examples_are_told_from_other_texts() {
    assert_eq!(example("//! ```\n//! let x = 1;\n//! ```\n"), Some(1));
    assert_eq!(example("/// Text.\n/// ```should_panic\n/// ```\n"), Some(2));
    assert_eq!(example("/// ```text\n/// 0 -> 1\n/// ```\n// ```\n"), None);
}
