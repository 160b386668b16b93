//! `kilter list --format json`: an array of objects. Field names are a promise to scripts: they are added to, never renamed.

use kilter_algorithms::Parameter;
use kilter_algorithms::{mockup, registry};
use kilter_emit::emitters;
use kilter_model::config::library::Verified;
use kilter_model::config::{guideline, library, target};
use serde::Serialize;

use crate::cli::Listed;

/// A guideline.
#[derive(Serialize)]
struct GuidelineRow {
    id: String,
    /// `monotony`, `split` or `pattern`.
    kind: &'static str,
    /// The meta-rule it follows from, `I` to `VI`.
    family: String,
    /// Such as `reduce(n) <= allreduce(n)`.
    statement: String,
    /// The pattern that is found when it is violated.
    violated_when: String,
    /// The same in words.
    title: String,
    /// The functions that stand for `A`; empty where the statement names them.
    functions: Vec<&'static str>,
    /// Values of `k`, one cell each.
    k: Vec<u64>,
    min_ranks: usize,
    /// It says something only where ranks are on several nodes.
    several_nodes: bool,
    /// The version of the MPI standard that has its calls; null where any has.
    mpi: Option<String>,
    source: String,
    what: String,
    why: String,
}

/// A target of overlap.
#[derive(Serialize)]
struct TargetRow {
    id: String,
    benchmark: &'static str,
    /// Sizes and computation times, in words.
    cells: String,
    smallest_bytes: u64,
    largest_bytes: u64,
    /// Such as `T <= 1.5 T_comm`.
    statement: String,
    bound: f64,
    /// The pattern that is found when it is missed.
    missed_when: String,
    source: String,
    what: String,
    why: String,
}

/// An algorithm of Kilter.
#[derive(Serialize)]
struct AlgorithmRow {
    id: &'static str,
    collective: &'static str,
    summary: &'static str,
    /// Such as `Commutative`.
    needs: Vec<String>,
    parameters: Vec<ParameterRow>,
    source: &'static str,
}

/// A tunable of an algorithm.
#[derive(Serialize)]
struct ParameterRow {
    name: &'static str,
    min: u64,
    max: u64,
    default: u64,
    summary: &'static str,
}

/// A composition that can stand for a collective.
#[derive(Serialize)]
struct MockupRow {
    id: &'static str,
    stands_for: &'static str,
    /// Calls in order, each on the full volume.
    calls: Vec<String>,
}

/// An MPI library with a description.
#[derive(Serialize)]
struct LibraryRow {
    id: String,
    name: String,
    /// Builds of Kilter for it, with `*` for the version.
    builds: String,
    /// Every described library can be verified; what has an emitter can be tuned, too.
    can_be_tuned: bool,
    parameters: Vec<String>,
    /// Versions of the real library with which Kilter ran jobs; empty if it never did.
    run_with: Vec<String>,
    /// Its rows, which are choices of algorithms and parameters, by how they were verified.
    verified: VerifiedRow,
}

/// Rows by how they were verified.
#[derive(Serialize)]
struct VerifiedRow {
    rows: usize,
    run: usize,
    printed: usize,
    source: usize,
    documentation: usize,
    /// The description does not say.
    unsaid: usize,
}

/// The lists as JSON.
pub(super) fn text(what: Listed) -> anyhow::Result<String> {
    Ok(match what {
        Listed::Guidelines => array(guideline::load_embedded()?.into_iter().map(GuidelineRow::of))?,
        Listed::Targets => array(target::load_embedded()?.into_iter().map(TargetRow::of))?,
        Listed::Algorithms => array(registry::algorithms().map(AlgorithmRow::of))?,
        Listed::Mockups => array(mockup::MOCKUPS.iter().map(MockupRow::of))?,
        Listed::Libraries => array(emitters::load_embedded()?.into_iter().map(LibraryRow::of))?,
    })
}

fn array<R: Serialize>(rows: impl Iterator<Item = R>) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&rows.collect::<Vec<R>>())
}

impl GuidelineRow {
    fn of(guideline: guideline::Guideline) -> Self {
        Self {
            statement: guideline.statement(),
            id: guideline.id,
            kind: guideline.kind.name(),
            family: guideline.family,
            violated_when: guideline.name,
            title: guideline.title,
            functions: guideline.functions.iter().map(|function| function.name()).collect(),
            k: guideline.k,
            min_ranks: guideline.min_ranks,
            several_nodes: guideline.several_nodes,
            mpi: Some(guideline.mpi).filter(|version| !version.is_empty()),
            source: guideline.source,
            what: guideline.what,
            why: guideline.why,
        }
    }
}

