//! A listing as neutral data: the processes of a job, and the counters that each of them printed.

use std::collections::HashMap;

use crate::formats::Format;

/// Unit of a counter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of events.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share of a whole, 1 for all of it.
    Share,
    /// A quotient of two values of one unit.
    Ratio,
}

/// A printed number.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// Name by which rules know it; the format's reader says how it follows from what is printed.
    pub name: String,
    /// Value in the unit.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
    /// Line of the file, from 1; 0 for a file that is no text.
    pub line: usize,
}

/// A process that printed counters, or all of them where the listing has only sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Name for people, such as `rank 3`.
    pub label: String,
    /// File in which it stands.
    pub file: String,
    /// Its counters, in the order of the file.
    pub counters: Vec<Counter>,
}

/// Label of what stands for all ranks, in listings that have only sums.
pub const ALL_RANKS: &str = "all ranks";

/// Statistics of one job in one format.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The format.
    pub format: &'static Format,
    /// Files that it was read from.
    pub files: Vec<String>,
    /// Processes, in the order of the files.
    pub processes: Vec<Process>,
}

impl Listing {
    /// The same of a file that is no text, where a line would say nothing.
    #[must_use]
    pub fn without_lines(mut self) -> Listing {
        let counters = self.processes.iter_mut().flat_map(|process| &mut process.counters);
        counters.for_each(|counter| counter.line = 0);
        self
    }

    /// True if the listing has a counter in seconds.
    #[must_use]
    pub fn has_times(&self) -> bool {
        let mut counters = self.processes.iter().flat_map(|process| &process.counters);
        counters.any(|counter| counter.unit == Unit::Seconds)
    }
}

/// Counters that a file may have. A job of ten thousand ranks with a hundred counters each has as many.
pub const MOST_COUNTERS: usize = 1_000_000;

/// Characters that the name of a counter or process may have; longer ones are cut.
const LONGEST_NAME: usize = 200;

/// Counters as a reader finds them. What it holds is bounded, whatever the file is.
#[derive(Debug)]
pub struct Found {
    file: String,
    processes: Vec<Process>,
    by_label: HashMap<String, usize>,
    counters: usize,
    is_full: bool,
}

impl Found {
    /// Nothing yet, in a file of this name.
    #[must_use]
    pub fn new(file: &str) -> Found {
        Found {
            file: file.to_owned(),
            processes: Vec::new(),
            by_label: HashMap::new(),
            counters: 0,
            is_full: false,
        }
    }

    /// The process of a label, new or known.
    pub fn process(&mut self, label: &str) -> usize {
        let label = short(label);
        if let Some(known) = self.by_label.get(&label) {
            return *known;
        }
        let index = self.processes.len();
        self.by_label.insert(label.clone(), index);
        self.processes.push(Process {
            label,
            file: self.file.clone(),
            counters: Vec::new(),
        });
        index
    }

    /// A process that prints its counters anew: what it printed before is replaced.
    pub fn process_anew(&mut self, label: &str) -> usize {
        let index = self.process(label);
        let before = std::mem::take(&mut self.processes[index].counters);
        self.counters -= before.len();
        index
    }

    /// Adds a counter to a process of [`Self::process`]. Values that are not finite, and counters above [`MOST_COUNTERS`], are left out.
    pub fn push(&mut self, process: usize, name: &str, value: f64, unit: Unit, line: usize) {
        if self.counters >= MOST_COUNTERS {
            self.is_full = true;
            return;
        }
        let Some(process) = self.processes.get_mut(process) else {
            return;
        };
        if value.is_finite() {
            self.counters += 1;
            process.counters.push(Counter {
                name: short(name),
                value,
                unit,
                line,
            });
        }
    }

    /// True if counters were left out for their number.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Processes that have counters.
    #[must_use]
    pub fn into_processes(self) -> Vec<Process> {
        let mut processes = self.processes;
        processes.retain(|process| !process.counters.is_empty());
        processes
    }
}

/// The text, cut after [`LONGEST_NAME`] characters.
fn short(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

/// A number of a token such as `5672`, `8.8e-06` or `-1`. Words such as `inf` are none.
#[must_use]
pub fn number(token: &str) -> Option<f64> {
    let begins = token.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    token.parse().ok().filter(|value: &f64| begins && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_again_and_replace_what_they_printed() {
        let mut found = Found::new("a.log");
        let rank = found.process("rank 3");
        found.push(rank, "sends", 1.0, Unit::Count, 4);
        assert_eq!(found.process("rank 3"), rank);
        let again = found.process_anew("rank 3");
        found.push(again, "sends", 2.0, Unit::Count, 9);
        found.push(again, "broken", f64::NAN, Unit::Count, 10);
        found.push(77, "of no process", 1.0, Unit::Count, 11);
        found.process("rank 4");
        let processes = found.into_processes();
        assert_eq!(processes.len(), 1);
        assert_eq!(processes[0].counters.len(), 1);
        assert_eq!(processes[0].counters[0].line, 9);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let mut found = Found::new("a.log");
        let process = found.process(&"ß".repeat(300));
        found.push(process, &"ü".repeat(300), 1.0, Unit::Count, 1);
        let processes = found.into_processes();
        assert_eq!(processes[0].label.chars().count(), LONGEST_NAME);
        assert_eq!(processes[0].counters[0].name.chars().count(), LONGEST_NAME);
    }

    #[test]
    fn numbers_are_finite_and_begin_as_numbers_do() {
        let read: Vec<Option<f64>> = ["5672", "8.8e-06", "-1", "inf", "nan", "1e999", "x", ""]
            .into_iter()
            .map(number)
            .collect();
        assert_eq!(
            read,
            [Some(5672.0), Some(8.8e-6), Some(-1.0), None, None, None, None, None]
        );
    }
}
