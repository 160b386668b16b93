//! From the ranks' files to a profile.

mod found;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use kilter_protocol::calls::{self, EXTENSION};
use kilter_protocol::sampling::Choice;

use crate::clocks::{Clocks, Known};
use crate::members::{self, MOST_RANKS};
use crate::profile::{Calls, Communicator, Messages, Profile, Rank, Received, Sampling, Site};
use crate::split::{self, Job, Measured, Sample};
use found::Found;

/// Files that are no profile.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// A file or directory cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// There is none.
    #[error(
        "no rank left its counts in `{}`: is the program linked with the MPI library dynamically, does it call MPI_Init, and can its nodes \
         write to this directory? (--scratch DIR names another one)", directory.display()
    )]
    Nothing {
        /// The directory.
        directory: PathBuf,
    },
    /// A line is not the tracer's.
    #[error("{}:{line}: {message}; libkilter_tracer.so and kilter must be of one build", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// Mistake.
        message: String,
    },
    /// No program leaves this.
    #[error("`{}`: {what}: a file is damaged; profile the program again", directory.display())]
    Damaged {
        /// The directory.
        directory: PathBuf,
        /// The objection.
        what: &'static str,
    },
    /// The end is missing.
    #[error("{}: the file ends too soon: the disk may be full", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// Several MPI programs ran.
    #[error(
        "{first} and {second} are both of rank {rank}: the command runs several MPI programs; profile them one at a time"
    )]
    Twice {
        /// One file.
        first: String,
        /// The other one.
        second: String,
        /// Their rank.
        rank: u32,
    },
}

/// Gathers the files of a directory. Command and status are the caller's to fill in.
pub fn gather(directory: &Path) -> Result<Profile, GatherError> {
    let cannot = |source| GatherError::Read {
        path: directory.to_owned(),
        source,
    };
    let mut found: BTreeMap<u32, Found> = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if !path.to_string_lossy().ends_with(&format!(".{EXTENSION}")) {
            continue;
        }
        let one = Found::read(&path)?;
        let rank = one.rank.rank;
        if let Some(other) = found.get(&rank) {
            let mut names = [other.name.clone(), one.name];
            names.sort();
            let [first, second] = names;
            return Err(GatherError::Twice { first, second, rank });
        }
        found.insert(rank, one);
    }
    let Some(first) = found.values().next() else {
        return Err(GatherError::Nothing {
            directory: directory.to_owned(),
        });
    };
    let (library, world) = (first.rank.library.clone(), first.rank.ranks);
    let profile = joined(found.into_values().collect(), library, world);
    match profile.objection() {
        Some(what) => Err(GatherError::Damaged {
            directory: directory.to_owned(),
            what,
        }),
        None => Ok(profile),
    }
}

