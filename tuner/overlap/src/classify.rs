//! Describes a map's behaviour in words: the classes of Denis and Trahay (doi:10.1109/ICPP.2016.37, section V.A), by
//! rules over the cells that are not masked.
//!
//! A cell is good below a ratio of 0.5. [`region`] finds the simplest region of sizes and computation times that holds the good cells; its
//! shape is the class. Further findings are zones that are slower than one after the other, and the cost of computing threads. The maps of
//! the sender, the receiver and both sides together give the library's class.

use std::fmt::Write as _;

use kilter_model::reading::{self, GOOD, PARTIAL, Quantity, SERIALISED};
use kilter_model::survey::{Cell, Map, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_render::format;
use serde::Serialize;

mod class;
mod library;
mod region;
mod steps;
mod stretch;
mod threads;
mod words;

pub use class::Class;
use region::{Fit, Point, Region};
use steps::{Axis, Steps};
use stretch::Stretch;

/// Ratio below which a cell is good.
const HALF: f64 = 0.5;
/// Least number of cells for a finding.
const FEWEST: usize = 6;
/// Least share of the cells in a zone.
const ZONE: f64 = 0.05;
/// Share of like cells that makes a map uniform.
const ALIKE: f64 = 0.8;

/// A class with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The class.
    pub class: Class,
    /// Its meaning here.
    pub sentence: String,
    /// The counts behind it.
    pub evidence: String,
    /// Share of the cells above the noise that behave like the class.
    pub share: f64,
    /// Sizes in bytes between which the behaviour changes: the last of one kind and the first of the other.
    pub between_bytes: Option<[u64; 2]>,
    /// Computation up to which it overlaps, and the next longer one that was measured, in nanoseconds.
    pub between_computation_ns: Option<[u64; 2]>,
    /// Ratio of the stretch of the largest messages, if the map is described by stretches of sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<f64>,
}

/// Findings on a map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapClasses {
    /// Benchmark of the map.
    pub benchmark: Benchmark,
    /// Findings, the most important first; never empty.
    pub findings: Vec<Finding>,
}

/// Findings on a survey.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Classification {
    /// Finding on all maps together.
    pub library: Finding,
    /// Findings on each map, in the survey's order.
    pub maps: Vec<MapClasses>,
}

/// Classifies every map and the library.
#[must_use]
pub fn classify(survey: &Survey) -> Classification {
    let maps: Vec<MapClasses> = survey.maps.iter().map(of_map).collect();
    Classification {
        library: library::of(&maps),
        maps,
    }
}

/// A line for the library and one for each finding, with a final newline.
#[must_use]
pub fn text(classification: &Classification) -> String {
    let mut out = format!("{}\n", classification.library.sentence);
    for map in &classification.maps {
        for finding in &map.findings {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{}: {} ({})",
                map.benchmark.name(),
                finding.sentence,
                finding.evidence
            );
        }
    }
    out
}

/// A cell above the noise.
struct Seen<'a> {
    cell: &'a Cell,
    value: f64,
    low: f64,
}

fn of_map(map: &Map) -> MapClasses {
    let seen: Vec<Seen<'_>> = map
        .cells
        .iter()
        .filter_map(|cell| {
            reading::read(map.benchmark, cell).map(|reading| Seen {
                cell,
                value: reading.value,
                low: reading.interval[0],
            })
        })
        .collect();
    // Inferred cells only repeat the measured ones around them.
    let measured = seen.iter().filter(|seen| !seen.cell.inferred).count();
    let mut findings = match Quantity::of(map.benchmark) {
        _ if measured < FEWEST => vec![too_little(map, measured)],
        Quantity::Slowdown => vec![threads::of(&seen)],
        Quantity::Ratio => {
            let mut findings = vec![shape(map.benchmark, &seen)];
            findings.extend(slower(&seen));
            findings
        }
    };
    if (FEWEST..seen.len()).contains(&measured) {
        for finding in &mut findings {
            finding.evidence += &format!("; {measured} of {} were measured, the others filled in", seen.len());
        }
    }
    MapClasses {
        benchmark: map.benchmark,
        findings,
    }
}

