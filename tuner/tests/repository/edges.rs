//! Which crate of the workspace may depend on which: arrows go down, and a new one is a decision.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::metadata;

/// Crates and what they may depend on, from the bottom up.
const ALLOWED: &[(&str, &[&str])] = &[
    ("kilter-algorithms", &[]),
    ("kilter-protocol", &["kilter-algorithms"]),
    ("kilter-profile", &["kilter-algorithms", "kilter-protocol"]),
    ("kilter-online", &["kilter-profile"]),
    // The tuner. It never links MPI.
    ("kilter-render", &[]),
    ("kilter-stats", &[]),
    ("kilter-advise", &["kilter-render"]),
    ("kilter-detect", &["kilter-protocol", "kilter-render", "kilter-stats"]),
    ("kilter-guard", &["kilter-render", "kilter-stats"]),
    ("kilter-which", &["kilter-render"]),
    (
        "kilter-model",
        &["kilter-algorithms", "kilter-protocol", "kilter-render", "kilter-stats"],
    ),
    ("kilter-predict", &["kilter-algorithms", "kilter-model"]),
    (
        "kilter-bench",
        &["kilter-algorithms", "kilter-model", "kilter-protocol", "kilter-stats"],
    ),
    (
        "kilter-profiling",
        &[
            "kilter-advise",
            "kilter-bench",
            "kilter-model",
            "kilter-protocol",
            "kilter-render",
        ],
    ),
    (
        "kilter-tracing",
        &[
            "kilter-advise",
            "kilter-detect",
            "kilter-profiling",
            "kilter-protocol",
            "kilter-render",
        ],
    ),
    (
        "kilter-search",
        &[
            "kilter-algorithms",
            "kilter-bench",
            "kilter-model",
            "kilter-protocol",
            "kilter-render",
            "kilter-stats",
        ],
    ),
    (
        "kilter-emit",
        &[
            "kilter-algorithms",
            "kilter-bench",
            "kilter-model",
            "kilter-profile",
            "kilter-protocol",
            "kilter-render",
            "kilter-search",
        ],
    ),
    (
        "kilter-overlap",
        &[
            "kilter-algorithms",
            "kilter-bench",
            "kilter-model",
            "kilter-protocol",
            "kilter-render",
            "kilter-search",
            "kilter-stats",
        ],
    ),
    (
        "kilter-report",
        &[
            "kilter-bench",
            "kilter-model",
            "kilter-overlap",
            "kilter-render",
            "kilter-stats",
        ],
    ),
    (
        "kilter-validation",
        &[
            "kilter-bench",
            "kilter-model",
            "kilter-overlap",
            "kilter-protocol",
            "kilter-render",
            "kilter-stats",
        ],
    ),
    (
        "kilter-tune",
        &[
            "kilter-algorithms",
            "kilter-bench",
            "kilter-emit",
            "kilter-model",
            "kilter-overlap",
            "kilter-predict",
            "kilter-protocol",
            "kilter-render",
            "kilter-search",
            "kilter-stats",
        ],
    ),
    (
        "kilter",
        &[
            "kilter-advise",
            "kilter-algorithms",
            "kilter-bench",
            "kilter-detect",
            "kilter-emit",
            "kilter-guard",
            "kilter-model",
            "kilter-online",
            "kilter-overlap",
            "kilter-predict",
            "kilter-profile",
            "kilter-profiling",
            "kilter-protocol",
            "kilter-render",
            "kilter-report",
            "kilter-search",
            "kilter-stats",
            "kilter-tracing",
            "kilter-tune",
            "kilter-validation",
            "kilter-which",
        ],
    ),
    // Crates linked with an MPI library. The tuner is above none of them, and they are above none of the tuner but the protocol.
    ("kilter-abi", &[]),
    ("kilter-mpi", &["kilter-algorithms"]),
    (
        "kilter-host",
        &[
            "kilter-abi",
            "kilter-algorithms",
            "kilter-mpi",
            "kilter-profile",
            "kilter-protocol",
        ],
    ),
    ("kilter-collectives", &["kilter-abi", "kilter-algorithms", "kilter-mpi"]),
    (
        "kilter-dropin",
        &[
            "kilter-abi",
            "kilter-algorithms",
            "kilter-host",
            "kilter-mpi",
            "kilter-online",
            "kilter-profile",
            "kilter-protocol",
        ],
    ),
    ("kilter-example", &["kilter-abi", "kilter-mpi"]),
    ("kilter-progress", &["kilter-mpi"]),
    ("kilter-tracer", &["kilter-mpi", "kilter-protocol"]),
    (
        "kilter-verify",
        &[
            "kilter-abi",
            "kilter-algorithms",
            "kilter-host",
            "kilter-mpi",
            "kilter-protocol",
        ],
    ),
    (
        "kilter-worker",
        &[
            "kilter-abi",
            "kilter-algorithms",
            "kilter-collectives",
            "kilter-host",
            "kilter-mpi",
            "kilter-protocol",
        ],
    ),
    ("kilter-simulated", &["kilter-worker"]),
    // Helpers of tests, which nothing but tests depends on.
    ("kilter-fixtures", &["kilter-model", "kilter-protocol", "kilter-stats"]),
    ("kilter-tests", &[]),
    ("kilter-vcluster", &[]),
    ("kilter-waiter", &[]),
];