fn joined(found: Vec<Found>, library: String, world: u32) -> Profile {
    let hosts: BTreeMap<u32, String> = found.iter().map(|one| (one.rank.rank, one.rank.host.clone())).collect();
    let mut profile = Profile {
        library,
        world,
        ..Profile::default()
    };
    let mut sampled = Sampled::default();
    let mut communicators: BTreeMap<String, usize> = BTreeMap::new();
    let mut sites: BTreeMap<Site, usize> = BTreeMap::new();
    for one in found {
        let rank = one.rank.rank;
        let mut own_communicators = BTreeMap::new();
        for communicator in &one.communicators {
            let (described, members) = described(communicator, world, &hosts);
            let all = &mut profile.communicators;
            let number = *communicators.entry(described.name.clone()).or_insert_with(|| {
                all.push(described.clone());
                sampled.members.push(members);
                all.len() - 1
            });
            if let Some(known) = all.get_mut(number).filter(|known| known.label.is_empty()) {
                known.label = described.label;
            }
            own_communicators.insert(communicator.id, number);
        }
        let mut own_sites = BTreeMap::new();
        for site in &one.sites {
            let described = Site {
                module: site.module.clone(),
                offset: site.offset,
                symbol: site.symbol.clone(),
                source: String::new(),
            };
            let next = sites.len();
            own_sites.insert(site.id, *sites.entry(described).or_insert(next));
        }
        sampled.add(&one, profile.calls.len(), &own_communicators);
        profile.ranks.push(Rank {
            rank,
            host: one.rank.host,
            seconds: one.rank.seconds,
            finalized: one.rank.finalized,
            missing: one.end,
        });
        profile.calls.extend(one.calls.into_iter().map(|calls| Calls {
            rank,
            communicator: calls.communicator.and_then(|id| own_communicators.get(&id).copied()),
            function: calls.function,
            site: calls.site.and_then(|id| own_sites.get(&id).copied()),
            bucket: calls.bucket,
            datatype: calls.datatype.unwrap_or_default(),
            operator: calls.operator.unwrap_or_default(),
            calls: calls.calls,
            seconds: calls.seconds,
            shortest: calls.shortest,
            longest: calls.longest,
            bytes: calls.bytes,
            requests: calls.requests,
            measured: Measured::default(),
        }));
        profile.received.extend(one.received.into_iter().map(|line| Received {
            rank,
            from: line.from,
            function: line.function,
            site: line.site.and_then(|id| own_sites.get(&id).copied()),
            calls: line.calls,
            seconds: line.seconds,
            bytes: line.bytes,
        }));
        profile.messages.extend(one.messages.into_iter().map(|line| Messages {
            from: rank,
            to: line.to,
            messages: line.messages,
            bytes: line.bytes,
        }));
    }
    let mut by_number: Vec<(usize, Site)> = sites.into_iter().map(|(site, number)| (number, site)).collect();
    by_number.sort_by_key(|(number, _)| *number);
    profile.sites = by_number.into_iter().map(|(_, site)| site).collect();
    sampled.split(&mut profile);
    profile
}

/// The samples of all ranks, and what they are split by.
#[derive(Default)]
struct Sampled {
    /// Members of each communicator; none of those that are not all in the world.
    members: Vec<Vec<u32>>,
    samples: Vec<Sample>,
    choices: BTreeMap<u32, Choice>,
    clocks: BTreeMap<u32, Known>,
    interval: u32,
}

impl Sampled {
    /// Adds a rank whose calls begin at this place of the profile.
    fn add(&mut self, one: &Found, first: usize, communicators: &BTreeMap<u32, usize>) {
        let Some(sampling) = one.rank.sampling else { return };
        let rank = one.rank.rank;
        self.interval = sampling.interval;
        self.choices
            .insert(rank, Choice::new(sampling.interval, sampling.halvings));
        let known = Known {
            clock: sampling.clock,
            at_end: one.clock_at_end,
        };
        self.clocks.insert(rank, known);
        for line in &one.samples {
            let on = one.calls.get(line.of).and_then(|calls| calls.communicator);
            let Some(communicator) = on.and_then(|id| communicators.get(&id)) else {
                continue;
            };
            let times = line.begins_ns.iter().zip(&line.took_ns);
            for (at, (number, (begin_ns, took_ns))) in line.numbers.iter().zip(times).enumerate() {
                self.samples.push(Sample {
                    communicator: *communicator,
                    number: *number,
                    rank,
                    calls: first + line.of,
                    begin_ns: *begin_ns,
                    took_ns: *took_ns,
                    is_root: line.as_root.binary_search(&at).is_ok(),
                });
            }
        }
    }

    fn split(self, profile: &mut Profile) {
        let clocks = Clocks::new(self.clocks);
        let job = OfProfile {
            members: &self.members,
            choices: &self.choices,
            calls: &profile.calls,
        };
        let split = split::of(self.samples, profile.calls.len(), &clocks, &job);
        profile.sampling = Sampling {
            interval: self.interval,
            clocks: u32::try_from(clocks.count()).unwrap_or(u32::MAX),
            bound_ns: clocks.bound_ns(),
            unmatched: split.unmatched,
        };
        for (calls, measured) in profile.calls.iter_mut().zip(split.measured) {
            calls.measured = measured;
        }
    }
}

struct OfProfile<'p> {
    members: &'p [Vec<u32>],
    choices: &'p BTreeMap<u32, Choice>,
    calls: &'p [Calls],
}

