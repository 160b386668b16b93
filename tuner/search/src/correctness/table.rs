//! Tables of verified rows, for people and programs.

use std::collections::BTreeMap;

use comfy_table::Table;
use kilter_bench::launch::command::quote;
use kilter_protocol::verifying::Bits;
use kilter_render::table::trimmed;
use serde_json::json;

use super::outcome::bits_text;
use super::{Failure, Inquiry, Judgement, Outcome, skipped_text};

/// A row over all numbers of ranks.
fn by_row(outcomes: &[Outcome]) -> BTreeMap<&str, Vec<&Outcome>> {
    let mut rows: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        rows.entry(&outcome.row).or_default().push(outcome);
    }
    rows
}

/// The judgement of a row: one word if it is the same on all numbers of ranks, else each judgement with its numbers, the worst first.
fn judged(outcomes: &[&Outcome]) -> String {
    let on = |judgement: Judgement| -> Vec<String> {
        let those = outcomes.iter().filter(|outcome| outcome.judgement() == judgement);
        those.map(|outcome| outcome.ranks.to_string()).collect()
    };
    let mut parts = Vec::new();
    for judgement in [Judgement::Failed, Judgement::Passed, Judgement::NothingCompared] {
        let ranks = on(judgement);
        if ranks.len() == outcomes.len() {
            return judgement.text().to_owned();
        }
        if !ranks.is_empty() {
            parts.push(format!("{} on {}", judgement.text(), ranks.join(",")));
        }
    }
    parts.join("; ")
}

/// The bits of its runs on random doubles, over all numbers of ranks.
fn bits(outcomes: &[&Outcome]) -> Bits {
    outcomes
        .iter()
        .fold(Bits::default(), |bits, outcome| bits.and(&outcome.bits))
}

/// The command that runs a failure again; `further` are options that the launch needs.
#[must_use]
pub fn reproduction(outcome: &Outcome, failure: &Failure, further: &str) -> String {
    let Outcome { row, ranks, .. } = outcome;
    format!(
        "kilter verify-algorithms -n {ranks} --only {row} --case {}{further}",
        quote(&failure.case)
    )
}

/// The table, and a line for each failure.
#[must_use]
pub fn text(outcomes: &[Outcome], further: &str) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header([
        "row",
        "ranks",
        "compared",
        "skipped",
        "failed",
        "outcome",
        "bits of random doubles",
    ]);
    for (row, outcomes) in by_row(outcomes) {
        let ranks: Vec<String> = outcomes.iter().map(|outcome| outcome.ranks.to_string()).collect();
        let sum = |number: fn(&Outcome) -> u64| outcomes.iter().map(|outcome| number(outcome)).sum::<u64>().to_string();
        table.add_row([
            row,
            &ranks.join(","),
            &sum(|outcome| outcome.cases),
            &sum(|outcome| outcome.skipped.values().sum()),
            &sum(|outcome| outcome.failed),
            &judged(&outcomes),
            &bits_text(&bits(&outcomes)),
        ]);
    }
    let mut text = format!("{}\n", trimmed(&table));
    for outcome in outcomes {
        if outcome.judgement() == Judgement::NothingCompared {
            let Outcome {
                row, ranks, skipped, ..
            } = outcome;
            let skipped = skipped_text(skipped);
            text.push_str(&format!(
                "\nNOTHING COMPARED {row} on {ranks} ranks: skipped {skipped}\n"
            ));
        }
    }
    for outcome in outcomes {
        for failure in &outcome.failures {
            let again = reproduction(outcome, failure, further);
            text.push_str(&format!("\nFAILED {}: {}\n  {again}\n", outcome.row, failure.reason));
        }
    }
    text
}

/// The outcomes as JSON, for programs.
pub fn json(
    (library, machine): (&str, &str),
    inquiry: &Inquiry,
    outcomes: &[Outcome],
    further: &str,
) -> Result<String, serde_json::Error> {
    let rows: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            let failures: Vec<_> = outcome
                .failures
                .iter()
                .map(|failure| {
                    json!({
                        "case": failure.case,
                        "reason": failure.reason,
                        "reproduce": reproduction(outcome, failure, further),
                    })
                })
                .collect();
            json!({
                "row": outcome.row,
                "ranks": outcome.ranks,
                "outcome": outcome.judgement(),
                "cases": outcome.cases,
                "skipped": outcome.skipped,
                "failed": outcome.failed,
                "failures": failures,
                "bits": {
                    "compared": outcome.bits.compared,
                    "other": outcome.bits.other,
                    "first": outcome.bits.first.as_ref().map(|(case, reason)| json!({ "case": case, "reason": reason })),
                },
            })
        })
        .collect();
    serde_json::to_string_pretty(&json!({
        "library": library,
        "machine": machine,
        "plugin": inquiry.plugin,
        "depth": inquiry.depth_name(),
        "rows": rows,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Failure, Outcome};
    use super::{Bits, text};

    #[test]
    fn a_failure_comes_with_the_line_that_reproduces_it() {
        let outcome = |ranks, failed: u64| Outcome {
            row: "bcast.x".to_owned(),
            ranks,
            cases: 10,
            failed,
            skipped: BTreeMap::new(),
            failures: (0..failed)
                .map(|_| Failure {
                    case: "comm=world,count=3".to_owned(),
                    reason: "rank 1: receive buffer: element 2 is [0], should be [7]".to_owned(),
                })
                .collect(),
            bits: Bits {
                compared: 3,
                other: failed,
                first: None,
            },
        };
        insta::assert_snapshot!(text(&[outcome(2, 0), outcome(5, 1)], " --plugin x.so"), @r"
         row      ranks  compared  skipped  failed  outcome                   bits of random doubles
         bcast.x  2,5    20        0        1       failed on 5; passed on 2  other in 1 of 6

        FAILED bcast.x: rank 1: receive buffer: element 2 is [0], should be [7]
          kilter verify-algorithms -n 5 --only bcast.x --case comm=world,count=3 --plugin x.so
        ");
    }

    #[test]
    fn what_was_not_compared_is_said_with_the_reason() {
        let outcome = |ranks, cases: u64| Outcome {
            row: "allgather.x".to_owned(),
            ranks,
            cases,
            failed: 0,
            skipped: [("its number of ranks must be even".to_owned(), 12 - cases)].into(),
            failures: Vec::new(),
            bits: Bits::default(),
        };
        insta::assert_snapshot!(text(&[outcome(2, 10), outcome(3, 0)], ""), @r"
         row          ranks  compared  skipped  failed  outcome                             bits of random doubles
         allgather.x  2,3    10        14       0       passed on 2; nothing compared on 3  -

        NOTHING COMPARED allgather.x on 3 ranks: skipped 12 (its number of ranks must be even)
        ");
        assert!(text(&[outcome(3, 0)], "").contains("0       nothing compared  -\n"));
    }
}
