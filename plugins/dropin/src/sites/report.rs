//! Lines about what was tried, for `KILTER_LOG`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kilter_algorithms::Collective;
use kilter_online::knowledge::{DEFAULT, Layout, Seen};

use crate::sites::place::Account;

/// The outcome at the sites of a collective and a class of sizes, on all communicators of a layout.
#[derive(Default)]
struct Sum {
    bytes: (u64, u64),
    communicators: u64,
    calls: u64,
    epochs: u64,
    restarts: u64,
    /// Nanoseconds beyond what the default would have taken, as it was measured; below zero if that is less.
    behind_ns: i64,
    /// Those of them that exchanges and the making of sites took.
    acts_ns: i64,
    /// By id: timed calls, their nanoseconds, and the communicators that settled on it.
    arms: BTreeMap<String, (u64, u64, u64)>,
}

type Kind = (Layout, Collective, u8, bool);

static SUMS: Mutex<BTreeMap<Kind, Sum>> = Mutex::new(BTreeMap::new());

/// Adds what came of a site.
pub(super) fn add(layout: &Layout, account: &Account) {
    let Account {
        key,
        ids,
        learnt,
        spent,
        ..
    } = account;
    let mut sums = SUMS.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = (layout.clone(), key.collective, key.class, key.is_usual());
    let sum = sums.entry(kind).or_default();
    sum.bytes = key.bytes();
    sum.communicators += 1;
    sum.calls += account.calls;
    sum.epochs += u64::from(spent.epochs);
    sum.restarts += u64::from(spent.restarts);
    sum.behind_ns = sum.behind_ns.saturating_add(spent.behind_ns);
    sum.acts_ns = sum.acts_ns.saturating_add(spent.acts_ns);
    for (place, id) in ids.iter().enumerate() {
        let Seen { calls, counted_ns, .. } = learnt.arms.get(place).copied().unwrap_or_default();
        let arm = sum.arms.entry(id.clone()).or_default();
        arm.0 += calls;
        arm.1 += counted_ns;
        arm.2 += u64::from(learnt.settled.is_some_and(|settled| usize::from(settled) == place));
    }
}

/// Says all of it.
pub(super) fn say() {
    let sums = SUMS.lock().unwrap_or_else(PoisonError::into_inner);
    for ((layout, collective, _, is_usual), sum) in sums.iter() {
        kilter_mpi::say(format_args!("online: {}", line(layout, *collective, *is_usual, sum)));
    }
}

/// The line of a kind of calls.
fn line(layout: &Layout, collective: Collective, is_usual: bool, sum: &Sum) -> String {
    let bytes = match sum.bytes {
        (0, _) => String::new(),
        (1, _) => " of 1 byte".to_owned(),
        (from, to) => format!(" of {from} to {to} bytes"),
    };
    let operator = if is_usual {
        ""
    } else {
        ", by an operator that allows less"
    };
    let (ranks, nodes) = (layout.ranks, plural(u64::from(layout.nodes), "node"));
    let on = if sum.communicators == 1 {
        String::new()
    } else {
        format!(" of {} communicators", sum.communicators)
    };
    let begin = format!(
        "{collective}{bytes}{operator}, {ranks} ranks on {nodes}{on}: {}, {}",
        plural(sum.calls, "call"),
        plural(sum.epochs, "epoch"),
    );
    format!("{begin}; {}", outcome(sum))
}

/// The choice, its saving, and the cost of finding it.
fn outcome(sum: &Sum) -> String {
    let mean = |id: &str| {
        let (calls, ns, _) = *sum.arms.get(id)?;
        (calls > 0).then(|| ns as f64 / calls as f64)
    };
    let default = mean(DEFAULT);
    let settled: Vec<(&String, u64)> = sum
        .arms
        .iter()
        .filter(|(_, arm)| arm.2 > 0)
        .map(|(id, arm)| (id, arm.2))
        .collect();
    let mut parts = Vec::new();
    if settled.is_empty() {
        parts.push("not settled".to_owned());
    }
    for (id, communicators) in settled {
        let on = if sum.communicators == 1 {
            String::new()
        } else {
            format!(" on {communicators}")
        };
        let times = mean(id).zip(default).filter(|_| id != DEFAULT);
        let times = times.map_or_else(String::new, |(own, default)| {
            format!(": {:.1} us, the default {:.1} us", own / 1e3, default / 1e3)
        });
        parts.push(format!("settled on {id}{on}{times}"));
    }
    if sum.restarts > 0 {
        parts.push(format!(
            "began anew {}",
            if sum.restarts == 1 {
                "once".to_owned()
            } else {
                format!("{} times", sum.restarts)
            }
        ));
    }
    let (ms, side) = (
        sum.behind_ns as f64 / 1e6,
        if sum.behind_ns > 0 { "behind" } else { "ahead of" },
    );
    let acts = sum.acts_ns as f64 / 1e6;
    parts.push(format!(
        "{:.2} ms {side} the default, with {acts:.2} ms for exchanges",
        ms.abs()
    ));
    parts.join("; ")
}

fn plural(number: u64, word: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {word}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_chosen_and_what_that_saves() {
        let layout = Layout {
            library: "MPI".to_owned(),
            ranks: 8,
            nodes: 1,
            ranks_per_node: 8,
        };
        let mut sum = Sum {
            bytes: (4096, 8191),
            communicators: 1,
            calls: 1000,
            epochs: 4,
            restarts: 1,
            behind_ns: -1_250_000,
            acts_ns: 310_000,
            ..Sum::default()
        };
        let mut arm = |id: &str, calls, ns, settled| sum.arms.insert(id.to_owned(), (calls, ns, settled));
        arm("default", 10, 1_000_000, 0);
        arm("allreduce.ring", 10, 500_000, 1);
        arm("allreduce.other", 4, 800_000, 0);
        assert_eq!(
            line(&layout, Collective::Allreduce, true, &sum),
            "allreduce of 4096 to 8191 bytes, 8 ranks on 1 node: 1000 calls, 4 epochs; settled on allreduce.ring: 50.0 us, the default 100.0 us; \
             began anew once; 1.25 ms ahead of the default, with 0.31 ms for exchanges"
        );
        for arm in sum.arms.values_mut() {
            arm.2 = 0;
        }
        sum.communicators = 3;
        let text = line(&layout, Collective::Allreduce, false, &sum);
        assert!(text.contains("by an operator that allows less"), "{text}");
        assert!(
            text.contains("of 3 communicators") && text.contains("not settled"),
            "{text}"
        );
    }
}
