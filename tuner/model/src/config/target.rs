//! Targets for the overlap of communication with computation, as data: one TOML file each, as for guidelines.

use std::path::Path;

use kilter_protocol::overlap::Benchmark;
use kilter_render::format;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::guideline::{words, wrapped};
use super::{At, ConfigError, Embedded, all, parsed, read};
use crate::options::parse_bytes;
use crate::reading::Quantity;
use kilter_render::table::{narrow, trimmed};

/// Performance that a library must reach in one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// Such as `OV_SENDER`.
    pub id: String,
    /// Observation if it is missed, such as `SenderDoesNotOverlap`.
    pub name: String,
    /// The benchmark it is stated for.
    pub benchmark: Benchmark,
    /// Smallest and largest message, in bytes.
    pub bytes: [u64; 2],
    /// The computation times it is stated for.
    pub computation: Computation,
    /// Bounded quantity.
    pub quantity: Quantity,
    /// The largest value allowed.
    pub bound: f64,
    /// Statement.
    pub what: String,
    /// Reason why it should hold.
    pub why: String,
    /// Source.
    pub source: String,
}

/// Computation times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Computation {
    /// Every computation time.
    Any,
    /// Computation times that are at least as long as communication by itself.
    CoversCommunication,
    /// Computation times from one to another, in nanoseconds.
    Between([u64; 2]),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Spanned<String>,
    name: String,
    benchmark: Spanned<String>,
    sizes: Spanned<String>,
    computation: Option<Spanned<String>>,
    bound: Spanned<String>,
    what: String,
    why: String,
    source: String,
}

/// Spelling of the computation times that cover communication.
const COVERS: &str = ">= communication";

/// Mistake in a target.
#[derive(Debug, PartialEq, thiserror::Error)]
enum Mistake {
    /// The id is no name.
    #[error("id `{0}` is no name; allowed: letters, digits, `_` and `-`")]
    Id(String),
    /// The benchmark is none.
    #[error("benchmark `{0}` is not there; allowed: {known}", known = benchmarks())]
    Benchmark(String),
    /// The sizes are no range.
    #[error("sizes: `{0}` is no range of sizes from 1 B to 1GiB, such as 64KiB..8MiB")]
    Sizes(String),
    /// The computation times are no range.
    #[error("computation: `{0}` is neither `{COVERS}` nor a range of times such as 10us..20ms")]
    Computation(String),
    /// The bound is none.
    #[error(
        "bound: `{0}` is not `ratio <= NUMBER` with a number of at least 0, or `slowdown <= NUMBER` with one of at least 1"
    )]
    Bound(String),
    /// The bound is of another quantity than the benchmark has.
    #[error("bound: `{}` says nothing of the benchmark {}; state it as `{} <= NUMBER`", bounded.name(), of.name(), Quantity::of(*of).name())]
    OtherQuantity { bounded: Quantity, of: Benchmark },
    /// Computation times are given where there is one alone.
    #[error("computation: threads compute all the time in this benchmark; leave the key out")]
    AlwaysComputing,
}

fn benchmarks() -> String {
    let names: Vec<&str> = Benchmark::ALL.iter().map(|benchmark| benchmark.name()).collect();
    names.join(", ")
}

