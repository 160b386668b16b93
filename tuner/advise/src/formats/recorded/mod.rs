//! Counters of Kilter's own recordings: of a profile, as `kilter profile show --format counters` prints them, and of a trace.
//! `kilter advise` makes them itself from a profile's file and a trace's directory.
//!
//! A head says of which; `rank N` begins a rank; a line is a name, a value, and `s`, `B` or nothing for its unit, with tabs between them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_render::table::printable;

use crate::listing::{Found, Unit, number};

/// Head of a profile's counters.
pub const PROFILE: &str = "kilter profile counters";

/// Head of a trace's counters.
pub const TRACE: &str = "kilter trace counters";

/// Begin of a rank's first line.
const RANK: &str = "rank ";

pub(super) fn read(head: &str, text: &str, found: &mut Found) {
    let mut process = None;
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != head);
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

/// Counters of a rank. What is added under one name is added up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sums(BTreeMap<String, (f64, Unit)>);

impl Sums {
    /// Adds to a counter.
    pub fn add(&mut self, name: String, value: f64, unit: Unit) {
        self.0.entry(name).or_insert((0.0, unit)).0 += value;
    }
}

/// The counters of ranks as they are read again; those of value 0 are left out.
#[must_use]
pub fn text(head: &str, ranks: impl IntoIterator<Item = (u32, Sums)>) -> String {
    let mut text = format!("{head}\n");
    for (rank, sums) in ranks {
        let _ = writeln!(text, "{RANK}{rank}");
        for (name, (value, unit)) in sums.0 {
            let unit = match unit {
                Unit::Seconds => "s",
                Unit::Bytes => "B",
                _ => "",
            };
            if value > 0.0 {
                let _ = writeln!(text, "{}\t{value}\t{unit}", printable(&name));
            }
        }
    }
    text
}
