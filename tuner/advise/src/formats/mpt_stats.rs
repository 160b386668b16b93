//! Statistics of SGI's and HPE's MPI: the listing of `mpirun -stats` and MPI_STATS.
//!
//! A line is `PREFIX NUMBER DESCRIPTION`, such as `3:  5672 retries allocating mpi PER_PROC buffers for point-to-point calls`. A counter
//! has the name of its description. The prefix is what `mpirun -prefix` was told; `-prefix "%g:"` makes it the rank. Without one, each
//! head of a dump begins another process.

use super::Format;
use crate::listing::{Found, Unit};

/// Head of a process's dump.
const HEAD: &str = "Dumping MPI internal resource statistics";

/// Ends of descriptions.
const ENDS: [&str; 2] = [" for collective calls", " for point-to-point calls"];

/// Words with which descriptions begin.
const BEGINNINGS: [&str; 5] = [
    "retries allocating",
    "send requests",
    "data buffers",
    "bytes sent",
    "message headers",
];

pub(super) static FORMAT: Format = Format {
    id: "mpt-stats",
    title: "resource statistics of SGI/HPE MPT",
    made_by: "`mpirun -stats -prefix \"%g:\" -np N PROGRAM`, or MPI_STATS set in its environment",
    source: "SGI, Message Passing Toolkit, chapter \"MPI Optimization and Tuning\": \"Eliminating Retries\"",
    leaves_out_zeros: false,
    file_per_process: false,
    is_sign: |line| line.contains(HEAD) || counter(line).is_some(),
    read,
};

fn read(text: &str, found: &mut Found) {
    let mut dumps = 0_usize;
    for (index, line) in text.lines().enumerate() {
        if let Some(at) = line.find(HEAD) {
            dumps += 1;
            let prefix = line[..at].trim_end_matches(['*', ' ']);
            found.process_anew(&label(prefix, dumps));
        } else if let Some((prefix, value, name)) = counter(line) {
            let process = found.process(&label(prefix, dumps));
            let unit = if name.starts_with("bytes") {
                Unit::Bytes
            } else {
                Unit::Count
            };
            found.push(process, name, value, unit, index + 1);
        }
    }
}

/// Prefix, value and description of a line.
fn counter(line: &str) -> Option<(&str, f64, &str)> {
    let line = line.trim_end();
    if !ENDS.iter().any(|end| line.ends_with(end)) {
        return None;
    }
    let at = BEGINNINGS.iter().filter_map(|beginning| line.find(beginning)).min()?;
    let before = line[..at].trim_end();
    let begin = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |other| {
        other + before[other..].chars().next().map_or(1, char::len_utf8)
    });
    let value: u64 = before[begin..].parse().ok()?;
    Some((&before[..begin], value as f64, &line[at..]))
}

/// Name of the process that prints with a prefix: its rank where the prefix is a number.
fn label(prefix: &str, dumps: usize) -> String {
    let prefix = prefix.trim();
    let digits = prefix.trim_matches(|c: char| !c.is_ascii_digit());
    match digits.parse::<u32>() {
        Ok(rank) if !prefix.contains(|c: char| c.is_ascii_alphabetic()) => format!("rank {rank}"),
        _ if prefix.is_empty() => format!("process {}", dumps.max(1)),
        _ => prefix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_with_every_prefix() {
        let end = "retries allocating mpi PER_PROC buffers for point-to-point calls";
        for (prefix, wanted) in [
            ("3:  ", "rank 3"),
            ("3 ", "rank 3"),
            ("", "process 1"),
            ("[host7] ", "[host7]"),
            ("ß", "ß"),
        ] {
            let line = format!("{prefix}5672 {end}");
            let (found, value, name) = counter(&line).unwrap();
            assert_eq!((label(found, 0).as_str(), value, name), (wanted, 5672.0, end), "{line}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "3: retries allocating mpi PER_PROC buffers for point-to-point calls",
            "3: many retries allocating mpi PER_PROC buffers for point-to-point calls",
            "100 function calls",
            " for collective calls",
            "",
        ] {
            assert_eq!(counter(line), None, "{line}");
        }
    }
}
