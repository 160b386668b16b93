//! A short job of the worker's that describes itself and its hosts.

use std::time::Duration;

use kilter_bench::launch::Limits;
use kilter_bench::launch::capture::{CaptureError, capture};
use kilter_bench::programs::Programs;
use kilter_model::config::library::Library;
use kilter_model::options::Options;
use kilter_protocol::VERSION;
use kilter_protocol::machine::Machine;

/// Answers of a job.
#[derive(Debug)]
pub struct Described {
    /// Its command line.
    pub command: String,
    /// One for the job, or one for each rank if the ranks do not find each other.
    pub machines: Vec<Machine>,
}

/// Launches the worker once with this question, in the words of `kilter-worker describe`. An error if no rank answers.
pub fn describe(
    options: &Options,
    library: &Library,
    programs: &Programs,
    environment: &[(String, String)],
    question: &[String],
) -> anyhow::Result<Described> {
    let mut words = vec![programs.worker.display().to_string(), "describe".to_owned()];
    words.extend_from_slice(question);
    let template = super::template(options, library)?;
    let command = template.build(options.ranks, &options.site_parameters, environment, &words)?;
    let captured = capture(&command, limit(options))?;
    let machines: Vec<Machine> = captured.output.lines().filter_map(Machine::parse).collect();
    if machines.is_empty() || (machines.len() == 1 && !captured.status.success()) {
        return Err(CaptureError::Failed {
            command: command.to_string(),
            status: captured.status,
            output: first_words(&captured.output),
        }
        .into());
    }
    for machine in &machines {
        anyhow::ensure!(
            machine.v == VERSION,
            "`{}` speaks version {} of Kilter's protocol, and this `kilter` version {VERSION}; build both from one source",
            programs.worker.display(),
            machine.v
        );
    }
    Ok(Described {
        command: command.to_string(),
        machines,
    })
}

/// Time in which a short job has to end: that of a job's start, which grows with its ranks.
pub fn limit(options: &Options) -> Duration {
    let limits = Limits::of_job(
        options.stall_seconds.map(|seconds| seconds.min(1e6)),
        options.ranks,
        None,
    );
    Duration::from_secs_f64(limits.start_seconds)
}

/// First words of a failed launch, in one line.
pub fn first_words(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| line.chars().any(char::is_alphanumeric))
        .take(3)
        .collect();
    if lines.is_empty() {
        "no output".to_owned()
    } else {
        lines.join(" / ").chars().take(400).collect()
    }
}
