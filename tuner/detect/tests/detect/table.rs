//! Precision and recall over all programs, on all ranks and on a part of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_detect::model::finding::{Collective, Finding};
use kilter_detect::model::trace::Trace;
use kilter_detect::{Detection, detect};

use crate::cases::{Case, Expected, collectives, lookalikes};
use crate::fixture::{on_part, on_world};

#[derive(Default)]
struct Count {
    right: u32,
    missed: u32,
    wrong: u32,
}

fn is_met(expected: &Expected, ranks: u32, finding: &Finding) -> bool {
    // No number of instances means one for each rank.
    let instances = if expected.instances == 0 {
        ranks as usize
    } else {
        expected.instances
    };
    finding.collective == expected.collective
        && finding.root == expected.root
        && finding.instances.len() == instances
        && finding.ranks.len() == ranks as usize
        && finding.confidence >= expected.least
}

/// Finding in a line.
pub(crate) fn shown(finding: &Finding) -> String {
    let Finding {
        collective,
        root,
        confidence,
        bytes,
        why,
        ranks,
        ..
    } = finding;
    let times = finding.instances.len();
    format!(
        "{collective:?} x {times} of {bytes} B, root {root:?}, ranks {ranks:?}, {confidence:?}: {}",
        why.join("; ")
    )
}

fn judge(
    case: &Case,
    ranks: u32,
    place: &str,
    detection: &Detection,
    counts: &mut BTreeMap<Collective, Count>,
    log: &mut String,
) {
    let mut left: Vec<&Finding> = detection.findings.iter().collect();
    for expected in &case.expected {
        let count = counts.entry(expected.collective).or_default();
        if let Some(at) = left.iter().position(|one| is_met(expected, ranks, one)) {
            left.remove(at);
            count.right += 1;
        } else {
            count.missed += 1;
            let _ = writeln!(
                log,
                "{} on {ranks} {place}: no {:?} x {}",
                case.name, expected.collective, expected.instances
            );
            let _ = writeln!(log, "    filtered: {:?}", detection.filtered);
        }
    }
    for finding in left {
        counts.entry(finding.collective).or_default().wrong += 1;
        let _ = writeln!(log, "{} on {ranks} {place}: {}", case.name, shown(finding));
    }
}

#[test]
fn what_programs_do_is_found_and_nothing_else() {
    let mut counts = BTreeMap::new();
    let mut log = String::new();
    let mut programs = 0;
    let only = std::env::var("KILTER_CASE").unwrap_or_default();
    for case in collectives()
        .iter()
        .chain(&lookalikes())
        .filter(|case| case.name.contains(&only))
    {
        for &ranks in case.ranks {
            let places: [(&str, Trace); 2] = [
                ("ranks", on_world(ranks, &case.program)),
                ("of more ranks", on_part(ranks, &case.program)),
            ];
            for (place, trace) in places {
                programs += 1;
                judge(case, ranks, place, &detect(&trace), &mut counts, &mut log);
            }
        }
    }
    println!(
        "{programs} traces\n{:<12} {:>9} {:>9} {:>9}",
        "collective", "found", "precision", "recall"
    );
    for (collective, count) in &counts {
        let part = |of: u32| f64::from(count.right) / f64::from((count.right + of).max(1));
        let name = format!("{collective:?}");
        println!(
            "{name:<12} {:>9} {:>9.2} {:>9.2}",
            count.right,
            part(count.wrong),
            part(count.missed)
        );
    }
    assert!(log.is_empty(), "\n{log}");
}

#[test]
fn there_are_as_many_programs_as_promised() {
    assert!(collectives().len() >= 25, "{}", collectives().len());
    assert!(lookalikes().len() >= 15, "{}", lookalikes().len());
}