/// Further dependencies of tests, benchmarks and examples.
const FOR_TESTS: &[(&str, &[&str])] = &[
    ("kilter-advise", &["kilter-fixtures"]),
    ("kilter-bench", &["kilter-fixtures"]),
    ("kilter-detect", &["kilter-fixtures"]),
    ("kilter-search", &["kilter-fixtures"]),
    ("kilter-emit", &["kilter-fixtures"]),
    ("kilter-guard", &["kilter-fixtures"]),
    ("kilter-overlap", &["kilter-fixtures"]),
    ("kilter-profiling", &["kilter-fixtures"]),
    ("kilter-report", &["kilter-fixtures", "kilter-protocol"]),
    ("kilter-tracing", &["kilter-fixtures"]),
    ("kilter-which", &["kilter-fixtures"]),
    ("kilter", &["kilter-fixtures"]),
    (
        "kilter-tests",
        &[
            "kilter",
            "kilter-algorithms",
            "kilter-bench",
            "kilter-detect",
            "kilter-emit",
            "kilter-fixtures",
            "kilter-model",
            "kilter-profile",
            "kilter-profiling",
            "kilter-protocol",
            "kilter-tracing",
        ],
    ),
];

type Edges = BTreeSet<(String, String)>;

fn listed(list: &[(&str, &[&str])]) -> Edges {
    let of = |(from, to): &(&str, &[&str])| to.iter().map(|to| ((*from).to_owned(), (*to).to_owned())).collect();
    list.iter().flat_map(|row| -> Vec<_> { of(row) }).collect()
}

/// The workspace's crates and the edges among them: those of code, and those of tests alone.
fn found() -> (BTreeSet<String>, Edges, Edges) {
    let packages = &metadata::packages();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let crates: BTreeSet<String> = packages.iter().map(name).collect();
    let (mut code, mut tests) = (Edges::new(), Edges::new());
    for package in packages {
        for dependency in package["dependencies"].as_array().unwrap() {
            let edge = (name(package), name(dependency));
            if !crates.contains(&edge.1) {
                continue;
            }
            if dependency["kind"] == "dev" {
                tests.insert(edge);
            } else {
                code.insert(edge);
            }
        }
    }
    (crates, code, tests)
}

/// Arrows that are new, and listed ones that are gone, in words.
fn differences(allowed: &Edges, found: &Edges, list: &str) -> Vec<String> {
    let new = found.difference(allowed).map(|(from, to)| {
        format!(
            "{from} -> {to} is new. Put what {from} needs of {to} into a crate below both, or, if the arrow goes down and is meant, add it to \
             {list} and to ARCHITECTURE.md."
        )
    });
    let gone = allowed.difference(found).map(|(from, to)| {
        format!("{from} -> {to} is gone. Remove it from {list}, so that it does not come back by chance.")
    });
    new.chain(gone).collect()
}

#[test]
fn crates_depend_on_what_is_listed_and_on_nothing_else() {
    let (crates, code, tests) = found();
    let mut wrong = differences(&listed(ALLOWED), &code, "ALLOWED");
    wrong.extend(differences(&listed(FOR_TESTS), &tests, "FOR_TESTS"));
    let known: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    for name in crates.symmetric_difference(&known) {
        wrong.push(format!(
            "{name} is a member of the workspace or a row of ALLOWED, and must be both."
        ));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The list itself says that arrows go down: a crate depends on rows above its own.
#[test]
fn the_list_goes_from_the_bottom_up() {
    for (row, (name, dependencies)) in ALLOWED.iter().enumerate() {
        for dependency in *dependencies {
            let below = ALLOWED[..row].iter().any(|(other, _)| other == dependency);
            assert!(below, "{name} is listed before {dependency}, which it depends on");
        }
    }
}
