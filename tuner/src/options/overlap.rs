//! Validated options of `overlap`.

use std::collections::BTreeSet;

use kilter_model::options::{OptionError, Options, parse_bytes, parse_sizes, wrong};
use kilter_overlap::grid;
use kilter_overlap::options::{OverlapOptions, Suite};
use kilter_protocol::overlap::Benchmark;

use super::measuring;
use crate::cli;

/// Longest computation: half a second, because a job that computes gives no sign of life.
const LONGEST_NS: f64 = 5e8;

/// Validates the options of `overlap`.
pub fn overlap(typed: cli::Overlap) -> Result<OverlapOptions, OptionError> {
    let mut measure = typed.measure;
    refuse_what_means_nothing(&measure)?;
    let benchmarks = benchmarks(&typed.benchmarks)?;
    let repetitions = match measure.repetitions.parse::<u32>() {
        Ok(count) if count > 0 => count,
        _ => {
            let message = format!(
                "`{}` is no number of repetitions; give at least 1, 50 by default",
                measure.repetitions
            );
            return Err(wrong("--repetitions", message));
        }
    };
    "none".clone_into(&mut measure.repetitions);
    (measure.min_repetitions, measure.max_repetitions) = (Some(repetitions), repetitions);
    let sizes = sizes(&measure.sizes)?;
    let common = Options {
        sizes: sizes.clone(),
        ..measuring(measure)?
    };
    if common.ranks < 2 {
        return Err(wrong("--ranks", "a rank alone has nobody to send to; give at least 2"));
    }
    if typed.requests == 0 {
        return Err(wrong(
            "--requests",
            "`0` requests send nothing; give at least 1, 4 by default",
        ));
    }
    if typed.threads == Some(0) {
        return Err(wrong("--threads", "without a thread there is no load; give at least 1"));
    }
    let suite = Suite {
        benchmarks,
        computations_ns: computations(&typed.computation)?,
        threads: typed.threads,
        model: typed.model.model(),
        requests: typed.requests,
        repetitions,
        part_seconds: common.repetitions.seconds,
        full: typed.full,
        sizes,
    };
    Ok(OverlapOptions {
        common,
        suite,
        benchmark_adaptive: typed.benchmark_adaptive,
    })
}

/// Refuses options of other measuring commands. To accept them silently would be a false promise.
fn refuse_what_means_nothing(measure: &cli::Measure) -> Result<(), OptionError> {
    if !measure.guidelines.is_empty() || !measure.guideline_file.is_empty() {
        return Err(wrong("--guidelines", "overlap verifies none; `kilter check` does"));
    }
    if !measure.functions.is_empty() || measure.mix.is_some() || measure.profile.is_some() {
        return Err(wrong("--functions", "overlap takes what it measures from --benchmarks"));
    }
    if measure.platform.is_some() {
        return Err(wrong(
            "--platform",
            "a simulated machine computes nothing beside communication; run on a real one",
        ));
    }
    Ok(())
}

fn benchmarks(names: &[String]) -> Result<Vec<Benchmark>, OptionError> {
    let mut chosen = BTreeSet::new();
    for name in names {
        match name.as_str() {
            "all" => chosen.extend(Benchmark::ALL),
            "paper" => chosen.extend(&Benchmark::ALL[..6]),
            name => {
                let found = Benchmark::find(name).ok_or_else(|| {
                    let allowed: Vec<&str> = Benchmark::ALL.into_iter().map(Benchmark::name).collect();
                    wrong(
                        "--benchmarks",
                        format!("`{name}` is no benchmark; allowed: paper, all, {}", allowed.join(", ")),
                    )
                })?;
                chosen.insert(found);
            }
        }
    }
    Ok(Benchmark::ALL
        .into_iter()
        .filter(|benchmark| chosen.contains(benchmark))
        .collect())
}