fn too_little(map: &Map, seen: usize) -> Finding {
    Finding {
        class: Class::TooLittle,
        sentence: "Too few cells stand out of the noise to name a behaviour; measure larger sizes and longer computation, or on a quieter machine."
            .to_owned(),
        evidence: format!("{} of {} above the noise", seen, format::count(map.cells.len(), "cell")),
        share: 0.0,
        between_bytes: None,
        between_computation_ns: None,
        largest: None,
    }
}

/// Class of the region in which a map is good.
fn shape(benchmark: Benchmark, seen: &[Seen<'_>]) -> Finding {
    let points: Vec<Point> = seen
        .iter()
        .map(|seen| Point {
            bytes: seen.cell.bytes,
            computation_ns: seen.cell.computation_ns,
            good: seen.value < HALF,
        })
        .collect();
    let between = seen
        .iter()
        .filter(|seen| (GOOD..=PARTIAL).contains(&seen.value))
        .count();
    let share = |count: usize| count as f64 / seen.len() as f64;
    let blank = |class: Class, share: f64, evidence: String| Finding {
        class,
        sentence: words::sentence(class, benchmark, None, None),
        evidence,
        share,
        between_bytes: None,
        between_computation_ns: None,
        largest: None,
    };
    if share(between) >= ALIKE {
        return blank(
            Class::OverlapsInPart,
            share(between),
            format!(
                "{} of {} have a ratio from {GOOD} to {PARTIAL}",
                format::percent(share(between)),
                format::count(seen.len(), "cell"),
            ),
        );
    }
    let Some(fit) = region::fit(&points) else {
        if let Some(steps) = steps::fit(seen) {
            return stepwise(benchmark, seen.len(), &steps);
        }
        let good = points.iter().filter(|point| point.good).count();
        let evidence = format!(
            "{} of {} are below {HALF}, in no region of sizes and computation times",
            format::percent(share(good)),
            format::count(seen.len(), "cell"),
        );
        return blank(Class::Mixed, share(good), evidence);
    };
    told(benchmark, seen, &fit)
}

/// Stretches in words.
fn stepwise(benchmark: Benchmark, cells: usize, steps: &Steps) -> Finding {
    let clauses: Vec<String> = steps.stretches.iter().map(Stretch::words).collect();
    let subject = if benchmark == Benchmark::CpuOverhead {
        "Of the sender's processor, by stretches: "
    } else {
        "By stretches: "
    };
    // The last change: what is large or long is what matters.
    let last = steps.stretches.last();
    let bounds = last.and_then(|stretch| stretch.begins.map(|bounds| (stretch.axis(), bounds)));
    let of = |axis: Axis| {
        let (_, bounds) = bounds.filter(|(found, _)| *found == axis)?;
        Some(bounds.map(|bound| u64::try_from(bound).unwrap_or(0)))
    };
    Finding {
        class: Class::Stepwise,
        sentence: format!("{subject}{}.", clauses.join("; ")),
        evidence: format!(
            "{} of {} lie in stretches that are alike",
            format::percent(steps.covered),
            format::count(cells, "cell"),
        ),
        share: steps.covered,
        between_bytes: of(Axis::Size),
        between_computation_ns: of(Axis::Computation),
        largest: last
            .filter(|stretch| stretch.axis() == Axis::Size)
            .and_then(|stretch| stretch.level.ratio()),
    }
}

/// A region in words.
fn told(benchmark: Benchmark, seen: &[Seen<'_>], fit: &Fit) -> Finding {
    let (class, bytes, ns) = match fit.region {
        Region::Everywhere => (Class::Overlaps, None, None),
        Region::Nowhere => (Class::NoOverlap, None, None),
        Region::UpTo(bytes) => (Class::RendezvousThreshold, Some(bytes), None),
        Region::From(bytes) => (Class::LargeOnly, Some(bytes), None),
        Region::Short(ns) => (Class::ShortComputation, None, Some(ns)),
        Region::UpToOrShort(bytes, ns) => (Class::ThresholdAndShortComputation, Some(bytes), Some(ns)),
        Region::LargeAndShort(bytes, ns) => (Class::PipelinedCopy, Some(bytes), Some(ns)),
    };
    let measured = || seen.iter().filter(|seen| !seen.cell.inferred);
    let next = |of: fn(&Cell) -> u64, bound: u64| {
        let values = measured().map(|seen| of(seen.cell));
        values.filter(|value| *value > bound).min().unwrap_or(bound)
    };
    // A change lies between what was measured; what was filled in does not tell where.
    let up_to = |of: fn(&Cell) -> u64, bound: u64| {
        let values = measured().map(|seen| of(seen.cell));
        values.filter(|value| *value <= bound).max().unwrap_or(bound)
    };
    let from = |bound: u64| {
        let sizes = measured().map(|seen| seen.cell.bytes);
        sizes.filter(|bytes| *bytes >= bound).min().unwrap_or(bound)
    };
    let previous = |bound: u64| {
        let sizes = measured().map(|seen| seen.cell.bytes);
        sizes.filter(|bytes| *bytes < bound).max().unwrap_or(bound)
    };
    let begins_at_it = matches!(fit.region, Region::From(_) | Region::LargeAndShort(..));
    let between_bytes = bytes.map(|bytes| {
        if begins_at_it {
            [previous(bytes), from(bytes)]
        } else {
            [up_to(|cell| cell.bytes, bytes), next(|cell| cell.bytes, bytes)]
        }
    });
    let between_computation_ns = ns.map(|ns| {
        let of = |cell: &Cell| cell.computation_ns;
        [up_to(of, ns), next(of, ns)]
    });
    let good = (fit.inside.good + fit.outside.good) as f64;
    let right = fit.inside.good + fit.outside.cells - fit.outside.good;
    let evidence = match fit.region {
        Region::Everywhere | Region::Nowhere => {
            // Small messages are often masked: what is said of all sizes is said of these.
            let sizes = || seen.iter().map(|seen| seen.cell.bytes);
            format!(
                "{} of {} from {} to {} below {HALF}, median ratio {}",
                format::percent(good / seen.len() as f64),
                format::count(seen.len(), "cell"),
                format::bytes(sizes().min().unwrap_or(0)),
                format::bytes(sizes().max().unwrap_or(0)),
                format::ratio(median(seen.iter().map(|seen| seen.value)))
            )
        }
        _ => format!(
            "below {HALF} are {} of {} there and {} of {} elsewhere",
            fit.inside.good,
            format::count(fit.inside.cells, "cell"),
            fit.outside.good,
            fit.outside.cells
        ),
    };
    Finding {
        class,
        sentence: words::sentence(class, benchmark, between_bytes, between_computation_ns),
        evidence,
        share: right as f64 / seen.len() as f64,
        between_bytes,
        between_computation_ns,
        largest: None,
    }
}

/// Finding that overlapped execution takes longer than one after the other, beyond the variation of the samples.
fn slower(seen: &[Seen<'_>]) -> Option<Finding> {
    let measured = seen.iter().filter(|seen| !seen.cell.inferred);
    let slow: Vec<&Seen<'_>> = measured
        .clone()
        .filter(|seen| seen.value > SERIALISED && seen.low > 1.0)
        .collect();
    let measured = measured.count();
    if slow.len() < 3 || (slow.len() as f64) < ZONE * measured as f64 {
        return None;
    }
    let ends = |of: fn(&Cell) -> u64| {
        let values = || slow.iter().map(|seen| of(seen.cell));
        [values().min().unwrap_or(0), values().max().unwrap_or(0)]
    };
    let (bytes, ns) = (ends(|cell| cell.bytes), ends(|cell| cell.computation_ns));
    let worst = slow.iter().map(|seen| seen.value).fold(0.0, f64::max);
    Some(Finding {
        class: Class::SlowerThanSerial,
        sentence: format!(
            "Slower than communication and computation one after the other at {} to {} with {} to {} of computation.",
            format::bytes(bytes[0]),
            format::bytes(bytes[1]),
            words::time(ns[0]),
            words::time(ns[1]),
        ),
        evidence: format!(
            "{} of {} measured cells above {SERIALISED}, median {}, worst {}",
            slow.len(),
            measured,
            format::ratio(median(slow.iter().map(|seen| seen.value))),
            format::ratio(worst)
        ),
        share: slow.len() as f64 / measured as f64,
        between_bytes: None,
        between_computation_ns: None,
        largest: None,
    })
}

/// Middle value; 0 without values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    kilter_stats::sample::Sample::new(values.collect()).map_or(0.0, |sample| sample.median())
}

#[cfg(test)]
mod kept;
#[cfg(test)]
mod tests;
