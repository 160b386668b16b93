//! `kilter-worker describe [-v VARIABLE]... [-e NAME]... [FILE]...`: describes the job and its hosts, for `kilter doctor` and for the choice of a
//! library's description.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Context;
use kilter_mpi::info;
use kilter_mpi::mpit::ControlVariables;
use kilter_protocol::VERSION;
use kilter_protocol::json_line::JsonLine;
use kilter_protocol::machine::{self, MARK, Machine, RankPlace};
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::{clock, environment, processing_units};

/// Questions to each rank; the quickest answer counts.
const QUESTIONS: usize = 20;

/// Readings over which the cost of one is taken.
const READINGS: u32 = 10_000;

/// The question: variables of the library and of the environment, and files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    variables: Vec<String>,
    environment: Vec<String>,
    files: Vec<String>,
}

/// Facts of one rank.
#[derive(Serialize, Deserialize)]
struct Own {
    host: String,
    cpus: String,
    /// First line of the library's version.
    library: String,
    /// Values of the variables asked for, in their order.
    environment: Vec<Option<String>>,
}

impl Question {
    /// Reads the arguments after `describe`.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Question {
        let mut question = Question::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-v" => question.variables.extend(arguments.next()),
                "-e" => question.environment.extend(arguments.next()),
                _ => question.files.push(argument),
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
    let own = Own {
        host: host.clone(),
        cpus: processing_units::bound(),
        library: info::library_version()?,
        environment: question
            .environment
            .iter()
            .map(|name| std::env::var(name).ok())
            .collect(),
    };
    let mut ranks: Vec<Own> = Vec::new();
    for facts in control.gather(serde_json::to_vec(&own)?)? {
        ranks.push(serde_json::from_slice(&facts).context("facts of a rank")?);
    }
    let environment = alike(&question.environment, &ranks);
    let mut libraries = BTreeMap::new();
    let mut places = Vec::new();
    for Own {
        host, cpus, library, ..
    } in ranks
    {
        libraries.entry(host.clone()).or_insert(library);
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
            environment,
            libraries,
            hosts,
        };
        // In one piece: other ranks and the library may print as well.
        let line = format!("{MARK}{}\n", machine.to_json()?);
        std::io::stdout().write_all(line.as_bytes())?;
        std::io::stdout().flush()?;
    }
    control.free().context("the ranks' private communicator")
}

/// The variables that every rank has with the same value.
fn alike(names: &[String], ranks: &[Own]) -> BTreeMap<String, String> {
    let value_of = |at: usize| {
        let value = ranks.first()?.environment.get(at)?.as_ref()?;
        let is_same = |own: &Own| own.environment.get(at).and_then(Option::as_ref) == Some(value);
        ranks.iter().all(is_same).then(|| value.clone())
    };
    let values = names.iter().enumerate();
    values
        .filter_map(|(at, name)| Some((name.clone(), value_of(at)?)))
        .collect()
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
            .then(|| readers.to_json())
            .transpose()?
            .as_deref()
            .map(str::as_bytes),
    )?;
    let readers: BTreeMap<String, usize> = if control.is_root() {
        readers
    } else {
        JsonLine::from_json(&told).context("the hosts' readers")?
    };
    let read = if readers.get(own) == Some(&control.rank()) {
        (own.to_owned(), machine::read_files(files)).to_json()?.into_bytes()
    } else {
        Vec::new()
    };
    let mut hosts = BTreeMap::new();
    for text in control.gather(read)?.iter().filter(|text| !text.is_empty()) {
        let (host, files) = JsonLine::from_json(text).context("files of a host")?;
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
        let words = ["-v", "btl", "/proc/stat", "-v", "pml", "-e", "HOME", "/proc/meminfo"];
        let question = Question::parse(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(question.variables, ["btl", "pml"]);
        assert_eq!(question.environment, ["HOME"]);
        assert_eq!(question.files, ["/proc/stat", "/proc/meminfo"]);
    }

    #[test]
    fn a_variable_counts_where_all_ranks_have_it_alike() {
        let own = |environment: [Option<&str>; 3]| Own {
            host: "a".to_owned(),
            cpus: "0".to_owned(),
            library: String::new(),
            environment: environment.map(|value| value.map(str::to_owned)).to_vec(),
        };
        let names = ["SAME", "OTHER", "MISSING"].map(str::to_owned);
        let ranks = [
            own([Some("1"), Some("2"), Some("3")]),
            own([Some("1"), Some("9"), None]),
        ];
        assert_eq!(
            alike(&names, &ranks),
            BTreeMap::from([("SAME".to_owned(), "1".to_owned())])
        );
        assert_eq!(alike(&names, &[]), BTreeMap::new());
    }

    #[test]
    fn reading_the_clock_takes_time() {
        assert!(read_seconds() > 0.0);
    }
}