/// Reads `--sizes` as other commands do, except that a plain range has powers of the square root of 2.
fn sizes(text: &str) -> Result<Vec<u64>, OptionError> {
    const OPTION: &str = "--sizes";
    let mut sizes = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((low, high)) if !high.contains(":x") => {
                sizes.extend(range(
                    OPTION,
                    part,
                    parse_bytes(OPTION, low)?,
                    parse_bytes(OPTION, high)?,
                )?);
            }
            _ => sizes.extend(parse_sizes(part)?),
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

fn range(option: &'static str, text: &str, low: u64, high: u64) -> Result<Vec<u64>, OptionError> {
    if low > high {
        return Err(wrong(option, format!("`{text}` is an empty range")));
    }
    Ok(grid::ladder(low, high))
}

/// Reads a list `10us,1ms`, or a range `1us..10ms` of powers of the square root of 2, or `1us..10ms:x4`; nanoseconds, ascending.
fn computations(text: &str) -> Result<Vec<u64>, OptionError> {
    const OPTION: &str = "--computation";
    let mut times = Vec::new();
    for part in text.split(',') {
        let Some((low, high)) = part.split_once("..") else {
            times.push(nanoseconds(OPTION, part)?);
            continue;
        };
        match high.split_once(":x") {
            None => times.extend(range(
                OPTION,
                part,
                nanoseconds(OPTION, low)?,
                nanoseconds(OPTION, high)?,
            )?),
            Some((high, factor)) => {
                let (low, high) = (nanoseconds(OPTION, low)?, nanoseconds(OPTION, high)?);
                let factor = factor.parse::<u64>().ok().filter(|factor| *factor >= 2);
                let factor = factor.ok_or_else(|| wrong(OPTION, format!("`{part}`: a factor is 2 or more")))?;
                range(OPTION, part, low, high)?;
                let powers = std::iter::successors(Some(low), |time| time.checked_mul(factor));
                times.extend(powers.take_while(|time| *time <= high));
            }
        }
    }
    times.sort_unstable();
    times.dedup();
    Ok(times)
}

/// Reads `300ns`, `1.5us`, `20ms` or `0.1s`.
fn nanoseconds(option: &'static str, text: &str) -> Result<u64, OptionError> {
    let text = text.trim();
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    units
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))
        .and_then(|(number, factor)| Some(number.trim_end().parse::<f64>().ok()? * factor))
        .filter(|ns| (1.0..=LONGEST_NS).contains(ns))
        .map(|ns| ns.round() as u64)
        .ok_or_else(|| {
            wrong(
                option,
                format!("`{text}` is no time from 1ns to 500ms, such as 300ns, 1.5us or 20ms"),
            )
        })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use kilter_protocol::overlap::Model;

    use super::*;

    fn options(arguments: &[&str]) -> Result<OverlapOptions, OptionError> {
        let words = ["kilter", "overlap"].iter().chain(arguments);
        match cli::Cli::try_parse_from(words).unwrap().command {
            cli::Command::Overlap(typed) => overlap(typed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn by_default_the_benchmarks_and_the_grid_of_the_paper() {
        let options = options(&[]).unwrap();
        let Suite {
            benchmarks,
            sizes,
            computations_ns,
            ..
        } = &options.suite;
        assert_eq!(benchmarks[..], Benchmark::ALL[..6]);
        assert_eq!((sizes.len(), sizes[0], sizes[1], sizes[38]), (39, 8, 11, 4 << 20));
        assert_eq!(
            (computations_ns.len(), computations_ns[0], computations_ns[1]),
            (27, 1000, 1414)
        );
        // The default is as many threads as rank 0's host has processing units.
        assert_eq!(options.suite.threads, None);
        let threads = |units| -> Vec<u32> {
            let grid = options.suite.grid(Benchmark::ThreadLoad, 2, units);
            grid.loads.iter().map(|load| load.threads).collect()
        };
        assert_eq!((threads(2), threads(6)), (vec![1, 2], vec![1, 2, 3, 4, 6]));
        assert_eq!((options.suite.repetitions, options.suite.part_seconds), (50, 1.0));
        assert_eq!((options.suite.model, options.suite.full), (Model::FixedWork, false));
        // A run is resumed by these.
        assert_eq!(options.common.sizes, *sizes);
        assert_eq!(
            (options.common.repetitions.min, options.common.repetitions.max),
            (50, 50)
        );
    }

    #[test]
    fn everything_can_be_asked_for() {
        let options = options(&[
            "--benchmarks=iallreduce,receiver",
            "--sizes=1KiB,1..16:x4",
            "--computation=20ms,1us..4us,1.5us",
            "--repetitions=7",
            "--model=clock",
            "--full",
            "--threads=3",
            "--requests=9",
        ])
        .unwrap();
        let suite = options.suite;
        assert_eq!(suite.benchmarks, [Benchmark::Receiver, Benchmark::Iallreduce]);
        assert_eq!(suite.sizes, [1, 4, 16, 1024]);
        assert_eq!(suite.computations_ns, [1000, 1414, 1500, 2000, 2828, 4000, 20_000_000]);
        assert_eq!(
            (suite.repetitions, suite.model, suite.requests),
            (7, Model::ClockSpin, 9)
        );
        assert_eq!((suite.full, suite.threads), (true, Some(3)));
        assert_eq!(suite.grid(Benchmark::ThreadLoad, 2, 64).loads.len(), 3);
        assert_eq!(computations("1us..20us:x4").unwrap(), [1000, 4000, 16_000]);
    }

    #[test]
    fn what_makes_no_sense_says_what_is_allowed() {
        for (arguments, part) in [
            (
                &["--benchmarks=sender,sending"][..],
                "allowed: paper, all, sender, receiver",
            ),
            (&["--computation=10"], "`10` is no time from 1ns to 500ms"),
            (&["--computation=2s"], "no time from"),
            (&["--computation=1ms..1us"], "empty range"),
            (&["--computation=1us..1ms:x1"], "a factor is 2 or more"),
            (&["--sizes=8..4"], "empty range"),
            (&["--sizes=8..4kb"], "is not a size"),
            (&["--repetitions=rse=0.02"], "--repetitions: `rse=0.02` is no number"),
            (&["--repetitions=0"], "give at least 1"),
            (&["--requests=0"], "give at least 1"),
            (&["--threads=0"], "at least 1"),
            (&["-n", "1"], "--ranks: a rank alone"),
            (&["--guidelines=GL8"], "`kilter check` does"),
            (&["--functions=reduce"], "--benchmarks"),
            (&["--platform=ib-32x1"], "on a real one"),
        ] {
            let message = options(arguments).unwrap_err().to_string();
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
}