impl TargetRow {
    fn of(target: target::Target) -> Self {
        let [smallest_bytes, largest_bytes] = target.bytes;
        Self {
            cells: target.cells(),
            statement: target.statement(),
            id: target.id,
            benchmark: target.benchmark.name(),
            smallest_bytes,
            largest_bytes,
            bound: target.bound,
            missed_when: target.name,
            source: target.source,
            what: target.what,
            why: target.why,
        }
    }
}

impl AlgorithmRow {
    fn of(algorithm: &registry::Algorithm) -> Self {
        Self {
            id: algorithm.id,
            collective: algorithm.collective.name(),
            summary: algorithm.summary,
            needs: algorithm.needs.iter().map(|need| format!("{need:?}")).collect(),
            parameters: algorithm.parameters.iter().map(ParameterRow::of).collect(),
            source: algorithm.source,
        }
    }
}

impl ParameterRow {
    fn of(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name,
            min: parameter.min,
            max: parameter.max,
            default: parameter.default,
            summary: parameter.summary,
        }
    }
}

impl MockupRow {
    fn of(row: &mockup::Mockup) -> Self {
        Self {
            id: row.id,
            stands_for: row.collective.name(),
            calls: row.side.split(" + ").map(str::to_owned).collect(),
        }
    }
}

impl LibraryRow {
    fn of(library: library::Library) -> Self {
        let shares = library.shares();
        let by = |word| shares.by.get(&word).copied().unwrap_or_default();
        Self {
            verified: VerifiedRow {
                rows: shares.rows(),
                run: by(Verified::Run),
                printed: by(Verified::Printed),
                source: by(Verified::Source),
                documentation: by(Verified::Documentation),
                unsaid: shares.unsaid,
            },
            run_with: library.verified.against.clone(),
            id: library.id,
            name: library.name,
            builds: library.builds.replace("{major}.{minor}", "*"),
            can_be_tuned: library.emitter.is_some(),
            parameters: library.parameters.into_iter().map(|parameter| parameter.name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn rows(what: Listed) -> Vec<Value> {
        serde_json::from_str(&text(what).unwrap()).unwrap()
    }

    fn row(what: Listed, id: &str) -> Value {
        rows(what).into_iter().find(|row| row["id"] == id).unwrap()
    }

    fn page(row: Value) -> String {
        serde_json::to_string_pretty(&row).unwrap()
    }

    #[test]
    fn a_guideline_has_the_promised_fields() {
        insta::assert_snapshot!(page(row(Listed::Guidelines, "GL8")));
    }

    #[test]
    fn a_target_has_the_promised_fields() {
        insta::assert_snapshot!(page(row(Listed::Targets, "OV_SENDER")));
    }

    #[test]
    fn an_algorithm_has_the_promised_fields() {
        insta::assert_snapshot!(page(row(Listed::Algorithms, "allgather.shared_memory")));
    }

    #[test]
    fn a_mockup_has_the_promised_fields() {
        insta::assert_snapshot!(page(rows(Listed::Mockups).remove(0)));
    }

    #[test]
    fn a_library_has_the_promised_fields() {
        let library = row(Listed::Libraries, "openmpi-4.1");
        let fields: Vec<&String> = library.as_object().unwrap().keys().collect();
        assert_eq!(
            fields,
            [
                "builds",
                "can_be_tuned",
                "id",
                "name",
                "parameters",
                "run_with",
                "verified"
            ]
        );
        let verified = library["verified"].as_object().unwrap();
        let words = ["documentation", "printed", "rows", "run", "source", "unsaid"];
        assert_eq!(verified.keys().collect::<Vec<_>>(), words);
        assert!(verified["printed"].as_u64().unwrap() > 50, "{verified:?}");
        assert_eq!(library["can_be_tuned"], true);
        assert_eq!(library["run_with"], serde_json::json!(["4.1.4"]));
        assert_eq!(row(Listed::Libraries, "mpt-2")["run_with"], serde_json::json!([]));
        let parameters = library["parameters"].as_array().unwrap();
        assert!(
            parameters.iter().any(|name| name == "btl_vader_eager_limit"),
            "{parameters:?}"
        );
    }

    #[test]
    fn every_row_of_the_text_is_there() {
        assert_eq!(
            rows(Listed::Guidelines).len(),
            guideline::load_embedded().unwrap().len()
        );
        assert_eq!(rows(Listed::Targets).len(), target::load_embedded().unwrap().len());
        assert_eq!(rows(Listed::Algorithms).len(), registry::algorithms().count());
        assert_eq!(rows(Listed::Mockups).len(), mockup::MOCKUPS.len());
        assert_eq!(rows(Listed::Libraries).len(), library::load_embedded().unwrap().len());
    }
}