impl Job for OfProfile<'_> {
    fn members(&self, communicator: usize) -> &[u32] {
        self.members.get(communicator).map(Vec::as_slice).unwrap_or_default()
    }

    fn function(&self, calls: usize) -> &str {
        self.calls.get(calls).map_or("", |calls| calls.function.as_str())
    }

    fn choice(&self, rank: u32) -> Choice {
        // A rank that left no file chose as the others did.
        self.choices.get(&rank).copied().unwrap_or(Choice::new(1, 0))
    }
}

/// A communicator, and its members if all of them are in the world and on one side.
fn described(
    communicator: &calls::Communicator,
    world: u32,
    hosts: &BTreeMap<u32, String>,
) -> (Communicator, Vec<u32>) {
    let sides = [Some(communicator.members.as_str()), communicator.remote.as_deref()];
    let members: Option<Vec<Option<u32>>> = sides
        .into_iter()
        .flatten()
        .map(|side| members::parse(side, MOST_RANKS as usize))
        .try_fold(Vec::new(), |mut all, side| {
            all.extend(side?);
            Some(all)
        });
    let members = members.unwrap_or_default();
    let ranks = u32::try_from(members.len()).unwrap_or(0).max(communicator.size);
    let known: Option<Vec<&String>> = members.iter().map(|rank| hosts.get(rank.as_ref()?)).collect();
    let mut on_nodes: BTreeMap<&String, u32> = BTreeMap::new();
    for host in known.unwrap_or_default() {
        *on_nodes.entry(host).or_insert(0) += 1;
    }
    let one_side = communicator.remote.is_none();
    let in_world: Option<Vec<u32>> = members.iter().filter(|_| one_side).copied().collect();
    let described = Communicator {
        name: members::name(
            &communicator.members,
            communicator.remote.as_deref(),
            communicator.sequence,
            (communicator.size, world),
        ),
        label: communicator.label.clone(),
        ranks,
        nodes: u32::try_from(on_nodes.len()).unwrap_or(0),
        ranks_per_node: on_nodes.values().copied().max().unwrap_or(0),
    };
    (described, in_world.unwrap_or_default())
}

/// Ranks that left no file.
#[must_use]
pub fn missing(profile: &Profile) -> Vec<u32> {
    let there: BTreeSet<u32> = profile.ranks.iter().map(|rank| rank.rank).collect();
    (0..profile.world).filter(|rank| !there.contains(rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn error_of(files: &[(&str, &str)]) -> String {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        gather(directory.path()).unwrap_err().to_string()
    }

    #[test]
    fn ranks_become_one_profile() {
        let profile = fixture::profile();
        assert_eq!((profile.world, profile.ranks.len()), (2, 2));
        let names: Vec<&str> = profile.communicators.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["world", "self"]);
        let world = &profile.communicators[0];
        assert_eq!((world.ranks, world.nodes, world.ranks_per_node), (2, 2, 1));
        assert_eq!(profile.sites.len(), 1, "one place of the program on both ranks");
        assert_eq!(missing(&profile), Vec::<u32>::new());
        assert_eq!(profile.messages.len(), 1);
    }

    #[test]
    fn what_is_no_profile_is_named_with_the_next_step() {
        let name = format!("rank-0.a.1.{EXTENSION}");
        let again = format!("rank-0.a.2.{EXTENSION}");
        let rank = fixture::rank_line(0);
        let whole = format!("{rank}\n{}\n", fixture::END);
        for (files, parts) in [
            (vec![], ["no rank left its counts", "--scratch"]),
            (vec![(name.as_str(), "{}\n")], [":1: ", "one build"]),
            (vec![(name.as_str(), fixture::END)], [":1: ", "first line"]),
            (vec![(name.as_str(), rank.as_str())], ["ends too soon", "disk"]),
            (
                vec![(name.as_str(), &whole), (again.as_str(), &whole)],
                ["both of rank 0", "one at a time"],
            ),
        ] {
            let error = error_of(&files);
            assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
        }
        let other = whole.replace("\"v\":2", "\"v\":9");
        assert!(error_of(&[(&name, &other)]).contains("version 9"));
    }
}