impl Target {
    /// Reads a file's text. The error names `file`, the line, the key and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Target, ConfigError> {
        let raw: Raw = super::parse(text, file, |_| None)?;
        Target::of(raw).map_err(|mistake| ConfigError::at(file, text, mistake))
    }

    fn of(raw: Raw) -> Result<Target, At<Mistake>> {
        let is_word = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if !is_word(raw.id.as_ref()) {
            return Err(At::value(&raw.id, Mistake::Id(raw.id.as_ref().clone())));
        }
        let benchmark = Benchmark::find(raw.benchmark.as_ref());
        let unknown = || At::value(&raw.benchmark, Mistake::Benchmark(raw.benchmark.as_ref().clone()));
        let benchmark = benchmark.ok_or_else(unknown)?;
        let bytes = checked(&raw.sizes, sizes)?;
        let computation = match &raw.computation {
            None => Computation::Any,
            Some(text) => checked(text, times)?,
        };
        let (quantity, bound) = checked(&raw.bound, bounded)?;
        if quantity != Quantity::of(benchmark) {
            let what = Mistake::OtherQuantity {
                bounded: quantity,
                of: benchmark,
            };
            return Err(At::value(&raw.bound, what));
        }
        if quantity == Quantity::Slowdown && computation != Computation::Any {
            return Err(At {
                at: raw.computation.map_or(0..0, |text| text.span()),
                what: Mistake::AlwaysComputing,
            });
        }
        Ok(Target {
            id: raw.id.into_inner(),
            name: raw.name,
            benchmark,
            bytes,
            computation,
            quantity,
            bound,
            what: raw.what,
            why: raw.why,
            source: raw.source,
        })
    }

    /// The statement as one line; the times on its right side are those of the untouched library.
    #[must_use]
    pub fn statement(&self) -> String {
        match self.quantity {
            Quantity::Ratio => format!("T <= max(T_comm, T_comp) + {} min(T_comm, T_comp)", self.bound),
            Quantity::Slowdown => format!("T <= {} T_comm", self.bound),
        }
    }

    /// The cells it is stated for, as one line.
    #[must_use]
    pub fn cells(&self) -> String {
        let [low, high] = self.bytes.map(format::bytes);
        let time = |ns: u64| format::seconds(ns as f64 * 1e-9);
        match self.computation {
            Computation::Any => format!("{low} to {high}"),
            Computation::CoversCommunication => format!("{low} to {high}, T_comp >= T_comm"),
            Computation::Between([short, long]) => format!("{low} to {high}, {} to {}", time(short), time(long)),
        }
    }

    /// True if the target applies to a cell. A cell is given by its size in bytes, the requested computation in
    /// nanoseconds, and the times of the untouched library in seconds.
    #[must_use]
    pub fn covers(
        &self,
        bytes: u64,
        computation_ns: u64,
        communication_seconds: f64,
        computation_seconds: f64,
    ) -> bool {
        let [low, high] = self.bytes;
        (low..=high).contains(&bytes)
            && match self.computation {
                Computation::Any => true,
                Computation::CoversCommunication => computation_seconds >= communication_seconds,
                Computation::Between([short, long]) => (short..=long).contains(&computation_ns),
            }
    }
}

/// Meaning of a field's text; the error says where the field is.
fn checked<T>(text: &Spanned<String>, meaning: impl Fn(&str) -> Result<T, Mistake>) -> Result<T, At<Mistake>> {
    meaning(text.as_ref()).map_err(|what| At::value(text, what))
}

/// `64KiB..8MiB`.
fn sizes(text: &str) -> Result<[u64; 2], Mistake> {
    let wrong = || Mistake::Sizes(text.to_owned());
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let size = |text: &str| parse_bytes("sizes", text).map_err(|_| wrong());
    let range = [size(low)?, size(high)?];
    if range[0] > range[1] {
        return Err(wrong());
    }
    Ok(range)
}

/// `>= communication`, or `10us..20ms`.
fn times(text: &str) -> Result<Computation, Mistake> {
    if text.split_whitespace().eq(COVERS.split_whitespace()) {
        return Ok(Computation::CoversCommunication);
    }
    let wrong = || Mistake::Computation(text.to_owned());
    let time = |text: &str| {
        let duration = humantime::parse_duration(text.trim()).map_err(|_| wrong())?;
        u64::try_from(duration.as_nanos()).map_err(|_| wrong())
    };
    let (short, long) = text.split_once("..").ok_or_else(wrong)?;
    let range = [time(short)?, time(long)?];
    if range[0] > range[1] {
        return Err(wrong());
    }
    Ok(Computation::Between(range))
}

/// `ratio <= 0.2`, or `slowdown <= 2`.
fn bounded(text: &str) -> Result<(Quantity, f64), Mistake> {
    let wrong = || Mistake::Bound(text.to_owned());
    let (quantity, bound) = text.split_once("<=").ok_or_else(wrong)?;
    let bound: f64 = bound.trim().parse().map_err(|_| wrong())?;
    let (quantity, least) = match quantity.trim() {
        "ratio" => (Quantity::Ratio, 0.0),
        "slowdown" => (Quantity::Slowdown, 1.0),
        _ => return Err(wrong()),
    };
    if !(bound.is_finite() && bound >= least) {
        return Err(wrong());
    }
    Ok((quantity, bound))
}

/// The targets that come with Kilter, in the order of their files.
pub fn load_embedded() -> Result<Vec<Target>, ConfigError> {
    static TARGETS: Embedded<Vec<Target>> = Embedded::new(|| parsed("targets", Target::parse));
    all(&TARGETS).cloned()
}

/// A site's own target.
pub fn load_file(path: &Path) -> Result<Target, ConfigError> {
    Target::parse(&read(path)?, &path.display().to_string())
}

/// Table of all targets.
#[must_use]
pub fn list(targets: &[Target]) -> String {
    let mut table = narrow(&["missed when", "id", "benchmark", "cells", "target"]);
    for target in targets {
        table.add_row([
            words(&target.name).as_str(),
            &target.id,
            target.benchmark.name(),
            &target.cells().replace(", ", ",\n"),
            &target.statement().replace(" + ", " +\n"),
        ]);
    }
    trimmed(&table)
}

