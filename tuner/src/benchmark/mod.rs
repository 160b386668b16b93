//! Compares the library's own algorithms with Kilter's: the contests of tuning, held for every collective and size.
//!
//! All candidates are interleaved in the same jobs, launch after launch; ratios are within launches.
//!
//! * [`bound`] is a lower bound for every algorithm.
//! * [`options`] are those of `kilter benchmark`.
//! * [`present`] prints text and CSV.
//! * [`search`] measures the cost and the quality of the search; [`whole_launch`] does so for algorithms that are settings of whole launches.

pub mod bound;
pub mod options;
pub mod present;
pub mod search;
mod whole_launch;

use std::collections::BTreeMap;

use kilter_algorithms::{Collective, registry};
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::options::Options;
use kilter_model::report::FixKind;
use kilter_search::choose::{Held, Measured};
use kilter_search::context::{InJobSearch, Site};
use kilter_search::in_job_search::Contests;
use kilter_search::ranking::{best_of_kinds, ranked};
use kilter_search::target::Target;
use kilter_stats::sample::Sample;
use kilter_stats::{hodges_lehmann, signed_rank};
use serde::Serialize;

use crate::benchmark::bound::Network;
use crate::benchmark::options::BenchmarkOptions;

/// Most launches of the final.
const LAUNCHES: usize = 10;
/// Finalists of each kind.
const FINALISTS: usize = 2;
/// Confidence of the interval of a ratio.
const CONFIDENCE: f64 = 0.95;

/// Results of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Benchmark {
    /// The library, as it names itself.
    pub library: String,
    /// Number of ranks.
    pub ranks: usize,
    /// The command.
    pub command: String,
    /// The network whose bound is shown.
    pub network: Option<Network>,
    /// True if the same algorithms are compared, rather than the best.
    pub same: bool,
    /// One per comparison.
    pub rows: Vec<Row>,
    /// Candidates that could not be run, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Cells that the budget did not reach.
    pub not_reached: Vec<String>,
    /// Cells whose default or all of Kilter's rows have no valid repetition.
    pub unmeasured: Vec<String>,
}

/// A comparison at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Kilter's name of the collective.
    pub collective: String,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Time of the library's own decision, in seconds.
    pub default_seconds: f64,
    /// The library's side: its best, or the algorithm that it was forced to.
    pub library: Side,
    /// Kilter's side.
    pub kilter: Side,
    /// Fastest composition of the library's calls, if there is one.
    pub mockup: Option<Side>,
    /// Kilter's time over the library's, within launches.
    pub ratio: f64,
    /// Its 95 % interval, if there are enough launches.
    pub ratio_interval: (f64, f64),
    /// Lower bound for every algorithm, in seconds.
    pub bound_seconds: Option<f64>,
}

/// One of the two compared sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Id of the choice: `default`, settings of the library, or Kilter's row with its parameters.
    pub id: String,
    /// Median of the launches' medians.
    pub seconds: f64,
}

impl Side {
    fn of(measured: &Measured) -> Side {
        Side {
            id: measured
                .selection
                .as_ref()
                .map_or_else(|| "default".to_owned(), Selection::id),
            seconds: measured.medians.median(),
        }
    }
}

/// Measures everything that the options request.
pub fn run(parts: InJobSearch<'_, '_>, options: &BenchmarkOptions) -> anyhow::Result<Benchmark> {
    let site = &parts.jobs.site;
    let nothing_deployed = Deployment::default();
    let contests = Contests::new(parts, &nothing_deployed, "benchmark").measuring_all();
    let mut rows = Vec::new();
    let (mut not_reached, mut unmeasured) = (Vec::new(), Vec::new());
    for &collective in &options.collectives {
        let targets = targets(&options.common, collective);
        let fields = if options.same {
            let pairs = pairs(site, collective);
            targets
                .iter()
                .map(|target| (target.clone(), pairs.iter().flatten().cloned().collect()))
                .filter(|(_, field): &(_, Vec<Selection>)| !field.is_empty())
                .collect()
        } else {
            let front = |ratios: &BTreeMap<Selection, f64>| best_of_kinds(&ranked(ratios), FINALISTS);
            contests.screen_all(&targets, &|_, _| true, &front)?
        };
        let reached: Vec<&Target> = fields.iter().map(|(target, _)| target).collect();
        if !options.same {
            let left = targets.iter().filter(|target| !reached.contains(target));
            not_reached.extend(left.map(Target::name));
        }
        if parts.jobs.budget.search_exhausted(0.0) {
            not_reached.extend(fields.iter().map(|(target, _)| target.name()));
            continue;
        }
        let names: Vec<String> = fields.iter().map(|(target, _)| target.name()).collect();
        let finals = contests.finals(fields, LAUNCHES)?;
        if finals.is_empty() {
            not_reached.extend(names);
        }
        for held in finals {
            let bound_seconds = options
                .network
                .and_then(|network| network.lower_bound_seconds(collective, held.target.bytes(), options.common.ranks));
            if options.same {
                let known = pairs(site, collective);
                rows.extend(known.iter().filter_map(|pair| same(&held, pair, bound_seconds)));
            } else {
                match best(&held, bound_seconds) {
                    Some(row) => rows.push(row),
                    None => unmeasured.push(held.target.name()),
                }
            }
        }
    }
    Ok(Benchmark {
        library: format!("{} {}", site.library.name, site.version),
        ranks: options.common.ranks,
        command: parts.jobs.typed.clone(),
        network: options.network,
        same: options.same,
        rows,
        failed: parts
            .quarantine
            .list()
            .into_iter()
            .map(|put_away| (put_away.id, format!("{}: {}", put_away.what, put_away.detail)))
            .collect(),
        not_reached,
        unmeasured,
    })
}

