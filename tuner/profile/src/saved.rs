//! The time that a deployment saved a program: two profiles of it, beside what `kilter tune` predicted.
//!
//! Seconds are those of a rank that makes the calls, on the average of these ranks. They hold the waiting for ranks that come late, which a
//! prediction leaves out: it is made of calls that all ranks begin together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kilter_model::report::Saving;
use kilter_protocol::calls::{bucket, bytes_of};
use kilter_render::format::{self, signed_seconds};
use kilter_render::table::{plain, printable, trimmed};
use serde::Serialize;

use crate::mix::{self, Entry};
use crate::profile::Profile;

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// Savings that one report of `kilter tune` predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// Ranks of the communicator that it is about.
    pub ranks: usize,
    /// Its nodes; `None` if the report does not say.
    pub nodes: Option<usize>,
    /// Predicted savings, by function and volume.
    pub savings: Vec<Saving>,
}

/// A program before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saved {
    /// Version of this format.
    pub schema: u32,
    /// The run without the deployment.
    pub before: Run,
    /// The run with it.
    pub after: Run,
    /// Calls by function, communicator and size, the most saved first.
    pub calls: Vec<Row>,
    /// Seconds that all calls in the table saved a rank.
    pub saved_seconds: f64,
    /// Seconds that were predicted for those calls; null without a prediction.
    pub predicted_seconds: Option<f64>,
}

/// A run of the program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// The command as it was typed.
    pub command: String,
    /// Run time: the longest time of a rank from `MPI_Init` to `MPI_Finalize`, in seconds.
    pub seconds: f64,
}

/// Calls of one function on communicators of one kind and of one bucket.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Function as guidelines call it.
    pub function: String,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Its nodes; null if they are not known.
    pub nodes: Option<usize>,
    /// Smallest and largest number of bytes of the bucket.
    pub bucket: (u64, u64),
    /// Calls of a rank, before and after.
    pub calls: (f64, f64),
    /// Seconds of a rank in them, before and after.
    pub seconds: (f64, f64),
    /// Seconds of a rank that were predicted to be saved; null without a prediction.
    pub predicted_seconds: Option<f64>,
}

impl Row {
    fn saved(&self) -> f64 {
        self.seconds.0 - self.seconds.1
    }
}

/// Function, ranks, nodes and bucket.
type Key = (String, usize, Option<usize>, u8);

/// Calls and seconds of a rank.
type Totals = BTreeMap<Key, (f64, f64)>;

fn totals(profile: &Profile) -> Totals {
    let mut totals = Totals::new();
    for entry in mix::entries(profile) {
        let Entry {
            calls,
            seconds,
            callers,
            ..
        } = entry;
        let ranks = calls.ranks.unwrap_or_default();
        let key = (calls.function, ranks, calls.nodes, bucket(calls.bytes.1));
        let total = totals.entry(key).or_insert((0.0, 0.0));
        *total = (total.0 + calls.count, total.1 + seconds / callers as f64);
    }
    totals
}

/// Compares two profiles; `predicted` is what was said before the deployment.
#[must_use]
pub fn of(before: &Profile, after: &Profile, predicted: &[Predicted]) -> Saved {
    let (was, is) = (totals(before), totals(after));
    let keys: BTreeSet<&Key> = was.keys().chain(is.keys()).collect();
    let none = (0.0, 0.0);
    let mut calls: Vec<Row> = keys
        .into_iter()
        .map(|key| {
            let (was, is) = (was.get(key).unwrap_or(&none), is.get(key).unwrap_or(&none));
            let (function, ranks, nodes, bucket) = key;
            Row {
                function: function.clone(),
                ranks: *ranks,
                nodes: *nodes,
                bucket: bytes_of(*bucket),
                calls: (was.0, is.0),
                seconds: (was.1, is.1),
                predicted_seconds: prediction(key, predicted),
            }
        })
        .collect();
    calls.sort_by(|one, other| other.saved().total_cmp(&one.saved()));
    let of_calls: Vec<f64> = calls.iter().filter_map(|row| row.predicted_seconds).collect();
    Saved {
        schema: SCHEMA,
        before: run(before),
        after: run(after),
        saved_seconds: calls.iter().map(Row::saved).sum(),
        predicted_seconds: (!of_calls.is_empty()).then(|| of_calls.iter().sum()),
        calls,
    }
}

fn run(profile: &Profile) -> Run {
    Run {
        command: profile.command.clone(),
        seconds: profile.ranks.iter().map(|rank| rank.seconds).fold(0.0, f64::max),
    }
}

