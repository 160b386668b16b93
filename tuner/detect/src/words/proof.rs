//! Words about the measurement of a finding.

use kilter_render::format::{bytes, count, seconds};
use kilter_stats::verdict::Outcome;

use crate::model::finding::Finding;
use crate::model::proof::{Measured, Proof, Side};
use crate::words::Fact;

/// Times of both sides, and the gain.
pub(super) fn facts(proof: &Proof, finding: &Finding) -> Vec<Fact> {
    let fact = |label, lines| Fact { label, lines };
    let measured = match proof {
        Proof::NotMeasured(why) => return vec![fact("measured", vec![format!("not: {why}")])],
        Proof::Measured(measured) => measured,
    };
    let mut sides = vec![format!("by hand {}", seconds(measured.schedule_seconds))];
    sides.extend(measured.replacements.iter().map(side));
    let times = format!(
        "{} in {} of {}",
        sides.join(", "),
        count(measured.launches, "launch"),
        bytes(measured.bytes)
    );
    let mut measurements = vec![times];
    if let Some(combined) = &measured.combined {
        measurements.push(format!(
            "{combined}{}: by hand once for each message that brings a part, which is assumed, since no trace shows what ranks compute",
            instead(combined, &finding.operators)
        ));
    }
    let mut gains = vec![gain(measured, finding.instances.len())];
    if !measured.is_shown {
        let text = "the ranks copy data between the messages, and these copies are not in the time by hand";
        gains.push(text.to_owned());
    }
    vec![fact("measured", measurements), fact("gain", gains)]
}

/// Words on the program's operator, where another one may have been combined.
fn instead(combined: &str, allowed: &[String]) -> String {
    let (operator, datatype) = combined.split_once(" of ").unwrap_or((combined, ""));
    let others: Vec<&str> = allowed
        .iter()
        .map(String::as_str)
        .filter(|one| *one != operator)
        .collect();
    match others.as_slice() {
        [] => String::new(),
        others if others.len() < allowed.len() => {
            format!(" ({} explains the values, too)", others.join(" or "))
        }
        others => format!(" ({datatype} has no {}, which the program used)", others.join(" or ")),
    }
}

fn side(side: &Side) -> String {
    let (low, high) = side.comparison.ratio_ci;
    format!(
        "{} {} (by hand {:.2} times that, {low:.2} to {high:.2})",
        side.name,
        seconds(side.seconds),
        side.comparison.ratio
    )
}

fn gain(measured: &Measured, instances: usize) -> String {
    if let Some(best) = measured.best() {
        return format!(
            "{} a run by {}: {instances} times {}, without the waiting of the program",
            seconds(measured.gain_seconds(instances)),
            best.name,
            seconds(measured.schedule_seconds - best.seconds)
        );
    }
    let is_open = |side: &Side| !matches!(side.comparison.verdict, Outcome::Holds | Outcome::Violated);
    if measured.replacements.iter().any(is_open) {
        let advice = if measured.ended_by_budget {
            "raise --budget"
        } else {
            "measure again on a quieter machine"
        };
        return format!("not decided by {}; {advice}", count(measured.launches, "launch"));
    }
    match measured.replacements.first() {
        Some(library) if library.comparison.ratio_ci.1 < 1.0 => {
            "none: the library's collective is slower: leave it".to_owned()
        }
        Some(library) => format!(
            "less than the {} a time that would count: leave it",
            seconds(library.smallest_seconds)
        ),
        None => "none: leave it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kilter_stats::verdict::Comparison;

    use super::*;

    fn side(name: &str, seconds: f64, verdict: Outcome) -> Side {
        Side {
            name: name.to_owned(),
            seconds,
            smallest_seconds: 0.05 * seconds,
            comparison: Comparison {
                verdict,
                ratio: 0.002 / seconds,
                ratio_ci: (0.0019 / seconds, 0.0021 / seconds),
                p: 0.01,
                p_adjusted: 0.02,
                seconds: 0.002,
                right_seconds: seconds,
                left_medians: vec![0.002],
                right_medians: vec![seconds],
            },
        }
    }

    fn measured(replacements: Vec<Side>) -> Measured {
        Measured {
            instance: 0,
            bytes: 4096,
            launches: 8,
            ended_by_budget: true,
            schedule_seconds: 0.002,
            is_shown: true,
            combined: None,
            replacements,
            failed: Vec::new(),
        }
    }

    #[test]
    fn what_is_assumed_of_a_reduction_is_said() {
        let mut reduction = measured(vec![side("MPI_Reduce", 0.0015, Outcome::Violated)]);
        reduction.combined = Some("MPI_SUM of MPI_DOUBLE".to_owned());
        let finding = crate::fixture::finding(Vec::new(), 4);
        let facts = facts(&Proof::Measured(Box::new(reduction)), &finding);
        assert_eq!(facts[0].lines.len(), 2);
        assert!(
            facts[0].lines[1].starts_with("MPI_SUM of MPI_DOUBLE: by hand once for each message that brings a part"),
            "{:?}",
            facts[0].lines
        );
    }

    #[test]
    fn the_program_s_operator_is_named_where_it_is_not_the_one_that_is_combined() {
        let of = |combined: &str, allowed: &[&str]| {
            let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
            instead(combined, &allowed)
        };
        assert_eq!(of("MPI_MAX of MPI_INT", &["MPI_MAX"]), "");
        assert_eq!(of("MPI_SUM of MPI_INT", &[]), "");
        assert_eq!(
            of("MPI_BOR of MPI_INT", &["MPI_BOR", "MPI_BXOR"]),
            " (MPI_BXOR explains the values, too)"
        );
        assert_eq!(
            of("MPI_BOR of MPI_BYTE", &["MPI_SUM"]),
            " (MPI_BYTE has no MPI_SUM, which the program used)"
        );
    }

    #[test]
    fn only_a_verdict_makes_a_gain() {
        let both = measured(vec![
            side("MPI_Bcast", 0.0015, Outcome::Violated),
            side("bcast.binomial", 0.001, Outcome::Violated),
        ]);
        assert_eq!(
            gain(&both, 10),
            "10.0 ms a run by bcast.binomial: 10 times 1.00 ms, without the waiting of the program"
        );
        assert!((both.gain_seconds(10) - 0.01).abs() < 1e-12);
        let mut open = measured(vec![side("MPI_Bcast", 0.0015, Outcome::Undecided)]);
        assert_eq!(open.gain_seconds(10), 0.0);
        assert_eq!(gain(&open, 10), "not decided by 8 launches; raise --budget");
        // No budget buys more launches than the command makes.
        open.ended_by_budget = false;
        assert_eq!(
            gain(&open, 10),
            "not decided by 8 launches; measure again on a quieter machine"
        );
        let slower = measured(vec![side("MPI_Bcast", 0.004, Outcome::Holds)]);
        assert_eq!(gain(&slower, 10), "none: the library's collective is slower: leave it");
        // 0.98, 0.93 to 1.03: as slow.
        let alike = measured(vec![side("MPI_Bcast", 0.00204, Outcome::Holds)]);
        assert_eq!(
            gain(&alike, 10),
            "less than the 102 us a time that would count: leave it"
        );
    }
}
