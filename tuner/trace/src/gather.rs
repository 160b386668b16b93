//! From the ranks' files to a trace.
//!
//! Ranks of a node have one monotonic clock. Nodes are put together by what the ranks asked each other when the program began and ended, else by
//! their clocks of the day, which are as near to each other as the cluster's time service brings them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use kilter_profiling::clocks::{Clocks, Known};
use kilter_profiling::members::{self, MOST_RANKS};
use kilter_protocol::trace::EXTENSION;
use kilter_protocol::trace::read::{self, RankTrace};
use kilter_protocol::trace::record::Definition;

use crate::job::{self, JobError};
use crate::trace::{CommonClock, Communicator, Event, Rank, Site, Trace};

/// Files that are no trace.
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
        "no rank left a trace in `{}`: is the program linked with the MPI library dynamically, does it call MPI_Init, and can its nodes write \
         to this directory?", directory.display()
    )]
    Nothing {
        /// The directory.
        directory: PathBuf,
    },
    /// A file is not the tracer's.
    #[error("{}: {mistake}; libkilter_tracer.so and kilter must be of one build, and the file as it was written", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Mistake and its place.
        mistake: read::ReadError,
    },
    /// A rank is not in its world.
    #[error("{}: byte 8: rank {rank} of {ranks}", path.display())]
    Rank {
        /// The file.
        path: PathBuf,
        /// Rank.
        rank: u32,
        /// Ranks.
        ranks: u32,
    },
    /// Several MPI programs ran.
    #[error(
        "{first} and {second} are both of rank {rank}: the command runs several MPI programs; trace them one at a time"
    )]
    Twice {
        /// One file.
        first: String,
        /// The other one.
        second: String,
        /// Their rank.
        rank: u32,
    },
    /// `job.json` is wrong.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Gathers the files of a directory.