/// Seconds that reports on such a communicator predict for the calls; `None` if none speaks of them.
fn prediction((function, ranks, nodes, of_bucket): &Key, predicted: &[Predicted]) -> Option<f64> {
    let is_about = |one: &&Predicted| {
        let nodes_agree = one.nodes.is_none() || nodes.is_none() || one.nodes == *nodes;
        one.ranks == *ranks && nodes_agree
    };
    let of_calls = predicted.iter().filter(is_about).flat_map(|one| &one.savings);
    let seconds: Vec<f64> = of_calls
        .filter(|saving| saving.function == *function && bucket(saving.bytes) == *of_bucket)
        .map(|saving| saving.saved_seconds)
        .collect();
    (!seconds.is_empty()).then(|| seconds.iter().sum())
}

/// The comparison for a terminal.
#[must_use]
pub fn text(saved: &Saved) -> String {
    let head = [
        "function",
        "ranks",
        "nodes",
        "size",
        "calls",
        "before",
        "after",
        "saved",
        "predicted",
    ];
    let mut table = plain(&head, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for row in &saved.calls {
        let calls = if (row.calls.0 - row.calls.1).abs() < 0.5 {
            format!("{:.0}", row.calls.0)
        } else {
            format!("{:.0} -> {:.0}", row.calls.0, row.calls.1)
        };
        table.add_row([
            printable(&row.function),
            row.ranks.to_string(),
            row.nodes.map_or_else(|| "?".to_owned(), |nodes| nodes.to_string()),
            size(row.bucket),
            calls,
            format::seconds(row.seconds.0),
            format::seconds(row.seconds.1),
            signed_seconds(row.saved()),
            row.predicted_seconds.map_or_else(|| "-".to_owned(), signed_seconds),
        ]);
    }
    let mut out = format!(
        "before: {} ({})\nafter:  {} ({})\n\n{}\n\n",
        format::seconds(saved.before.seconds),
        printable(&saved.before.command),
        format::seconds(saved.after.seconds),
        printable(&saved.after.command),
        trimmed(&table)
    );
    let predicted = match saved.predicted_seconds {
        Some(seconds) => format!(", {} were predicted", signed_seconds(seconds)),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "A rank saved {} in these calls{predicted}. The run took {} less.",
        signed_seconds(saved.saved_seconds),
        signed_seconds(saved.before.seconds - saved.after.seconds)
    );
    out
}

fn size((least, most): (u64, u64)) -> String {
    match most {
        0 => "-".to_owned(),
        _ if least == most => format::bytes(least),
        // The ends of a bucket: a power of two, and one less than the next.
        _ => format!("{} ..", format::bytes(least)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn saving(function: &str, bytes: u64, saved_seconds: f64) -> Saving {
        Saving {
            function: function.to_owned(),
            bytes,
            calls: 100.0,
            seconds_before: 0.0,
            seconds_after: 0.0,
            saved_seconds,
            certain: true,
        }
    }

    /// The same program with allreduces of half the time, two seconds faster.
    fn faster() -> Profile {
        let mut profile = fixture::profile();
        for calls in &mut profile.calls {
            if calls.function == "MPI_Allreduce" {
                calls.seconds /= 2.0;
            }
        }
        profile.ranks.iter_mut().for_each(|rank| rank.seconds -= 2.0);
        profile
    }

    #[test]
    fn what_was_saved_stands_beside_what_was_predicted() {
        let predicted = [
            Predicted {
                ranks: 2,
                nodes: None,
                savings: vec![saving("allreduce", 8, 1.5), saving("bcast", 8, 9.0)],
            },
            Predicted {
                ranks: 4,
                nodes: None,
                savings: vec![saving("allreduce", 8, 7.0)],
            },
            Predicted {
                ranks: 2,
                nodes: Some(1),
                savings: vec![saving("allreduce", 8, 5.0)],
            },
        ];
        let saved = of(&fixture::profile(), &faster(), &predicted);
        let first = &saved.calls[0];
        assert_eq!(
            (first.function.as_str(), first.ranks, first.nodes),
            ("allreduce", 2, Some(2))
        );
        assert_eq!(first.bucket, (8, 15));
        // Two ranks with 1 and 4 s.
        assert_eq!((first.calls, first.seconds), ((100.0, 100.0), (2.5, 1.25)));
        assert_eq!(first.predicted_seconds, Some(1.5));
        assert!((saved.saved_seconds - 1.25).abs() < 1e-9);
        assert_eq!(saved.predicted_seconds, Some(1.5));
        let text = text(&saved);
        let last = "A rank saved 1.25 s in these calls, 1.50 s were predicted. The run took 2.00 s less.\n";
        assert!(text.ends_with(last), "{text}");
    }

    #[test]
    fn without_a_prediction_there_is_none() {
        let saved = of(&faster(), &fixture::profile(), &[]);
        assert_eq!(saved.predicted_seconds, None);
        let text = text(&saved);
        assert!(
            text.contains("A rank saved -1.25 s in these calls. The run took -2.00 s less."),
            "{text}"
        );
    }
}
