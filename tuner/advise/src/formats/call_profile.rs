//! Counts and times of MPI calls: the listing of the profiling library that SGI's chapter shows.
//!
//! The head is `Total job time 2.203333e+02 sec`; `activity on process rank 0` begins a rank; a line is `CALL calls NUMBER LABEL NUMBER
//! ...`, such as `waitall calls 11045 time 7.73805e+01 # of Reqs 44078`. A counter has the name `waitall.calls`, `waitall.time`, and so
//! on. The total job time becomes the counter `job time` of every rank.

use super::Format;
use crate::listing::{Found, Unit, number};

const RANK: &str = "activity on process rank ";
const JOB: &str = "Total job time ";

pub(super) static FORMAT: Format = Format {
    id: "call-profile",
    title: "counts and times of MPI calls",
    made_by: "a profiling library that prints `activity on process rank N` and a line `CALL calls N time SECONDS` for each call",
    source: "SGI, Message Passing Toolkit, chapter \"MPI Optimization and Tuning\": \"Additional profiling\"",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| line.contains(RANK),
    read,
};

fn read(text: &str, found: &mut Found) {
    let mut job = None;
    let mut rank = None;
    let mut lacks_job = false;
    for (index, line) in text.lines().enumerate() {
        if let Some((_, rest)) = line.split_once(JOB) {
            job = rest
                .split_whitespace()
                .next()
                .and_then(number)
                .map(|seconds| (seconds, index + 1));
        } else if let Some((_, rest)) = line.split_once(RANK) {
            rank = rest
                .trim()
                .parse::<u32>()
                .ok()
                .map(|rank| found.process_anew(&format!("rank {rank}")));
            lacks_job = true;
        } else if let Some(process) = rank {
            let has_call = call(line, process, index + 1, found);
            if let (true, true, Some((seconds, at))) = (has_call, lacks_job, job) {
                found.push(process, "job time", seconds, Unit::Seconds, at);
                lacks_job = false;
            }
        }
    }
}

/// Adds the numbers of a call's line; false for any other line.
fn call(line: &str, process: usize, at: usize, found: &mut Found) -> bool {
    let tokens: Vec<&str> = line.split_whitespace().collect();
    // A launcher may put its label in front of the call.
    let Some(at_calls) = tokens
        .iter()
        .position(|token| *token == "calls")
        .filter(|at| (1..=2).contains(at))
    else {
        return false;
    };
    let (call, tokens) = (tokens[at_calls - 1], &tokens[at_calls + 1..]);
    if tokens.first().copied().and_then(number).is_none() {
        return false;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !call.chars().all(is_word) {
        return false;
    }
    let call = call.strip_prefix("MPI_").unwrap_or(call).to_ascii_lowercase();
    let mut label = String::from("calls");
    for token in tokens.iter().copied() {
        if let Some(value) = number(token) {
            let unit = if label.ends_with("time") {
                Unit::Seconds
            } else {
                Unit::Count
            };
            found.push(process, &format!("{call}.{label}"), value, unit, at);
            label.clear();
        } else {
            if !label.is_empty() {
                label.push(' ');
            }
            label.push_str(token);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_label() {
        let mut found = Found::new("a.log");
        let process = found.process("rank 0");
        let is_call = call(
            "   waitall calls 11045  time 7.7e+01   # of Reqs 44078  avg datacnt 137944",
            process,
            1,
            &mut found,
        );
        assert!(is_call);
        assert!(!call("what calls for help", process, 2, &mut found));
        assert!(!call("calls 5 time 1", process, 3, &mut found));
        assert!(call("[1,0]<stdout>: send calls 5", process, 4, &mut found));
        let counters = &found.into_processes()[0].counters;
        let names: Vec<(&str, Unit)> = counters
            .iter()
            .map(|counter| (counter.name.as_str(), counter.unit))
            .collect();
        assert_eq!(
            names,
            [
                ("waitall.calls", Unit::Count),
                ("waitall.time", Unit::Seconds),
                ("waitall.# of Reqs", Unit::Count),
                ("waitall.avg datacnt", Unit::Count),
                ("send.calls", Unit::Count),
            ]
        );
    }
}
