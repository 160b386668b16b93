//! The call mix of a profile, by which `kilter tune` chooses what it measures: `configs/mixes/example.toml` is the documentation of the format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kilter_model::config::mix::{Application, Calls, Mix};
use kilter_render::table::printable;

use crate::profile::Profile;

/// Functions that guidelines know and that have no volume.
const WITHOUT_BYTES: [&str; 2] = ["barrier", "ibarrier"];

/// Calls that guidelines speak of, of one function on communicators of one kind and of one bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The calls of a rank, on the average of the ranks that make any; bytes are the mean of the bucket.
    pub calls: Calls,
    /// Ranks on the fullest node of such a communicator; `None` if it is not known.
    pub ranks_per_node: Option<usize>,
    /// Seconds of all ranks together.
    pub seconds: f64,
    /// Number of ranks that call the function on such communicators.
    pub callers: usize,
}

/// Function, and the communicator's ranks, nodes, and ranks on the fullest node.
type Key = (String, u32, u32, u32);

#[derive(Default)]
struct Sum {
    calls: u64,
    bytes: u64,
    seconds: f64,
}

/// Function of a profile as guidelines call it, such as `allreduce`; `None` if they do not speak of it.
#[must_use]
pub fn function(name: &str) -> Option<String> {
    let name = name.trim_start_matches("MPI_").to_ascii_lowercase();
    let bytes = if WITHOUT_BYTES.contains(&name.as_str()) {
        ""
    } else {
        "bytes = 1"
    };
    // The reader of mixes knows which there are.
    let is_known = Mix::parse(&format!("[[call]]\nfunction = \"{name}\"\n{bytes}\n"), "mix").is_ok();
    is_known.then_some(name)
}

/// The calls that guidelines speak of.
#[must_use]
pub fn entries(profile: &Profile) -> Vec<Entry> {
    let mut sums: BTreeMap<(Key, u8), Sum> = BTreeMap::new();
    let mut callers: BTreeMap<Key, BTreeSet<u32>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for calls in &profile.calls {
        let Some(on) = calls.communicator.and_then(|number| profile.communicators.get(number)) else {
            continue;
        };
        // Nothing is to be tuned between a rank and itself.
        if on.ranks < 2 {
            continue;
        }
        let name = names
            .entry(&calls.function)
            .or_insert_with(|| function(&calls.function));
        let Some(name) = name.clone() else { continue };
        let key = (name, on.ranks, on.nodes, on.ranks_per_node);
        let sum = sums.entry((key.clone(), calls.bucket)).or_default();
        sum.calls = sum.calls.saturating_add(calls.calls);
        sum.bytes = sum.bytes.saturating_add(calls.bytes);
        sum.seconds += calls.seconds;
        callers.entry(key).or_default().insert(calls.rank);
    }
    let known = |number: u32| (number > 0).then_some(number as usize);
    let entry = |((key, _), sum): ((Key, u8), Sum)| {
        let (function, ranks, nodes, ranks_per_node) = &key;
        let bytes = (sum.bytes as f64 / sum.calls.max(1) as f64).round() as u64;
        // A call that moves nothing has nothing to tune.
        if sum.calls == 0 || bytes == 0 && !WITHOUT_BYTES.contains(&function.as_str()) {
            return None;
        }
        let ranks_that_call = callers.get(&key).map_or(1, BTreeSet::len);
        Some(Entry {
            calls: Calls {
                function: function.clone(),
                bytes: (bytes, bytes),
                count: sum.calls as f64 / ranks_that_call as f64,
                seconds: Some(sum.seconds / ranks_that_call as f64),
                ranks: Some(*ranks as usize),
                nodes: known(*nodes),
            },
            ranks_per_node: known(*ranks_per_node),
            seconds: sum.seconds,
            callers: ranks_that_call,
        })
    };
    sums.into_iter().filter_map(entry).collect()
}

/// The mix of a profile that was read from `file`, with its [`entries`]; `None` if the program makes no call that guidelines speak of.
#[must_use]
pub fn of(profile: &Profile, entries: &[Entry], file: &str) -> Option<Mix> {
    let calls: Vec<Calls> = entries.iter().map(|entry| entry.calls.clone()).collect();
    (!calls.is_empty()).then(|| Mix {
        file: file.to_owned(),
        calls,
        application: application(profile),
    })
}

/// The profiled run; `None` if no rank says how long it took.
fn application(profile: &Profile) -> Option<Application> {
    let seconds = profile.ranks.iter().map(|rank| rank.seconds).fold(0.0, f64::max);
    (seconds > 0.0).then(|| Application {
        command: printable(&profile.command),
        seconds,
    })
}

/// The mix as a file; `None` if the program makes no call that guidelines speak of.
#[must_use]
pub fn text(profile: &Profile) -> Option<String> {
    let entries = entries(profile);
    let mut text = format!(
        "# The calls of `{}` on {} ranks, for `kilter tune --mix FILE`.\n",
        printable(&profile.command),
        profile.world
    );
    if let Some(run) = application(profile) {
        let command = toml_string(&run.command);
        let _ = write!(
            text,
            "\n[application]\ncommand = {command}\nseconds = {:?}\n",
            run.seconds
        );
    }
    for Entry { calls, .. } in &entries {
        let _ = write!(text, "\n[[call]]\nfunction = \"{}\"\n", calls.function);
        if calls.bytes.1 > 0 {
            let _ = writeln!(text, "bytes = {}", calls.bytes.1);
        }
        let _ = writeln!(text, "calls = {:?}", calls.count);
        if let Some(seconds) = calls.seconds {
            let _ = writeln!(text, "seconds = {seconds:?}");
        }
        for (name, value) in [("ranks", calls.ranks), ("nodes", calls.nodes)] {
            if let Some(value) = value {
                let _ = writeln!(text, "{name} = {value}");
            }
        }
    }
    (!entries.is_empty()).then_some(text)
}

/// A printable text in TOML's quotes.
fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_file_is_the_mix_itself() {
        let mut profile = fixture::profile();
        profile.command = "mpirun -n 2 'sol\"ver' \\n \u{7}".to_owned();
        let text = text(&profile).unwrap();
        let read = Mix::parse(&text, "profile.db").unwrap();
        assert_eq!(read, of(&profile, &entries(&profile), "profile.db").unwrap(), "{text}");
        let of = |function: &str| {
            let made = read.of(function, 2, Some(2), &[]).into_iter();
            made.map(|(bytes, made)| (bytes, made.count)).collect::<Vec<_>>()
        };
        assert_eq!(of("allreduce"), [(8, 100.0)]);
        assert_eq!(of("barrier"), [(0, 1.0)]);
        assert_eq!(of("isend"), [(4096, 5.0)]);
        assert!(read.of("allreduce", 2, Some(1), &[]).is_empty(), "{text}");
        assert!(read.calls.iter().all(|calls| calls.function != "wait"), "{text}");
        assert_eq!(read.application.unwrap().seconds, 10.0);
    }

    #[test]
    fn without_calls_there_is_no_mix() {
        let mut profile = fixture::profile();
        profile.calls.retain(|calls| calls.function == "MPI_Wait");
        assert_eq!(text(&profile), None);
        assert_eq!(of(&profile, &entries(&profile), "profile.db"), None);
    }
}
