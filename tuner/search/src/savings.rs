//! Savings of a change for an application whose calls are known. Pure.

use std::collections::BTreeMap;

use kilter_model::config::mix::Made;
use kilter_model::plan::{Called, Subject};
use kilter_model::report::{AtStake, Saving};
use kilter_render::format;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::Rule;

use crate::verification::{JudgedCell, Medians};

/// Calls by left side.
pub type Calls = BTreeMap<Subject, Called>;

/// Calls times time before less time after, for every volume of the mix that was measured both `before` and `after` and that the deployment has
/// `touched`; most saved first. Volumes whose difference is within noise are there, too, and say so: leaving them out would leave out losses.
/// Other calls are those of the untouched library: their times differ by chance alone.
#[must_use]
pub fn of(
    calls: &Calls,
    (before, after): (&Medians, &Medians),
    touched: &dyn Fn(&Subject) -> bool,
    rule: &Rule,
) -> Vec<Saving> {
    let times = |subject: &Subject| {
        if !touched(subject) {
            return None;
        }
        let sample = |medians: &Medians| Sample::new(medians.get(subject)?.clone()).ok();
        Some((sample(before)?, sample(after)?))
    };
    let mut savings: Vec<Saving> = each_size_once(calls, &|subject| times(subject).is_some())
        .into_iter()
        .filter_map(|(subject, function, bytes, Made { count: calls, .. })| {
            let (before, after) = times(subject)?;
            let (seconds_before, seconds_after) = (before.median(), after.median());
            Some(Saving {
                function: function.to_owned(),
                bytes,
                calls,
                seconds_before,
                seconds_after,
                saved_seconds: calls * (seconds_before - seconds_after),
                certain: differs(&before, &after, rule) || differs(&after, &before, rule),
            })
        })
        .collect();
    sort(&mut savings);
    savings
}

/// Costs of violations for an application: calls times the left side's time less the tightest right side's.
#[must_use]
pub fn lost(calls: &Calls, cells: &[JudgedCell]) -> Vec<Saving> {
    let mut worst: BTreeMap<&Subject, &JudgedCell> = BTreeMap::new();
    let violated = |judged: &&JudgedCell| judged.comparison.verdict == Outcome::Violated;
    for judged in cells.iter().filter(violated) {
        let entry = worst.entry(&judged.cell.left).or_insert(judged);
        if judged.comparison.right_seconds < entry.comparison.right_seconds {
            *entry = judged;
        }
    }
    let mut savings: Vec<Saving> = each_size_once(calls, &|subject| worst.contains_key(subject))
        .into_iter()
        .map(|(subject, function, bytes, Made { count: calls, .. })| {
            let comparison = &worst[subject].comparison;
            Saving {
                function: function.to_owned(),
                bytes,
                calls,
                seconds_before: comparison.seconds,
                seconds_after: comparison.right_seconds,
                saved_seconds: calls * (comparison.seconds - comparison.right_seconds),
                certain: true,
            }
        })
        .collect();
    sort(&mut savings);
    savings
}

/// Seconds that an application saves in all its calls, below zero if it loses; `before` and `after` are seconds of a call. A subject that was
/// not measured both times saves nothing.
#[must_use]
pub fn net_seconds(
    calls: &Calls,
    before: &dyn Fn(&Subject) -> Option<f64>,
    after: &dyn Fn(&Subject) -> Option<f64>,
) -> f64 {
    let saved = |subject: &Subject| Some(before(subject)? - after(subject)?);
    each_size_once(calls, &|subject| saved(subject).is_some())
        .into_iter()
        .filter_map(|(subject, _, _, made)| Some(made.count * saved(subject)?))
        .sum()
}