/// The library's algorithms, each with Kilter's row of the same one; with equal segments if both have them.
fn pairs(site: &Site<'_>, collective: Collective) -> Vec<[Selection; 2]> {
    let Some(algorithms) = site.library.algorithms_of(collective) else {
        return Vec::new();
    };
    let ranks = site.options.ranks;
    let one_node = !site.options.place().several_nodes;
    let mut pairs = Vec::new();
    for choice in algorithms.choices_on(ranks) {
        let Some(row) = choice.kilter.as_deref().and_then(registry::find) else {
            continue;
        };
        if row.unmet(ranks, true, one_node).is_some() {
            continue;
        }
        let mut settings = algorithms.settings(choice);
        let segment = row
            .parameters
            .iter()
            .find(|parameter| parameter.name == "segment_bytes");
        if let Some(segment) = segment
            && choice.knobs.iter().any(|knob| knob == "segmentsize")
        {
            let name = format!("{}_segmentsize", algorithms.parameter);
            settings.push((name, segment.default.to_string()));
        }
        pairs.push([
            Selection::Settings(settings),
            Selection::Algorithm(row.id.to_owned(), row.default_parameters()),
        ]);
    }
    pairs
}

/// Requested cells of a collective.
fn targets(options: &Options, collective: Collective) -> Vec<Target> {
    let calls = options.scope().calls(collective.name());
    let volume = |size: &u64| match collective {
        Collective::Barrier => 0,
        _ => options.place().volume(collective, *size),
    };
    let mut targets: Vec<Target> = calls
        .keys()
        .map(|size| Target::unbounded(collective, volume(size)))
        .collect();
    targets.dedup();
    targets
}

/// Fastest of the library, including its default, and fastest of Kilter.
fn best(held: &Held, bound_seconds: Option<f64>) -> Option<Row> {
    let fastest = |kind: Option<FixKind>| {
        held.candidates
            .iter()
            .filter(|candidate| candidate.selection.as_ref().map(Selection::kind) == kind)
            .min_by(|a, b| a.medians.median().total_cmp(&b.medians.median()))
    };
    let default = fastest(None)?;
    let library = [Some(default), fastest(Some(FixKind::Parameter))]
        .into_iter()
        .flatten()
        .min_by(|a, b| a.medians.median().total_cmp(&b.medians.median()))?;
    let kilter = fastest(Some(FixKind::Algorithm))?;
    Some(Row {
        mockup: fastest(Some(FixKind::Mockup)).map(Side::of),
        ..row(held, default, [library, kilter], bound_seconds)
    })
}

fn same(held: &Held, pair: &[Selection; 2], bound_seconds: Option<f64>) -> Option<Row> {
    let find = |wanted: Option<&Selection>| {
        held.candidates
            .iter()
            .find(|candidate| candidate.selection.as_ref() == wanted)
    };
    let sides = [find(Some(&pair[0]))?, find(Some(&pair[1]))?];
    Some(row(held, find(None)?, sides, bound_seconds))
}

fn row(held: &Held, default: &Measured, [library, kilter]: [&Measured; 2], bound_seconds: Option<f64>) -> Row {
    let (ratio, ratio_interval) = ratio(&kilter.medians, &library.medians);
    Row {
        collective: held.target.function.clone(),
        bytes: held.target.bytes(),
        default_seconds: default.medians.median(),
        library: Side::of(library),
        kilter: Side::of(kilter),
        mockup: None,
        ratio,
        ratio_interval,
        bound_seconds,
    }
}

/// Kilter's time over the library's: within launches, if both were measured in all of them.
fn ratio(kilter: &Sample, library: &Sample) -> (f64, (f64, f64)) {
    let estimate = signed_rank::ratio(kilter, library, CONFIDENCE)
        .unwrap_or_else(|| hodges_lehmann::ratio(kilter, library, CONFIDENCE));
    (estimate.ratio, (estimate.low, estimate.high))
}

#[cfg(test)]
mod tests;
