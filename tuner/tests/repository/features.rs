//! One set of features for all builds. Cargo gives a dependency the features that the selected packages ask for: where those of what links MPI
//! are fewer than the workspace's, `scripts/build` compiles the dependency and all above it once more for each further library.

use std::collections::BTreeSet;

use crate::metadata::cargo;

/// Packages with their features as Cargo resolves them for those that are selected, each behind one that depends on it: a package that programs of a
/// build use may have other features there than in what is built.
fn resolved(selected: &[&str]) -> BTreeSet<(String, String)> {
    let asked = ["tree", "--offline", "--prefix", "depth", "--format", " {p} {f}"];
    let text = cargo(&[&asked, selected].concat());
    let mut above: Vec<String> = Vec::new();
    let mut pairs = BTreeSet::new();
    for line in text.lines() {
        // Words such as `[build-dependencies]` have no depth.
        let Some((depth, package)) = line.split_once(' ') else {
            continue;
        };
        let Ok(depth) = depth.parse::<usize>() else { continue };
        let package = package.trim_end_matches(" (*)").trim_end().to_owned();
        above.truncate(depth);
        pairs.insert((above.last().cloned().unwrap_or_default(), package.clone()));
        above.push(package);
    }
    pairs
}

/// Packages that `scripts/build` selects for a library: all, and for SMPI.
const OF_A_LIBRARY: [&[&str]; 2] = [
    &[
        "-p=kilter-worker",
        "-p=kilter-verify",
        "-p=kilter-collectives",
        "-p=kilter-dropin",
        "-p=kilter-progress",
        "-p=kilter-tracer",
        "-p=kilter-example",
    ],
    &["-p=kilter-worker", "-p=kilter-simulated"],
];

#[test]
fn what_links_mpi_has_the_features_of_the_workspace() {
    let of_all = resolved(&["--workspace", "--edges=normal,build,dev"]);
    for selected in OF_A_LIBRARY {
        let of_some = resolved(&[selected, &["--edges=normal,build"]].concat());
        assert!(of_some.len() > 20, "{of_some:?}");
        let fewer: Vec<_> = of_some.difference(&of_all).collect();
        assert!(
            fewer.is_empty(),
            "{selected:?} has other features than the workspace of {fewer:#?}; name the workspace's in [workspace.dependencies]"
        );
    }
}