pub fn gather(directory: &Path) -> Result<Trace, GatherError> {
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |source| GatherError::Read { path, source }
    };
    let mut found: BTreeMap<u32, (String, RankTrace)> = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(cannot(directory))? {
        let path = entry.map_err(cannot(directory))?.path();
        if !path.to_string_lossy().ends_with(&format!(".{EXTENSION}")) {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(cannot(&path))?;
        let one = read::read(&bytes).map_err(|mistake| GatherError::Content {
            path: path.clone(),
            mistake,
        })?;
        let (rank, ranks) = (one.header.rank, one.header.ranks);
        if rank >= ranks || ranks > MOST_RANKS {
            return Err(GatherError::Rank { path, rank, ranks });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((other, _)) = found.get(&rank) {
            let mut names = [other.clone(), name];
            names.sort();
            let [first, second] = names;
            return Err(GatherError::Twice { first, second, rank });
        }
        found.insert(rank, (name, one));
    }
    if found.is_empty() {
        return Err(GatherError::Nothing {
            directory: directory.to_owned(),
        });
    }
    let ranks = found.into_values().map(|(_, rank)| rank).collect();
    Ok(Trace {
        job: job::read(directory)?,
        ..joined(ranks)
    })
}

/// Numbers that hold in all files.
#[derive(Default)]
struct Numbers {
    communicators: BTreeMap<String, usize>,
    sites: BTreeMap<Site, usize>,
    functions: BTreeMap<String, usize>,
}

/// One time for all ranks.
struct Times {
    /// Clocks that the ranks compared, if there is a way from each of them to that of rank 0.
    common: Option<Clocks>,
    /// Nanoseconds since 1970 at 0 of each host's clock.
    epochs: BTreeMap<String, i64>,
}

impl Times {
    fn of(ranks: &[RankTrace]) -> Times {
        let known = |rank: &RankTrace| {
            let known = Known {
                clock: rank.clock?,
                at_end: rank.clock_at_end,
            };
            Some((rank.header.rank, known))
        };
        let clocks = Clocks::new(ranks.iter().filter_map(known).collect());
        let is_common = |rank: &RankTrace| clocks.common_ns(rank.header.rank, rank.header.begin_ns).is_some();
        let common = (!ranks.is_empty() && ranks.iter().all(is_common)).then_some(clocks);
        let mut epochs: BTreeMap<String, i64> = BTreeMap::new();
        for rank in ranks {
            epochs.entry(rank.host.clone()).or_insert(rank.header.epoch_ns);
        }
        Times { common, epochs }
    }

    /// A time of a rank's clock on the clock of all.
    fn of_rank(&self, rank: &RankTrace, ns: u64) -> i128 {
        if let Some(clocks) = &self.common {
            return clocks.common_ns(rank.header.rank, ns).map_or(0, i128::from);
        }
        let epoch = self.epochs.get(&rank.host).copied().unwrap_or_default();
        i128::from(ns) + i128::from(epoch)
    }
}

/// Puts the traces of ranks together.
#[must_use]
pub fn joined(ranks: Vec<RankTrace>) -> Trace {
    let mut trace = Trace {
        library: ranks.first().map(|rank| rank.library.clone()).unwrap_or_default(),
        world: ranks.first().map_or(0, |rank| rank.header.ranks),
        ..Trace::default()
    };
    let times = Times::of(&ranks);
    trace.common_clock = times.common.as_ref().map(|clocks| CommonClock {
        clocks: clocks.count(),
        bound_ns: clocks.bound_ns(),
    });
    let real = |rank: &RankTrace, ns: u64| times.of_rank(rank, ns);
    let origin = ranks
        .iter()
        .map(|rank| real(rank, rank.header.begin_ns))
        .min()
        .unwrap_or(0);
    let mut numbers = Numbers::default();
    for rank in ranks {
        let time = |ns: u64| u64::try_from(real(&rank, ns) - origin).unwrap_or(0);
        let communicators = communicators_of(&rank, &mut numbers, &mut trace);
        let sites = sites_of(&rank, &mut numbers);
        let functions: BTreeMap<u8, usize> = rank
            .functions
            .iter()
            .map(|(number, name)| {
                let next = numbers.functions.len();
                (*number, *numbers.functions.entry(name.clone()).or_insert(next))
            })
            .collect();
        let mut lost_parts = rank.orphans;
        let mut events = Vec::new();
        for (thread, calls) in (0..).zip(&rank.threads) {
            for call in calls {
                if call.polls == 0 {
                    lost_parts += u64::from(call.lost_parts);
                }
                let mut parts = call.parts.clone();
                for part in &mut parts {
                    let own = part.plain.communicator.checked_sub(1);
                    let number = own.and_then(|own| communicators.get(&own));
                    part.plain.communicator = number.and_then(|number| u32::try_from(number + 1).ok()).unwrap_or(0);
                }
                events.push(Event {
                    thread,
                    begin_ns: time(call.begin_ns),
                    end_ns: time(call.end_ns),
                    function: functions.get(&call.function).copied().unwrap_or(usize::MAX),
                    communicator: call.communicator.and_then(|own| communicators.get(&own).copied()),
                    site: call.site.and_then(|own| sites.get(&own).copied()),
                    polls: call.polls,
                    parts,
                });
            }
        }
        events.sort_by_key(|event| event.begin_ns);
        trace.ranks.push(Rank {
            rank: rank.header.rank,
            host: rank.host.clone(),
            process: rank.header.process,
            begin_ns: time(rank.header.begin_ns),
            end_ns: rank.header.end_ns.map(time),
            finalized: rank.header.finalized,
            when_full: rank.header.when_full,
            limit: rank.header.limit,
            hash_limit: rank.header.hash_limit,
            lost_calls: rank.header.lost_calls,
            lost_parts,
            lost_definitions: rank.header.lost_definitions,
            failed_calls: rank.header.failed_calls,
            events,
        });
    }
    trace.ranks.sort_by_key(|rank| rank.rank);
    trace.sites = in_order(numbers.sites);
    trace.functions = in_order(numbers.functions);
    trace
}

fn in_order<T>(numbers: BTreeMap<T, usize>) -> Vec<T> {
    let mut all: Vec<(usize, T)> = numbers.into_iter().map(|(one, number)| (number, one)).collect();
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, one)| one).collect()
}

/// Places of a rank's communicators.
fn communicators_of(rank: &RankTrace, numbers: &mut Numbers, trace: &mut Trace) -> BTreeMap<u32, usize> {
    let mut places = BTreeMap::new();
    for definition in rank.communicators.values() {
        let Definition::Communicator {
            number,
            size,
            sequence,
            members,
            remote,
            label,
            ..
        } = definition
        else {
            continue;
        };
        let parsed = |text: &str| members::parse(text, MOST_RANKS as usize).unwrap_or_default();
        let name = members::name(members, remote.as_deref(), *sequence, (*size, rank.header.ranks));
        // Every rank has a communicator of its own with this name.
        let key = if name.starts_with("self") {
            format!("{name} {members}")
        } else {
            name.clone()
        };
        let all = &mut trace.communicators;
        let place = *numbers.communicators.entry(key).or_insert_with(|| {
            all.push(Communicator {
                name: name.clone(),
                label: String::new(),
                members: parsed(members),
                remote: remote.as_deref().map(parsed),
            });
            all.len() - 1
        });
        if let Some(known) = all.get_mut(place).filter(|known| known.label.is_empty()) {
            known.label.clone_from(label);
        }
        places.insert(*number, place);
    }
    places
}

