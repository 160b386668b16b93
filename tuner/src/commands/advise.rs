//! `kilter advise`: statistics that a library printed, profiles and traces, and what follows from them.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_advise::listing::Listing;
use kilter_advise::{formats, judge, render, rules};
use kilter_model::reading;
use kilter_model::survey::Survey;
use kilter_profiling::{counters, store};
use kilter_protocol::overlap::Benchmark;
use kilter_tracing::counters::Side;
use kilter_tracing::matching;

use super::{Status, print, trace};
use crate::cli::{Advise, AdviseFormat};

/// Bytes that a file may have: it is read into memory as a whole.
const MOST_BYTES: u64 = 64 << 20;

pub(super) fn run(typed: &Advise) -> anyhow::Result<Status> {
    let mut all = rules::load_embedded()?;
    for path in &typed.advice_file {
        let file = path.display().to_string();
        all.extend(rules::parse(&text(path)?, &file)?);
        rules::check_ids(&all, &file)?;
    }
    let (surveys, files) = surveys(&typed.files)?;
    anyhow::ensure!(
        files.iter().any(|path| path.is_dir()) || surveys.is_empty(),
        "an overlap map says what of a trace could be hidden, and no trace is given; give the directory that `kilter trace` made as well"
    );
    let mut listings = Vec::new();
    for path in files {
        listings.extend(of_file(path, &surveys)?);
    }
    let judged = judge(&all, &formats::joined(listings));
    print(&match typed.format {
        AdviseFormat::Text => render::text(&judged),
        AdviseFormat::Json => kilter_render::json::text(&judged)?,
        AdviseFormat::Markdown => render::markdown(&judged),
    })?;
    Ok(if judged.advice.is_empty() {
        Status::Holds
    } else {
        Status::Violations
    })
}

/// The overlap maps among the files, and the other files.
fn surveys(files: &[PathBuf]) -> anyhow::Result<(Vec<Survey>, Vec<&Path>)> {
    let (mut surveys, mut others) = (Vec::new(), Vec::new());
    for path in files {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        match is_json
            .then(|| text(path))
            .transpose()?
            .as_deref()
            .map(serde_json::from_str)
        {
            Some(Ok(survey)) => surveys.push(survey),
            // Another listing in JSON, or none, which the reader of listings says.
            Some(Err(_)) | None => others.push(path.as_path()),
        }
    }
    Ok((surveys, others))
}

/// The share of a message that the first map hides which says something of it.
fn hidden(surveys: &[Survey], side: Side, bytes: u64, work_ns: u64) -> Option<f64> {
    let benchmark = match side {
        Side::Sender => Benchmark::Sender,
        Side::Receiver => Benchmark::Receiver,
    };
    let ratio = |survey: &Survey| reading::nearest_ratio(survey, benchmark, bytes, work_ns);
    surveys.iter().find_map(ratio).map(|ratio| 1.0 - ratio)
}

/// The listings of a file that a library printed, of a profile, or of the directory of a trace.
fn of_file(path: &Path, surveys: &[Survey]) -> anyhow::Result<Vec<Listing>> {
    let counters = if path.is_dir() {
        let trace = trace::read(path)?;
        let hides = |side, bytes, work_ns| hidden(surveys, side, bytes, work_ns);
        kilter_tracing::counters::text(&trace, &matching::matches(&trace), &hides)
    } else if store::is_profile(path) {
        counters::text(&store::read(path)?)
    } else {
        return Ok(formats::read(&text(path)?, &name(path))?);
    };
    let listings = formats::read(&counters, &name(path))?;
    Ok(listings.into_iter().map(Listing::without_lines).collect())
}

/// Name of a file in messages.
fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Text of a file; bytes that are no UTF-8 become U+FFFD.
fn text(path: &Path) -> anyhow::Result<String> {
    let name = name(path);
    let cannot = || format!("`{name}` cannot be read");
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .with_context(cannot)?;
    } else {
        let file = std::fs::File::open(path).with_context(cannot)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(cannot)?;
    }
    anyhow::ensure!(
        bytes.len() as u64 <= MOST_BYTES,
        "`{name}` has more than {} MiB; give the part of it that has the statistics",
        MOST_BYTES >> 20
    );
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(files: &[&Path], advice: &[&Path]) -> Advise {
        let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
        Advise {
            files: owned(files),
            advice_file: owned(advice),
            format: AdviseFormat::Json,
        }
    }

    const RULE: &str = r#"
