//! Modules that lie beside each other form no circle of more than a pair.
//!
//! A module and its children are one thing here: a child may use what its parent declares. What is compared are siblings, at every level of
//! every crate; a name that a parent re-exports counts as a use of the child that defines it. Tests inside of modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// The modules above one, from the crate's root.
type Name = Vec<String>;

/// A module's code.
struct Module {
    file: PathBuf,
    text: String,
}

/// Uses among the children of a module: who, whom, and where that is seen.
type Level = BTreeMap<String, BTreeMap<String, String>>;

/// The `src` directories of all crates.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    if directory.join("Cargo.toml").is_file() && directory.join("src").is_dir() {
        found.push(directory.join("src"));
    }
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["src", "target", "shared"].contains(&name.as_str()) {
            sources(&path, found);
        }
    }
}

/// The modules below a directory, those of tests left out.
fn modules(directory: &Path, above: &Name, found: &mut BTreeMap<Name, Module>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if stem.starts_with("tests") {
            continue;
        }
        let mut name = above.clone();
        if path.is_dir() {
            name.push(stem);
            modules(&path, &name, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            if !["mod", "lib"].contains(&stem.as_str()) {
                name.push(stem);
            }
            let text = code(&fs::read_to_string(&path).unwrap());
            found.insert(name, Module { file: path, text });
        }
    }
}

/// Without comments, and without the tests at the end of a file.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let line = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text[..end].lines().map(line).collect()
}

/// The paths of a tree such as `a::{b, c::{self, d}}`.
fn expanded(above: &[String], tree: &str, paths: &mut Vec<Name>) {
    let mut depth = 0;
    let parts = tree.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let (path, inner) = part.split_once('{').unwrap_or((part, ""));
        let path = path.split(" as ").next().unwrap_or_default();
        let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
        let names: Name = above.iter().cloned().chain(names.map(str::to_owned)).collect();
        match inner.strip_suffix('}') {
            Some(inner) => expanded(&names, inner, paths),
            None => paths.push(names),
        }
    }
}

/// Names that a module uses: imports, each with true if exported, and paths in its code.
fn named(text: &str) -> Vec<(Name, bool)> {
    let mut found = Vec::new();
    let mut rest = String::new();
    for statement in text.split_inclusive(';') {
        let import = statement
            .match_indices("use ")
            .map(|(at, _)| at)
            .find(|at| statement[..*at].ends_with(['\n', ' ']) || *at == 0);
        match import {
            Some(at) if statement.ends_with(';') && !statement[at..].contains('(') => {
                let line = statement[..at].lines().last().unwrap_or_default();
                let mut paths = Vec::new();
                expanded(&[], &statement[at + 4..statement.len() - 1], &mut paths);
                found.extend(paths.into_iter().map(|path| (path, line.contains("pub"))));
                rest.push_str(&statement[..at]);
            }
            _ => rest.push_str(statement),
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for path in rest.split(|c: char| !is_word(c) && c != ':') {
        let names: Name = path.split("::").map(str::to_owned).collect();
        if names.len() > 1 && names.iter().all(|name| !name.is_empty() && name.chars().all(is_word)) {
            found.push((names, false));
        }
    }
    found
}

/// A path from the crate's root; `None` for another crate's.
fn absolute(path: &[String], module: &Name, all: &BTreeMap<Name, Module>) -> Option<Name> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        name => {
            let mut child = base.clone();
            child.push(name.to_owned());
            all.get(&child)?;
        }
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Uses among siblings, by the module that they are children of.
fn levels(all: &BTreeMap<Name, Module>) -> BTreeMap<Name, Level> {
    let mut exported: BTreeMap<Name, Name> = BTreeMap::new();
    let mut uses: Vec<(&Name, Name)> = Vec::new();
    for (module, Module { text, .. }) in all {
        for (path, is_export) in named(text) {
            let Some(path) = absolute(&path, module, all) else {
                continue;
            };
            if is_export {
                let mut name = module.clone();
                name.extend(path.last().cloned());
                exported.insert(name, path.clone());
            }
            uses.push((module, path));
        }
    }
    let mut levels: BTreeMap<Name, Level> = BTreeMap::new();
    for (module, mut path) in uses {
        // A name may be exported by several modules, one above the other.
        for _ in 0..3 {
            let through = (1..=path.len())
                .rev()
                .find(|n| !all.contains_key(&path[..*n]) && exported.contains_key(&path[..*n]));
            let Some(n) = through else { break };
            path = exported[&path[..n]].iter().chain(&path[n..]).cloned().collect();
        }
        let item = path.join("::");
        while !path.is_empty() && !all.contains_key(&path) {
            path.pop();
        }
        let common = module.iter().zip(&path).take_while(|(a, b)| a == b).count();
        let (Some(from), Some(to)) = (module.get(common), path.get(common)) else {
            continue;
        };
        let level = levels.entry(module[..common].to_vec()).or_default();
        let seen = format!("{} uses {item}", all[module].file.display());
        level.entry(from.clone()).or_default().entry(to.clone()).or_insert(seen);
    }
    levels
}

/// Everything that is reached from a module.
fn reached<'l>(level: &'l Level, from: &'l str) -> BTreeSet<&'l str> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for to in level.get(module).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(to.as_str()) {
                next.push(to);
            }
        }
    }
    found
}

