//! Carriers of a job's messages, as the running job says them.
//!
//! [`ask`] starts one short job under the settings that make its library and the transports talk, and [`heard`] reads what it printed, with a
//! reader each for every library and every shared transport. A setting of a transport is only proposed if that one carries messages here.

pub mod devices;
mod libfabric;
mod mpich;
mod open_mpi;
mod ucx;

use std::collections::BTreeMap;

use kilter_bench::launch::capture::{CaptureError, capture_at_most};
use kilter_bench::programs::Programs;
use kilter_model::config::library::{Library, Reader, Speech};
use kilter_model::config::transport::{self, Transport};
use kilter_model::options::Options;
use kilter_protocol::machine::Machine;
use kilter_search::heard::Heard;

use crate::launcher;

/// Limit of what is kept. A rank prints some 100 lines.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// Names that a reader finds, in the order of the text.
type Names = Vec<String>;

/// The reader's function.
fn reader(reader: Reader) -> fn(&str) -> Names {
    match reader {
        Reader::Libfabric => libfabric::read,
        Reader::Mpich => mpich::read,
        Reader::OpenMpi => open_mpi::read,
        Reader::Ucx => ucx::read,
    }
}

/// The version that a shared transport prints, where its reader knows the words.
fn version(reader: Reader, text: &str) -> Option<String> {
    match reader {
        Reader::Ucx => ucx::version(text),
        Reader::Libfabric | Reader::Mpich | Reader::OpenMpi => None,
    }
}

/// Transports of the library that it shares with others, by its name for them. An error is a mistake in one of their files.
pub fn shared(library: &Library) -> anyhow::Result<BTreeMap<String, Transport>> {
    let mut all = transport::load_embedded()?;
    let names = library.transports.shared.iter();
    Ok(names
        .filter_map(|(name, id)| Some((name.clone(), all.remove(id)?)))
        .collect())
}

/// Starts a job that talks, and returns the transports in use with their versions, and the devices of its hosts. There are no transports if the
/// library has no words for them, or none were understood. An error is a job that does not start.
pub fn ask(options: &Options, library: &Library, programs: &Programs) -> anyhow::Result<Heard> {
    ask_under(options, library, programs, &BTreeMap::new())
}

/// The same under parameters that win over the site's.
pub fn ask_under(
    options: &Options,
    library: &Library,
    programs: &Programs,
    instead: &BTreeMap<String, String>,
) -> anyhow::Result<Heard> {
    let Some(own) = &library.transports.speech else {
        return Ok(Heard::default());
    };
    let shared = shared(library)?;
    let speeches: Vec<&Speech> = std::iter::once(own)
        .chain(shared.values().map(|one| &one.speech))
        .collect();
    let mut parameters = options.site_parameters.clone();
    parameters.retain(|(name, _)| !instead.contains_key(name));
    parameters.extend(instead.iter().map(|(name, value)| (name.clone(), value.clone())));
    let mut environment = options.site_environment.clone();
    for speech in speeches {
        let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
        parameters.extend(speech.parameters.iter().map(owned));
        environment.extend(speech.environment.iter().map(owned));
    }
    let words = [&programs.worker.display().to_string(), "describe", devices::DIRECTORY].map(str::to_owned);
    let command = launcher::template(options, library)?.build(options.ranks, &parameters, &environment, &words)?;
    let captured = capture_at_most(&command, launcher::limit(options), MAX_OUTPUT_BYTES)?;
    if !captured.status.success() {
        return Err(CaptureError::Failed {
            command: command.to_string(),
            status: captured.status,
            output: launcher::first_words(&captured.output),
        }
        .into());
    }
    Ok(heard_of(library, &shared, &captured.output))
}

/// The same from the text of a job of a library that talked. An error is a mistake in the file of a transport.
pub fn heard(library: &Library, text: &str) -> anyhow::Result<Heard> {
    Ok(heard_of(library, &shared(library)?, text))
}

fn heard_of(library: &Library, shared: &BTreeMap<String, Transport>, text: &str) -> Heard {
    let transports = in_use(library, shared, text);
    let versions = shared.iter().filter(|(name, _)| transports.contains(name));
    let versions = versions.filter_map(|(name, one)| Some((name.clone(), version(one.speech.reader, text)?)));
    let machine = text.lines().find_map(Machine::parse);
    Heard {
        versions: versions.collect(),
        devices: machine.as_ref().map(devices::on_every_host).unwrap_or_default(),
        transports,
        ..Heard::default()
    }
}

fn in_use(library: &Library, shared: &BTreeMap<String, Transport>, text: &str) -> Names {
    let Some(speech) = &library.transports.speech else {
        return Vec::new();
    };
    let mut said = unique(reader(speech.reader)(text));
    if said.is_empty() {
        return said;
    }
    if speech.reader == Reader::Mpich {
        said = with_usual(library, shared, said, text);
    }
    let carrying: Names = said.clone();
    for name in carrying {
        if let Some(transport) = shared.get(&name) {
            let own = unique(reader(transport.speech.reader)(text));
            said.extend(own.into_iter().map(|own| format!("{name}/{own}")));
        }
    }
    said
}

/// The usual transports of the job's placement, where only the network's was said.
fn with_usual(library: &Library, shared: &BTreeMap<String, Transport>, said: Names, text: &str) -> Names {
    let machine = text.lines().find_map(Machine::parse);
    let hosts: Vec<String> = machine.into_iter().flat_map(|it| it.ranks).map(|it| it.host).collect();
    let is_between_hosts = hosts.iter().any(|host| Some(host) != hosts.first());
    let mut names = library.transports.usual(&hosts);
    names.retain(|name| !shared.contains_key(name) || said.contains(name));
    if is_between_hosts {
        names.extend(said);
    }
    unique(names)
}

fn unique(names: Names) -> Names {
    let mut once: Names = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// The transports in words: `ucx (posix, cma), tcp`.
#[must_use]
pub fn in_words(names: &[String]) -> String {
    let own = |name: &str| -> Vec<&str> {
        let own = names
            .iter()
            .filter_map(|other| other.strip_prefix(name)?.strip_prefix('/'));
        own.collect()
    };
    let main = names.iter().filter(|name| !name.contains('/'));
    let words = main.map(|name| match own(name).join(", ") {
        none if none.is_empty() => name.clone(),
        own => format!("{name} ({own})"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
