//! Counters of a profile, as `kilter profile show --format counters` prints them. `kilter advise` prints them itself for a profile.
//!
//! `kilter profile counters` is the head; `rank N` begins a rank; a line is a name, a value, and `s`, `B` or nothing for its unit, with tabs
//! between them.

use super::Format;
use crate::listing::{Found, Unit, number};

/// The head.
pub const HEAD: &str = "kilter profile counters";

const RANK: &str = "rank ";

pub(super) static FORMAT: Format = Format {
    id: "kilter-profile",
    title: "profile of Kilter",
    made_by: "kilter profile --out FILE -- mpirun ... PROGRAM",
    source: "docs/manual/profile.md",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| line == HEAD,
    read,
};

fn read(text: &str, found: &mut Found) {
    let mut process = None;
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != HEAD);
    for (index, line) in lines {
        if let Some(rank) = line.strip_prefix(RANK).and_then(|rank| rank.parse::<u32>().ok()) {
            process = Some(found.process_anew(&format!("{RANK}{rank}")));
            continue;
        }
        let mut words = line.split('\t');
        let (Some(process), Some(name), Some(value)) = (process, words.next(), words.next().and_then(number)) else {
            continue;
        };
        let unit = match words.next() {
            Some("s") => Unit::Seconds,
            Some("B") => Unit::Bytes,
            _ => Unit::Count,
        };
        found.push(process, name, value, unit, index + 1);
    }
}
