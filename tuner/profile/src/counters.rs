//! The counters of a profile, for the rules of `kilter advise`.
//!
//! A process is a rank. `CALL.calls`, `.time`, `.waiting` and `.bytes` are of one function, in small letters without `MPI_`, as in the listing
//! of calls. Further names have no `.time`, so that a sum over `*.time` is the time in MPI:
//!
//! | counter | meaning |
//! | --- | --- |
//! | `job time` | run time of the rank |
//! | `computation.spent` | its time outside of MPI |
//! | `CALL on COMMUNICATOR.spent`, `.late` | seconds of a collective there, and of waiting in it for late ranks |
//! | `messages from A to B.late` | seconds of this rank in receives and probes of messages from another, above the shortest of their kind |
//! | `messages from A to B.short` | messages from this rank to another, where their mean is below 1 KiB |
//! | `short sends.spent` | seconds in sends of less than 1 KiB |
//! | `long messages.blocked` | seconds in blocking sends and receives of 64 KiB and more |
//! | `derived datatypes.spent` | seconds in calls with derived datatypes |
//! | `new communicators.spent`, `.calls` | making and freeing communicators |

use std::collections::BTreeMap;

use kilter_advise::formats::recorded::{self, Sums};
use kilter_advise::listing::Unit;
use kilter_protocol::calls::bytes_of;
use kilter_protocol::functions::{Function, Kind};

use crate::profile::{Calls, Profile, Rank};
use crate::waiting;

/// Bytes below which a message is short: what it costs is the call.
const SHORT_BYTES: u64 = 1024;

/// Bytes from which a message is long: it takes longer than a call that begins it.
const LONG_BYTES: u64 = 64 << 10;

/// Class of a datatype that is put together of others.
const DERIVED: &str = "derived";

/// The counters as `kilter advise` reads them. Those of value 0 are left out.
#[must_use]
pub fn text(profile: &Profile) -> String {
    let waiting = waiting::seconds(profile);
    let of_rank = |rank: &Rank| {
        let calls = profile.calls.iter().zip(&waiting);
        let own: Vec<(&Calls, f64)> = calls
            .filter(|(calls, _)| calls.rank == rank.rank)
            .map(|(calls, waiting)| (calls, *waiting))
            .collect();
        (rank.rank, sums(profile, rank, &own))
    };
    recorded::text(recorded::PROFILE, profile.ranks.iter().map(of_rank))
}

fn sums(profile: &Profile, rank: &Rank, own: &[(&Calls, f64)]) -> Sums {
    let mut sums = Sums::default();
    let in_mpi: f64 = own.iter().map(|(calls, _)| calls.seconds).sum();
    sums.add("job time".to_owned(), rank.seconds, Unit::Seconds);
    let computes = (rank.seconds - in_mpi).max(0.0);
    sums.add("computation.spent".to_owned(), computes, Unit::Seconds);
    for (calls, waiting) in own {
        let call = calls.function.trim_start_matches("MPI_").to_ascii_lowercase();
        sums.add(format!("{call}.calls"), calls.calls as f64, Unit::Count);
        sums.add(format!("{call}.time"), calls.seconds, Unit::Seconds);
        sums.add(format!("{call}.waiting"), *waiting, Unit::Seconds);
        sums.add(format!("{call}.bytes"), calls.bytes as f64, Unit::Bytes);
        of_kind(profile, &call, calls, *waiting, &mut sums);
    }
    for (from, late) in late(profile, rank.rank, own) {
        sums.add(
            format!("messages from {from} to {}.late", rank.rank),
            late,
            Unit::Seconds,
        );
    }
    for sent in profile.messages.iter().filter(|sent| sent.from == rank.rank) {
        if sent.bytes / sent.messages.max(1) < SHORT_BYTES {
            let name = format!("messages from {} to {}.short", sent.from, sent.to);
            sums.add(name, sent.messages as f64, Unit::Count);
        }
    }
    sums
}

/// Senders that this rank waited for in receives and probes, with the seconds: the share of waiting in its calls of a function at a place is taken for that
/// of each sender.
fn late(profile: &Profile, rank: u32, own: &[(&Calls, f64)]) -> BTreeMap<u32, f64> {
    let mut late = BTreeMap::new();
    for line in profile.received.iter().filter(|line| line.rank == rank) {
        let same = own
            .iter()
            .filter(|(calls, _)| calls.function == line.function && calls.site == line.site);
        let (seconds, waiting) = same.fold((0.0, 0.0), |(seconds, waited), (calls, waiting)| {
            (seconds + calls.seconds, waited + waiting)
        });
        if seconds > 0.0 {
            *late.entry(line.from).or_insert(0.0) += line.seconds * waiting / seconds;
        }
    }
    late
}

