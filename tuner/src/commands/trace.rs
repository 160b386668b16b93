//! `kilter trace`: runs a program with the tracer, and shows which messages it sent.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, ensure};
use kilter_profiling::places;
use kilter_protocol::trace::{
    CLOCKS_VARIABLE, Clocks, DIRECTORY_VARIABLE, HASH_VARIABLE, LIMIT_VARIABLE, WHEN_FULL_VARIABLE, WhenFull,
};
use kilter_tracing::job::{self, Job};
use kilter_tracing::trace::Trace;
use kilter_tracing::{counters, events, gather, matching, otf2, perfetto, summary, text};

use super::traced::{self, Programs};
use super::{Status, print};
use crate::cli::{self, ClocksOf, Full, StoredTrace, TraceExport, TraceFormat, TraceRun, TraceShow};

pub(super) fn run(typed: cli::Trace) -> anyhow::Result<Status> {
    match typed.stored {
        Some(StoredTrace::Show(typed)) => show(&typed),
        Some(StoredTrace::Export(typed)) => export(&typed),
        None => record(&typed.run),
    }
}

/// The trace in a directory, with lines of the source.
pub(super) fn read(directory: &Path) -> anyhow::Result<Trace> {
    let mut trace = gather::gather(directory)?;
    places::resolve(&mut trace.sites);
    Ok(trace)
}

fn show(typed: &TraceShow) -> anyhow::Result<Status> {
    let trace = read(&typed.directory)?;
    if !typed.events {
        print(&rendered(&trace, typed.format)?)?;
        return Ok(Status::Holds);
    }
    ensure!(
        typed.format != TraceFormat::Counters,
        "--format: counters are sums over events; allowed with --events: text, json"
    );
    if let Some(rank) = typed.rank {
        ensure!(
            trace.rank(rank).is_some(),
            "--rank: `{}` has no file of rank {rank} of {}",
            typed.directory.display(),
            trace.world
        );
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    events::write(&trace, typed.rank, typed.format == TraceFormat::Json, &mut out)?;
    Ok(Status::Holds)
}

fn rendered(trace: &Trace, format: TraceFormat) -> anyhow::Result<String> {
    let matches = matching::matches(trace);
    Ok(match format {
        TraceFormat::Text => text::text(&summary::of(trace, &matches)),
        TraceFormat::Json => kilter_render::json::text(&summary::of(trace, &matches))?,
        TraceFormat::Counters => counters::text(trace, &matches, &|_, _, _| None),
    })
}

fn export(typed: &TraceExport) -> anyhow::Result<Status> {
    let trace = read(&typed.directory)?;
    if let Some(path) = &typed.perfetto {
        let cannot = || format!("--perfetto: `{}` cannot be written", path.display());
        let file = File::create(path).with_context(cannot)?;
        perfetto::write(&trace, &matching::matches(&trace), &mut BufWriter::new(file)).with_context(cannot)?;
    }
    if let Some(directory) = &typed.otf2 {
        otf2::write(&trace, directory, typed.otf2_library.as_deref())?;
    }
    Ok(Status::Holds)
}

/// Source of one time for several nodes: as it is given, else the day where a colon divides the command into several programs.
fn clocks(given: Option<ClocksOf>, command: &[String]) -> Clocks {
    match given {
        Some(ClocksOf::Day) => Clocks::Day,
        Some(ClocksOf::Compared) => Clocks::Compared,
        None if traced::is_of_several_programs(command) => Clocks::Day,
        None => Clocks::Compared,
    }
}

fn record(typed: &TraceRun) -> anyhow::Result<Status> {
    let programs = Programs::find(&typed.traced)?;
    let directory =
        std::path::absolute(&typed.out).with_context(|| format!("--out: `{}` is no path", typed.out.display()))?;
    std::fs::create_dir(&directory).with_context(|| {
        format!(
            "--out: `{}` cannot be made; it must not be there (remove it, or give another name), and the directory above it must",
            typed.out.display()
        )
    })?;
    let when_full = match typed.when_full {
        Full::Stop => WhenFull::Stop,
        Full::Ring => WhenFull::Ring,
    };
    let variables = [
        (DIRECTORY_VARIABLE, traced::text(&directory, "--out")?),
        (LIMIT_VARIABLE, typed.limit.to_string()),
        (WHEN_FULL_VARIABLE, when_full.word().to_owned()),
        (HASH_VARIABLE, typed.hash.to_string()),
        (
            CLOCKS_VARIABLE,
            clocks(typed.clocks, &typed.traced.command).word().to_owned(),
        ),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let gathered = traced::run(&programs, &typed.traced.command, &variables).and_then(|status| {
        let job = Job {
            v: job::VERSION,
            command: traced::line(&typed.traced.command),
            status,
        };
        let trace = read(&directory);
        if trace.is_ok() {
            job::write(&job, &directory)?;
        }
        trace
            .map(|trace| (Trace { job, ..trace }, status))
            .map_err(|error| match status {
                0 => error,
                _ => error.context(format!("the command ended with status {status}")),
            })
    });
    let (trace, status) = match gathered {
        Ok(gathered) => gathered,
        Err(error) => {
            // Fails where a rank has left its file, which is kept.
            let _ = std::fs::remove_dir(&directory);
            return Err(error);
        }
    };
    print(&rendered(&trace, typed.format)?)?;
    eprintln!("kilter: the trace is in `{}`", typed.out.display());
    Ok(Status::Command(u8::try_from(status).unwrap_or(u8::MAX)))
}