fn sites_of(rank: &RankTrace, numbers: &mut Numbers) -> BTreeMap<u32, usize> {
    let mut places = BTreeMap::new();
    for definition in rank.sites.values() {
        let Definition::Site {
            number,
            offset,
            module,
            symbol,
        } = definition
        else {
            continue;
        };
        let site = Site {
            module: module.clone(),
            offset: *offset,
            symbol: symbol.clone(),
            source: String::new(),
        };
        let next = numbers.sites.len();
        places.insert(*number, *numbers.sites.entry(site).or_insert(next));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use kilter_protocol::calls;

    /// The clock of rank 1 is 7 s ahead, and its clock of the day 1 s late.
    #[test]
    fn clocks_that_were_compared_go_before_those_of_the_day() {
        let clock = |leader: u32, asks: Option<u32>| calls::Clock {
            leader,
            asks,
            at_begin: asks.map(|_| calls::Reading {
                own_ns: 7_000_001_000,
                offset_ns: -7_000_000_000,
                round_trip_ns: 40,
            }),
        };
        let of = |clocks: [Option<calls::Clock>; 2]| {
            let rank = |rank: u32, first: (u64, u64), clock: Option<calls::Clock>| {
                let definitions: Vec<Definition> = clock.map(Definition::Clock).into_iter().collect();
                read::read(&fixture::bytes_on(rank, first, &definitions)).unwrap()
            };
            joined(vec![
                rank(0, (1000, 5_000_000_000), clocks[0]),
                rank(1, (7_000_001_000, 4_000_000_000), clocks[1]),
            ])
        };
        let begins = |trace: &Trace| [0, 1].map(|rank: usize| trace.ranks[rank].begin_ns);
        let compared = of([Some(clock(0, None)), Some(clock(1, Some(0)))]);
        assert_eq!(begins(&compared), [0, 1], "MPI_Init ends 1 ns later on rank 1");
        let common = compared.common_clock.unwrap();
        assert_eq!((common.clocks, common.bound_ns), (2, 20));
        // Clocks cannot become one if a rank lacks its own.
        let alone = of([Some(clock(0, None)), None]);
        assert_eq!((alone.common_clock, begins(&alone)), (None, begins(&of([None, None]))));
        assert_ne!(begins(&alone), [0, 1]);
    }

    #[test]
    fn ranks_become_one_trace() {
        let trace = fixture::trace();
        assert_eq!(
            (trace.world, trace.ranks.len(), trace.library.as_str()),
            (2, 2, "Some MPI")
        );
        let names: Vec<&str> = trace.communicators.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["world"]);
        assert_eq!(trace.communicators[0].members, [Some(0), Some(1)]);
        assert_eq!(trace.sites.len(), 1, "one place of the program on both ranks");
        assert_eq!(trace.missing(), Vec::<u32>::new());
        let first = &trace.ranks[0];
        assert_eq!(first.begin_ns, 0);
        assert_eq!(trace.function(&first.events[0]), "MPI_Send");
        assert!(first.events.is_sorted_by_key(|event| event.begin_ns));
    }

    #[test]
    fn what_is_no_trace_is_named_with_the_next_step() {
        let error = |files: &[(&str, Vec<u8>)]| {
            let directory = tempfile::tempdir().unwrap();
            for (name, bytes) in files {
                std::fs::write(directory.path().join(name), bytes).unwrap();
            }
            gather(directory.path()).unwrap_err().to_string()
        };
        let name = format!("rank-0.a.1.{EXTENSION}");
        let again = format!("rank-0.a.2.{EXTENSION}");
        let whole = fixture::bytes(0);
        let mut outside = whole.clone();
        outside[8] = 7;
        for (files, parts) in [
            (vec![], ["no rank left a trace", "MPI_Init"]),
            (
                vec![(name.as_str(), b"nonsense".repeat(9000))],
                ["byte 0: this is no trace", "one build"],
            ),
            (vec![(name.as_str(), outside)], ["byte 8: rank 7 of 2", &name]),
            (
                vec![(name.as_str(), whole.clone()), (again.as_str(), whole.clone())],
                ["both of rank 0", "one at a time"],
            ),
        ] {
            let error = error(&files);
            assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
        }
    }
}
