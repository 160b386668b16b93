//! `kilter-worker describe [-v VARIABLE]... [FILE]...`: describes the job and its hosts, for `kilter doctor`.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Context;
use kilter_mpi::info;
use kilter_mpi::mpit::ControlVariables;
use kilter_protocol::VERSION;
use kilter_protocol::machine::{self, MARK, Machine, RankPlace};

use crate::control::Control;
use crate::{clock, environment, processing_units};

/// Questions to each rank; the quickest answer counts.
const QUESTIONS: usize = 20;

/// Readings over which the cost of one is taken.
const READINGS: u32 = 10_000;

/// The question: variables and files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    variables: Vec<String>,
    files: Vec<String>,
}

impl Question {
    /// Reads the arguments after `describe`.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Question {
        let mut question = Question::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            if argument == "-v" {
                question.variables.extend(arguments.next());
            } else {
                question.files.push(argument);
            }
        }
        question
    }
}

/// Gathers and prints on rank 0. Called by all ranks.
///
/// # Errors
/// The library's, or a standard output that is gone.
pub(crate) fn describe(question: &Question) -> anyhow::Result<()> {
    let control = Control::new().context("the ranks' private communicator")?;
    let variables = ControlVariables::open()?;
    let host = info::host_name()?;
    let own = serde_json::to_vec(&(&host, processing_units::bound()))?;
    let mut places = Vec::new();
    for facts in control.gather(own)? {
        let (host, cpus): (String, String) = serde_json::from_slice(&facts).context("facts of a rank")?;
        places.push(RankPlace {
            host,
            cpus,
            ..RankPlace::default()
        });
    }
    let hosts = hosts(&control, &host, &places, &question.files)?;
    ask_clocks(&control, &mut places)?;
    if control.is_root() {
        let machine = Machine {
            v: VERSION,
            library: info::library_description()?,
            ranks: places,
            clock_tick_seconds: clock::tick_seconds(),
            clock_read_seconds: read_seconds(),
            malloc_maps_from_bytes: environment::malloc_maps_from_bytes(),
            variables: question
                .variables
                .iter()
                .filter_map(|name| Some((name.clone(), variables.read(name).ok()?)))
                .collect(),
            hosts,
        };
        // In one piece: other ranks and the library may print as well.
        let line = format!("{MARK}{}\n", serde_json::to_string(&machine)?);
        std::io::stdout().write_all(line.as_bytes())?;
        std::io::stdout().flush()?;
    }
    control.free().context("the ranks' private communicator")
}

/// The files of each host, read by its first rank.
fn hosts(
    control: &Control,
    own: &str,
    places: &[RankPlace],
    files: &[String],
) -> anyhow::Result<BTreeMap<String, BTreeMap<String, String>>> {
    let mut readers = BTreeMap::new();
    for (rank, place) in places.iter().enumerate() {
        readers.entry(place.host.clone()).or_insert(rank);
    }
    let told = control.broadcast(
        control
            .is_root()
            .then(|| serde_json::to_vec(&readers))
            .transpose()?
            .as_deref(),
    )?;
    let readers: BTreeMap<String, usize> = if control.is_root() {
        readers
    } else {
        serde_json::from_slice(&told).context("the hosts' readers")?
    };
    let read = if readers.get(own) == Some(&control.rank()) {
        serde_json::to_vec(&(own, machine::read_files(files)))?
    } else {
        Vec::new()
    };
    let mut hosts = BTreeMap::new();
    for text in control.gather(read)?.iter().filter(|text| !text.is_empty()) {
        let (host, files): (String, BTreeMap<String, String>) =
            serde_json::from_slice(text).context("files of a host")?;
        hosts.insert(host, files);
    }
    Ok(hosts)
}

/// Asks each rank for its time; the middle of the quickest question is when it was read.
fn ask_clocks(control: &Control, places: &mut [RankPlace]) -> anyhow::Result<()> {
    if !control.is_root() {
        for _ in 0..QUESTIONS {
            control.answer(0, clock::now_ns)?;
        }
        return Ok(());
    }
    for (rank, place) in places.iter_mut().enumerate().skip(1) {
        let mut quickest_ns = u64::MAX;
        for _ in 0..QUESTIONS {
            let asked_ns = clock::now_ns();
            let theirs_ns = control.ask(rank)?;
            let round_trip_ns = clock::now_ns().saturating_sub(asked_ns);
            if round_trip_ns < quickest_ns {
                quickest_ns = round_trip_ns;
                let middle_ns = asked_ns + round_trip_ns / 2;
                place.clock_offset_ns = theirs_ns.wrapping_sub(middle_ns).cast_signed();
                place.round_trip_ns = round_trip_ns;
            }
        }
    }
    Ok(())
}

/// Mean cost of reading the clock, in seconds.
fn read_seconds() -> f64 {
    let begin_ns = clock::now_ns();
    for _ in 0..READINGS {
        std::hint::black_box(clock::now_ns());
    }
    clock::now_ns().saturating_sub(begin_ns) as f64 / 1e9 / f64::from(READINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_variables_and_files() {
        let words = ["-v", "btl", "/proc/stat", "-v", "pml", "/proc/meminfo"];
        let question = Question::parse(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(question.variables, ["btl", "pml"]);
        assert_eq!(question.files, ["/proc/stat", "/proc/meminfo"]);
    }

    #[test]
    fn reading_the_clock_takes_time() {
        assert!(read_seconds() > 0.0);
    }
}