/// The part of the application's time in its calls that was looked at, and the calls that were not, the dearest first; `None` without calls. Calls of the
/// mix that no guideline speaks of are not among them.
#[must_use]
pub fn at_stake(calls: &Calls, is_known: &dyn Fn(&Subject) -> bool) -> Option<AtStake> {
    let seconds = |all: &[(&Subject, &str, u64, Made)]| all.iter().map(|(.., made)| made.seconds).sum::<f64>();
    let all = each_size_once(calls, &|_| true);
    let looked_at = each_size_once(calls, is_known);
    let is_looked_at = |function: &str, bytes: u64| looked_at.iter().any(|one| (one.1, one.2) == (function, bytes));
    let mut missing: Vec<(f64, String)> = all
        .iter()
        .filter(|(_, function, bytes, _)| !is_looked_at(function, *bytes))
        .map(|(_, function, bytes, made)| (made.seconds, format!("{function} of {}", format::bytes(*bytes))))
        .collect();
    missing.sort_by(|a, b| b.0.total_cmp(&a.0));
    (!all.is_empty()).then(|| AtStake {
        seconds: seconds(&all),
        looked_at_seconds: seconds(&looked_at),
        not_looked_at: missing.into_iter().map(|(_, name)| name).collect(),
    })
}

fn differs(slow: &Sample, fast: &Sample, rule: &Rule) -> bool {
    kilter_stats::verdict::improves(slow, fast, rule)
}

fn sort(savings: &mut [Saving]) {
    savings.sort_by(|a, b| b.saved_seconds.total_cmp(&a.saved_seconds));
}