[[rules]]
id = "SITE_ALLREDUCE"
title = "Allreduce is called"
formats = ["openmpi-spc"]
when = ["calls > 0"]
seen = "{calls} calls"
change = "Nothing."
place = "Nowhere."
why = "A test."
source = "The site"
step = "true"
quantities = { calls = { sum = ["OMPI_SPC_ALLREDUCE"] } }
"#;

    #[test]
    fn the_status_is_1_with_advice_and_0_without() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("job.log");
        std::fs::write(&log, "MPI_COMM_WORLD Rank 0:\nOMPI_SPC_ALLREDUCE -> 5\n").unwrap();
        assert_eq!(run(&typed(&[&log], &[])).unwrap(), Status::Holds);
        let rule = directory.path().join("site.toml");
        std::fs::write(&rule, RULE).unwrap();
        assert_eq!(run(&typed(&[&log], &[&rule])).unwrap(), Status::Violations);
        let twice = run(&typed(&[&log], &[&rule, &rule])).unwrap_err().to_string();
        assert!(twice.contains("the id `SITE_ALLREDUCE` is another rule's"), "{twice}");
    }

    #[test]
    fn a_profile_is_read_as_it_is() {
        use kilter_profiling::profile::{Calls, Communicator, Profile, Rank};

        let rank = |rank: u32| Rank {
            rank,
            host: "node1".to_owned(),
            seconds: 10.0,
            finalized: true,
            missing: kilter_protocol::calls::End {
                lost_calls: 0,
                lost_messages: 0,
                lost_receives: 0,
                failed_calls: 0,
            },
        };
        let calls = |rank: u32, seconds: f64| Calls {
            rank,
            communicator: Some(0),
            function: "MPI_Bcast".to_owned(),
            site: None,
            bucket: 13,
            datatype: "real".to_owned(),
            operator: String::new(),
            calls: 100,
            seconds,
            shortest: 0.001,
            longest: 1.0,
            bytes: 409_600,
            requests: 0,
            measured: kilter_profiling::split::Measured::default(),
        };
        let profile = Profile {
            world: 2,
            ranks: vec![rank(0), rank(1)],
            communicators: vec![Communicator {
                name: "world".to_owned(),
                label: String::new(),
                ranks: 2,
                nodes: 1,
                ranks_per_node: 2,
            }],
            calls: vec![calls(0, 1.0), calls(1, 5.0)],
            ..Profile::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("app.db");
        store::write(&profile, &file).unwrap();
        assert_eq!(run(&typed(&[&file], &[])).unwrap(), Status::Violations);
        let listing = formats::read(&counters::text(&profile), "app.db").unwrap();
        let judged = judge(&rules::load_embedded().unwrap(), &listing);
        let ids: Vec<&str> = judged.advice.iter().map(|advice| advice.id.as_str()).collect();
        assert_eq!(
            ids,
            ["PROFILE_LATE_RANKS", "PROFILE_UNEVEN_WORK", "PROFILE_COLLECTIVES"]
        );
        assert!((judged.advice[0].seconds.unwrap() - 4.0).abs() < 1e-9);
        // Another database is no profile, and no listing.
        let other = directory.path().join("kilter.db");
        kilter_bench::store::Store::open(&other).unwrap();
        assert!(!store::is_profile(&other));
        let error = format!("{:#}", run(&typed(&[&other], &[])).unwrap_err());
        assert!(error.contains("no line of it is of a known listing"), "{error}");
    }

    #[test]
    fn a_directory_is_a_trace_and_one_without_ranks_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = format!("{:#}", run(&typed(&[directory.path()], &[])).unwrap_err());
        assert!(error.contains(&*directory.path().to_string_lossy()), "{error}");
    }

    #[test]
    fn an_overlap_map_without_a_trace_says_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let map = directory.path().join("overlap.json");
        let survey = kilter_fixtures::survey::without_threads();
        std::fs::write(&map, serde_json::to_string(&survey).unwrap()).unwrap();
        let error = format!("{:#}", run(&typed(&[&map], &[])).unwrap_err());
        assert!(error.contains("give the directory that `kilter trace` made"), "{error}");
        let both = [map, directory.path().to_path_buf()];
        let (surveys, others) = surveys(&both).unwrap();
        assert_eq!((surveys.len(), others), (1, vec![directory.path()]));
        // The fixture's receiver overlaps short messages and no long ones.
        let share = |bytes| hidden(&surveys, Side::Receiver, bytes, 64_000).unwrap();
        assert!(
            share(8192) > 0.8 && share(1 << 20) < 0.2,
            "{} {}",
            share(8192),
            share(1 << 20)
        );
    }

    #[test]
    fn commands_with_which_advice_ends_can_be_typed() {
        use clap::Parser as _;
        let guidelines = kilter_model::config::guideline::load_embedded().unwrap();
        let mut commands = 0;
        for rule in rules::load_embedded().unwrap() {
            let step = rule.step();
            if !step.starts_with("kilter ") {
                continue;
            }
            commands += 1;
            let command = step.split('#').next().unwrap_or_default();
            let words: Vec<String> = command
                .split_whitespace()
                .map(|word| word.trim_matches('\'').replace("{dearest.call}", "allreduce"))
                .collect();
            let cli = crate::cli::Cli::try_parse_from(&words).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
            drop(cli);
            if let Some(at) = words.iter().position(|word| word == "--guidelines") {
                let named = kilter_model::config::guideline::select(&guidelines, &words[at + 1..=at + 1]).unwrap();
                assert!(!named.is_empty(), "{}", rule.id);
            }
        }
        assert!(commands >= 8, "{commands}");
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing.log");
        let error = format!("{:#}", run(&typed(&[&missing], &[])).unwrap_err());
        assert!(error.contains("missing.log` cannot be read: "), "{error}");
        let other = directory.path().join("other.log");
        std::fs::write(&other, [0xff, b'\n', 0xfe]).unwrap();
        let error = format!("{:#}", run(&typed(&[&other], &[])).unwrap_err());
        assert!(
            error.contains("other.log: no line of it is of a known listing"),
            "{error}"
        );
    }
}