/// Page of one target.
#[must_use]
pub fn explain(target: &Target) -> String {
    let mut page = format!(
        "{} ({})\n\n    {}\n",
        words(&target.name),
        target.id,
        target.statement()
    );
    for (heading, text) in [
        ("Benchmark", target.benchmark.name()),
        ("Cells", &target.cells()),
        ("What it says", &target.what),
        ("Why it should hold", &target.why),
        (
            "How it is judged",
            "By the time that communication and computation take together, against what the untouched library takes for each by itself: communication that becomes slower is no better overlap. Cells near the noise are left out.",
        ),
        ("References", &target.source.replace("; ", "\n")),
    ] {
        page.push_str(&format!("\n{heading}\n{}", wrapped(text)));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::embedded;

    #[test]
    fn every_target_is_named_as_its_file_and_says_what_it_says() {
        let all = load_embedded().unwrap();
        let ids: Vec<&str> = all.iter().map(|target| target.id.as_str()).collect();
        for benchmark in [
            Benchmark::Sender,
            Benchmark::Receiver,
            Benchmark::BothSides,
            Benchmark::NonContiguous,
            Benchmark::CpuOverhead,
            Benchmark::ThreadLoad,
            Benchmark::Iallreduce,
        ] {
            assert!(all.iter().any(|target| target.benchmark == benchmark), "{benchmark:?}");
        }
        for (target, (file, _)) in all.iter().zip(embedded("targets")) {
            assert!(file.ends_with(&format!("/{}.toml", target.id)), "{file}");
            assert!(ids.iter().filter(|id| **id == target.id).count() == 1, "{file}");
            let page = explain(target);
            assert!(
                page.contains(&target.statement()) && page.contains(&target.cells()),
                "{page}"
            );
        }
        // `kilter explain` takes either.
        let guidelines = crate::config::guideline::load_embedded().unwrap();
        assert!(guidelines.iter().all(|guideline| !ids.contains(&guideline.id.as_str())));
        insta::assert_snapshot!(list(&all));
    }

    #[test]
    fn the_sender_s_target_covers_large_messages_beside_longer_computation() {
        let all = load_embedded().unwrap();
        let sender = all.iter().find(|target| target.id == "OV_SENDER").unwrap();
        assert_eq!((sender.bytes, sender.bound), ([64 << 10, 8 << 20], 0.2));
        assert!(sender.covers(64 << 10, 100_000, 1e-4, 1e-4));
        assert!(
            !sender.covers(64 << 10, 100_000, 1.1e-4, 1e-4),
            "computation is shorter"
        );
        assert!(!sender.covers(32 << 10, 100_000, 1e-5, 1e-4), "too small");
        let ranged = Target {
            computation: Computation::Between([10_000, 20_000]),
            ..sender.clone()
        };
        assert!(ranged.covers(1 << 20, 20_000, 1e-3, 2e-5) && !ranged.covers(1 << 20, 20_001, 1e-3, 2e-5));
    }

    #[test]
    fn mistakes_name_the_line_the_key_and_what_is_allowed() {
        let good = embedded("targets")
            .into_iter()
            .find(|(file, _)| file.ends_with("/OV_SENDER.toml"))
            .unwrap()
            .1;
        for (from, to, part) in [
            ("\"OV_SENDER\"", "\"OV SENDER\"", "line 1: id `OV SENDER`"),
            ("\"sender\"", "\"send\"", "allowed: sender, receiver, both-sides"),
            ("64KiB..8MiB", "8MiB..64KiB", "sizes: `8MiB..64KiB`"),
            ("64KiB..8MiB", "64KiB", "such as 64KiB..8MiB"),
            (">= communication", "> communication", "neither `>= communication` nor"),
            (">= communication", "20ms..10us", "computation: `20ms..10us`"),
            ("ratio <= 0.2", "ratio < 0.2", "bound: `ratio < 0.2`"),
            ("ratio <= 0.2", "ratio <= -1", "at least 0"),
            ("ratio <= 0.2", "slowdown <= 2", "state it as `ratio <= NUMBER`"),
            ("what =", "whatever =", "unknown field `whatever`"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = Target::parse(&good.replacen(from, to, 1), "x.toml")
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("x.toml: ") && error.contains(part), "{error}");
        }
        let load = embedded("targets")
            .into_iter()
            .find(|(file, _)| file.ends_with("/OV_THREADS.toml"))
            .unwrap()
            .1;
        let error = Target::parse(&format!("computation = \">= communication\"\n{load}"), "x.toml").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("line 1: computation: threads compute all the time"),
            "{error}"
        );
    }
}