/// The calls of each function and volume that was asked for, at the smallest volume that is `known`: rounding up for one guideline makes a second
/// volume of the same calls. An application makes plain calls; other forms of a function, such as those on permuted ranks, stand for it only
/// where there is no plain one.
fn each_size_once<'c>(calls: &'c Calls, known: &dyn Fn(&Subject) -> bool) -> Vec<(&'c Subject, &'c str, u64, Made)> {
    let of_sizes = |(subject, called): (&'c Subject, &'c Called)| {
        let sizes = called.calls.iter();
        sizes.map(move |(size, made)| ((called.function.as_str(), *size), (subject, *made)))
    };
    let mut plain: BTreeMap<(&str, u64), Vec<(&Subject, Made)>> = BTreeMap::new();
    let mut others: BTreeMap<(&str, u64), Vec<(&Subject, Made)>> = BTreeMap::new();
    // Subjects of one text come in the order of their volumes.
    for (key, entry) in calls.iter().flat_map(of_sizes) {
        let is_plain = entry.0.collective().is_some();
        let forms = if is_plain { &mut plain } else { &mut others };
        forms.entry(key).or_default().push(entry);
    }
    others.retain(|key, _| !plain.contains_key(key));
    plain
        .into_iter()
        .chain(others)
        .filter_map(|((function, size), forms)| {
            let (subject, made) = forms.into_iter().find(|(subject, _)| known(subject))?;
            Some((subject, function, size, made))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    /// Calls of a microsecond each.
    fn made(count: f64) -> Made {
        Made {
            count,
            seconds: count * 1e-6,
        }
    }

    #[test]
    fn what_was_not_looked_at_is_named_with_its_seconds() {
        let is_reduce = |subject: &Subject| subject.collective() == Some(Collective::Reduce);
        let stake = at_stake(&calls(), &is_reduce).unwrap();
        approx::assert_relative_eq!(stake.seconds, 1015e-6);
        approx::assert_relative_eq!(stake.looked_at_seconds, 15e-6);
        assert_eq!(stake.not_looked_at, ["scan of 8 B"]);
        assert_eq!(at_stake(&Calls::new(), &is_reduce), None);
    }

    fn called(function: &str, calls: &[(u64, f64)]) -> Called {
        Called {
            function: function.to_owned(),
            calls: calls.iter().map(|(bytes, count)| (*bytes, made(*count))).collect(),
        }
    }

    /// 10 calls at 1001 B, measured there and at 1002 B; 1000 of another at 8 B.
    fn calls() -> Calls {
        BTreeMap::from([
            (
                Subject::library(Collective::Reduce, 1001),
                called("reduce", &[(1001, 10.0)]),
            ),
            (
                Subject::library(Collective::Reduce, 1002),
                called("reduce", &[(1001, 10.0), (1002, 5.0)]),
            ),
            (Subject::library(Collective::Scan, 8), called("scan", &[(8, 1000.0)])),
        ])
    }

    fn medians(times: &[(Collective, u64, f64)]) -> Medians {
        let launches = |us: f64| {
            [0.99, 0.995, 1.0, 1.005, 1.01]
                .map(|factor| factor * us * 1e-6)
                .to_vec()
        };
        let row =
            |(collective, bytes, us): &(Collective, u64, f64)| (Subject::library(*collective, *bytes), launches(*us));
        times.iter().map(row).collect()
    }

    #[test]
    fn calls_count_once_and_losses_count_too() {
        use Collective::{Reduce, Scan};
        let before = medians(&[(Reduce, 1001, 100.0), (Reduce, 1002, 101.0), (Scan, 8, 3.0)]);
        let after = medians(&[(Reduce, 1001, 40.0), (Reduce, 1002, 41.0), (Scan, 8, 3.02)]);
        let all = |_: &Subject| true;
        let savings = of(&calls(), (&before, &after), &all, &Rule::default());
        let rows: Vec<(&str, u64, i64, bool)> = savings
            .iter()
            .map(|one| {
                (
                    one.function.as_str(),
                    one.bytes,
                    (one.saved_seconds * 1e6).round() as i64,
                    one.certain,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("reduce", 1001, 600, true),
                ("reduce", 1002, 300, true),
                ("scan", 8, -20, false)
            ]
        );
    }

    #[test]
    fn what_nothing_acts_on_saves_nothing_and_no_form_counts_twice() {
        use Collective::{Reduce, Scan};
        let mut calls = calls();
        let permuted = Subject {
            text: "reduce(n){permuted}".to_owned(),
            ..Subject::library(Reduce, 1001)
        };
        calls.insert(permuted.clone(), called("reduce", &[(1001, 10.0)]));
        let no_plain = Subject {
            text: "gather(n){permuted}".to_owned(),
            ..Subject::library(Collective::Gather, 8)
        };
        calls.insert(no_plain.clone(), called("gather", &[(8, 4.0)]));
        let all = [(Reduce, 1001, 100.0), (Reduce, 1002, 101.0), (Scan, 8, 3.0)];
        let mut before = medians(&all);
        let mut after = medians(&all.map(|(collective, bytes, us)| (collective, bytes, us / 2.0)));
        for form in [permuted, no_plain] {
            before.insert(form.clone(), vec![80e-6; 5]);
            after.insert(form, vec![20e-6; 5]);
        }
        let touched = |subject: &Subject| subject.task.collective() != Some(Scan);
        let savings = of(&calls, (&before, &after), &touched, &Rule::default());
        let rows: Vec<(&str, u64, f64)> = savings
            .iter()
            .map(|one| (&*one.function, one.bytes, one.calls))
            .collect();
        assert_eq!(
            rows,
            [("reduce", 1001, 10.0), ("reduce", 1002, 5.0), ("gather", 8, 4.0)]
        );
    }

    #[test]
    fn the_net_is_what_all_calls_save_together() {
        let seconds = |us: [f64; 3]| {
            move |subject: &Subject| match (subject.collective(), subject.bytes) {
                (Some(Collective::Reduce), 1001) => Some(us[0] * 1e-6),
                (Some(Collective::Reduce), _) => Some(us[1] * 1e-6),
                _ => Some(us[2] * 1e-6),
            }
        };
        // 15 calls gain 60 us each, 1000 lose 1 us each.
        let net = net_seconds(&calls(), &seconds([100.0, 100.0, 3.0]), &seconds([40.0, 40.0, 4.0]));
        assert!((net + 100e-6).abs() < 1e-9, "{net}");
        assert_eq!(net_seconds(&calls(), &seconds([1.0; 3]), &|_| None), 0.0);
    }
}
