//! Output of `kilter-worker describe` on a job and its hosts: one line of JSON on standard output, after [`MARK`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json_line::JsonLine as _;

/// Begins the line; launchers and libraries may print others.
pub const MARK: &str = "kilter-machine: ";

/// Placeholder in a path for the control group of the reading process, as `/proc/self/cgroup` says (version 2).
pub const CGROUP: &str = "{cgroup}";

/// A job and its hosts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// [`crate::VERSION`].
    pub v: u32,
    /// `MPI_Get_library_version`, all lines.
    pub library: String,
    /// The ranks in order.
    pub ranks: Vec<RankPlace>,
    /// Smallest positive difference of two readings of the clock on rank 0, in seconds.
    pub clock_tick_seconds: f64,
    /// Cost of one reading of the clock on rank 0, in seconds (mean of many).
    pub clock_read_seconds: f64,
    /// Bytes above which `malloc` maps fresh pages on rank 0, if it does.
    pub malloc_maps_from_bytes: Option<u64>,
    /// Control variables on rank 0: name, value; absent if unknown to the library.
    pub variables: BTreeMap<String, String>,
    /// Environment variables asked for that all ranks see with the same value.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// First line of `MPI_Get_library_version` on each host.
    #[serde(default)]
    pub libraries: BTreeMap<String, String>,
    /// Files asked for, by host: path, text; of a directory, the names in it. What cannot be read is absent.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
}

/// Place of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankPlace {
    /// Host.
    pub host: String,
    /// Processors it may run on, as a list such as `0-3,8`.
    pub cpus: String,
    /// Its clock minus rank 0's, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Round trip of the smallest message from rank 0 and back, in nanoseconds; 0 for rank 0.
    pub round_trip_ns: u64,
}

crate::json_line::json_lines![Machine];

impl Machine {
    /// The machine in a line of a job's output; `None` if it is another line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Machine> {
        Machine::from_json(line.split_once(MARK)?.1.as_bytes()).ok()
    }
}

/// Reads the files that can be read, each up to 16 KiB. Of a directory these are the names in it, a line each.
#[must_use]
pub fn read_files(paths: &[String]) -> BTreeMap<String, String> {
    const LIMIT: usize = 16 << 10;
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .unwrap_or("/")
        .trim_end_matches('/');
    let read = |path: &String| {
        let path_here = path.replace(CGROUP, group);
        let bytes = std::fs::read(&path_here).ok().or_else(|| names_in(&path_here))?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LIMIT)])
            .trim_end()
            .to_owned();
        Some((path.clone(), text))
    };
    paths.iter().filter_map(read).collect()
}

/// The names in a directory in their order, a line each.
fn names_in(directory: &str) -> Option<Vec<u8>> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Some(names.join("\n").into_bytes())
}