/// Counters that go by the kind of a call, its size and its datatype.
fn of_kind(profile: &Profile, call: &str, calls: &Calls, waiting: f64, sums: &mut Sums) {
    let seconds = calls.seconds;
    let mut spent = |name: &str| sums.add(format!("{name}.spent"), seconds, Unit::Seconds);
    if calls.datatype == DERIVED {
        spent("derived datatypes");
    }
    let (least, most) = bytes_of(calls.bucket);
    let function = Function::named(&calls.function);
    if function.is_some_and(|function| function.is_send() && !function.prepares()) && most < SHORT_BYTES {
        spent("short sends");
    }
    match function.map_or(Kind::Other, Function::kind) {
        Kind::Communicator => {
            spent("new communicators");
            sums.add("new communicators.calls".to_owned(), calls.calls as f64, Unit::Count);
        }
        Kind::Message if least >= LONG_BYTES => {
            sums.add("long messages.blocked".to_owned(), seconds, Unit::Seconds);
        }
        Kind::Collective => {
            let on = calls.communicator.and_then(|number| profile.communicators.get(number));
            if let Some(on) = on.filter(|on| on.ranks > 1) {
                let name = format!("{call} on {}", on.name);
                sums.add(format!("{name}.spent"), seconds, Unit::Seconds);
                sums.add(format!("{name}.late"), waiting, Unit::Seconds);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The value of a rank's counter, as the reader of the form has it.
    fn value(profile: &Profile, rank: u32, name: &str) -> Option<f64> {
        let listing = kilter_advise::formats::read(&text(profile), "app.db")
            .unwrap()
            .remove(0);
        assert_eq!((listing.format.id, listing.processes.len()), ("kilter-profile", 2));
        let process = &listing.processes[rank as usize];
        assert_eq!(process.label, format!("rank {rank}"));
        let counter = process.counters.iter().find(|counter| counter.name == name)?;
        Some(counter.value)
    }

    #[test]
    fn ranks_have_the_counters_of_their_calls() {
        let of = |rank: u32, name: &str| value(&fixture::profile(), rank, name);
        assert_eq!(of(0, "allreduce.calls"), Some(100.0));
        assert_eq!(of(1, "allreduce.time"), Some(4.0));
        // Rank 1 waits for rank 0, which has computed longer.
        assert_eq!(of(1, "allreduce on world.spent"), Some(4.0));
        assert!((of(1, "allreduce on world.late").unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(of(0, "allreduce on world.late"), None);
        assert_eq!((of(0, "job time"), of(0, "computation.spent")), (Some(10.0), Some(8.0)));
        // Rank 1 waits for half of the 0.5 s in its receives from rank 0.
        assert!((of(1, "messages from 0 to 1.late").unwrap() - 0.25).abs() < 1e-9);
        // Five messages of 4 KiB.
        assert_eq!(of(0, "messages from 0 to 1.short"), None);
        let mut short = fixture::profile();
        short.messages[0].bytes = 50;
        assert_eq!(value(&short, 0, "messages from 0 to 1.short"), Some(5.0));
        let times = ["allreduce.time", "barrier.time", "recv.time"];
        let in_mpi: f64 = times.iter().filter_map(|name| of(1, name)).sum();
        assert!((in_mpi - 5.0).abs() < 1e-9, "{in_mpi}");
    }

    #[test]
    fn sizes_and_datatypes_are_told_apart() {
        let mut profile = fixture::profile();
        for calls in &mut profile.calls {
            match calls.function.as_str() {
                "MPI_Isend" => (calls.bucket, calls.datatype) = (7, "derived".to_owned()),
                "MPI_Recv" => calls.bucket = 17,
                "MPI_Barrier" => calls.function = "MPI_Comm_split".to_owned(),
                _ => {}
            }
        }
        assert_eq!(value(&profile, 0, "short sends.spent"), Some(0.1));
        assert_eq!(value(&profile, 0, "derived datatypes.spent"), Some(0.1));
        assert_eq!(value(&profile, 1, "long messages.blocked"), Some(0.5));
        assert_eq!(value(&profile, 0, "new communicators.calls"), Some(1.0));
    }
}