/// Circles of more than a pair.
fn circles(level: &Level) -> BTreeSet<Vec<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        level.keys().map(|name| (name.as_str(), reached(level, name))).collect();
    let members = |name: &str| -> Vec<&str> {
        let is_mutual =
            |other: &&str| reach[name].contains(other) && reach.get(other).is_some_and(|back| back.contains(name));
        reach.keys().copied().filter(is_mutual).collect()
    };
    reach
        .keys()
        .map(|name| members(name))
        .filter(|circle| circle.len() > 2)
        .collect()
}

#[test]
fn modules_beside_each_other_form_no_circles() {
    let root = root();
    let mut directories = Vec::new();
    sources(&root, &mut directories);
    assert!(directories.len() > 20, "{directories:?}");
    let mut wrong = Vec::new();
    for directory in directories {
        let mut all = BTreeMap::new();
        modules(&directory, &Name::new(), &mut all);
        for (above, level) in levels(&all) {
            for circle in circles(&level) {
                let place = directory.strip_prefix(&root).unwrap().join(above.join("/"));
                let mut seen = String::new();
                for from in &circle {
                    for (to, words) in &level[*from] {
                        if to != from && circle.contains(&to.as_str()) {
                            seen += &format!("\n    {words}");
                        }
                    }
                }
                wrong.push(format!(
                    "{}: {} use each other in a circle; move what they share into a module below them:{}",
                    place.display(),
                    circle.join(", "),
                    seen
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_seen_through_exports_and_not_through_a_parent() {
    let module = |text: &str| Module {
        file: PathBuf::from("m.rs"),
        text: text.to_owned(),
    };
    let name = |path: &str| -> Name {
        path.split("::")
            .map(str::to_owned)
            .filter(|part| !part.is_empty())
            .collect()
    };
    let all = BTreeMap::from([
        (
            name(""),
            module("pub mod a;\nmod b;\nmod c;\npub use b::{B, One};\npub struct Own;\n"),
        ),
        (name("a"), module("use crate::{B, Own};\n")),
        (name("b"), module("fn f() { crate::c::g(); }\n")),
        (
            name("c"),
            module("use super::a::{self, A as Other};\nuse super::Own;\n"),
        ),
    ]);
    let levels = levels(&all);
    let found: Vec<Vec<&str>> = levels.values().flat_map(circles).collect();
    assert_eq!(found, [["a", "b", "c"]]);
}
