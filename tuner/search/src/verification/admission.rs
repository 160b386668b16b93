//! Choice of the cells that get the next launches if the time does not reach for all. Pure.
//!
//! Cells that can be shown to be violated come first, ordered by the seconds that each may save an application per second of measuring. Then
//! come cells that are expected to hold, the cheapest first, and with an application's calls those in which it spends most: an answer is all that there is to gain, and the first look gives it. Cells so near
//! the floor that the launches will hardly tell come last, the cheapest of these first as well: what they may save is noise, and some get an answer.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::plan::Subject;
use kilter_stats::verdict::screening::Expected;

/// Cells that get their launches together: a pair, or a function at several sizes.
#[derive(Debug, Clone)]
pub(super) struct Waiting<T> {
    /// The waiting item.
    pub(super) what: T,
    /// Subjects that have to be timed for it.
    pub(super) subjects: BTreeSet<Subject>,
    /// The verdict that its launches are expected to show.
    pub(super) expected: Expected,
    /// Seconds of an application that it may save: calls times the seconds that each may take too long.
    pub(super) gain_seconds: f64,
    /// Seconds of an application in its calls; 1 where nobody knows them.
    pub(super) stake_seconds: f64,
}

impl<T> Waiting<T> {
    /// Its subjects and expectations, without the item.
    pub(super) fn without_what(&self) -> Waiting<()> {
        Waiting {
            what: (),
            subjects: self.subjects.clone(),
            expected: self.expected,
            gain_seconds: self.gain_seconds,
            stake_seconds: self.stake_seconds,
        }
    }
}

/// Limits of the next launches.
pub(super) struct Means<'a> {
    /// Price of a subject in a launch, in seconds.
    pub(super) price: Box<dyn Fn(&Subject) -> f64 + 'a>,
    /// Price of a launch beside its subjects, in seconds.
    pub(super) launch_seconds: f64,
    /// Launches that a decision is expected to take.
    pub(super) launches: usize,
    /// Number of these that are left for subjects measured already.
    pub(super) left_launches: usize,
    /// Launches at the first look.
    pub(super) first_look: usize,
    /// Seconds that are left.
    pub(super) left_seconds: f64,
}

/// Moves cells from `waiting` to the next launches, beside the `active` subjects, in the order told above, as long as all active cells could be
/// decided in the seconds left. If nothing is active and not even one cell fits, the first is taken all the same: its launches end with the
/// seconds.
pub(super) fn admit<T>(
    waiting: &mut Vec<Waiting<T>>,
    active: &BTreeSet<Subject>,
    means: &Means<'_>,
) -> Vec<Waiting<T>> {
    // Each subject is timed in as many launches as the cell that needs it longest.
    let mut timed: BTreeMap<Subject, usize> = active.iter().map(|one| (one.clone(), means.left_launches)).collect();
    let price = &means.price;
    let all = |(subject, launches): (&Subject, &usize)| price(subject) * *launches as f64;
    let mut seconds: f64 = means.launch_seconds * means.launches as f64 + timed.iter().map(all).sum::<f64>();
    let mut admitted = Vec::new();
    waiting.sort_by(|a, b| {
        let by_rate = || rate(b, means).total_cmp(&rate(a, means));
        a.expected.cmp(&b.expected).then_with(by_rate)
    });
    let mut index = 0;
    while index < waiting.len() {
        let one = &waiting[index];
        let wanted = match one.expected {
            Expected::Holds => means.first_look,
            Expected::Violation | Expected::Nothing => means.launches,
        };
        let further: f64 = one
            .subjects
            .iter()
            .map(|subject| {
                let known = timed.get(subject).copied().unwrap_or(0);
                price(subject) * wanted.saturating_sub(known) as f64
            })
            .sum();
        let fits = seconds + further <= means.left_seconds;
        if fits || (timed.is_empty() && index + 1 == waiting.len()) {
            // The last one that is looked at is not the best one: where nothing fits, take the first.
            let one = waiting.remove(if fits { index } else { 0 });
            seconds += further;
            for subject in &one.subjects {
                let launches = timed.entry(subject.clone()).or_default();
                *launches = wanted.max(*launches);
            }
            admitted.push(one);
        } else {
            index += 1;
        }
    }
    admitted
}

/// Subjects of the dearest cells of `order` that the seconds reach for, beside `always`, where `entered` are those that are still measured.
pub(super) fn dearest(
    order: &[Waiting<()>],
    entered: &BTreeSet<Subject>,
    always: &BTreeSet<Subject>,
    means: &Means<'_>,
) -> BTreeSet<Subject> {
    let still = |one: &Waiting<()>| {
        let subjects: BTreeSet<Subject> = one.subjects.intersection(entered).cloned().collect();
        // A function has lost its decided sizes; a pair has both sides or is decided.
        let is_open = !subjects.is_empty() && (one.subjects.len() > 2 || subjects.len() == one.subjects.len());
        is_open.then(|| Waiting {
            subjects,
            ..one.without_what()
        })
    };
    let mut open: Vec<Waiting<()>> = order.iter().filter_map(still).collect();
    let kept = admit(&mut open, always, means);
    kept.into_iter().flat_map(|one| one.subjects).collect()
}

/// Seconds to gain for a second of measuring; where an answer is all there is to gain, the seconds of the application that it is about.
fn rate<T>(waiting: &Waiting<T>, means: &Means<'_>) -> f64 {
    let cost: f64 = waiting.subjects.iter().map(&means.price).sum();
    let gain = match waiting.expected {
        Expected::Holds | Expected::Nothing => waiting.stake_seconds,
        Expected::Violation => waiting.gain_seconds,
    };
    gain / cost.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    fn subject(bytes: u64) -> Subject {
        Subject::library(Collective::Bcast, bytes)
    }

    /// A subject costs as many seconds as it has bytes.
    fn price(subject: &Subject) -> f64 {
        subject.bytes as f64
    }

    fn waiting(what: &'static str, bytes: &[u64], gain_seconds: f64) -> Waiting<&'static str> {
        Waiting {
            what,
            subjects: bytes.iter().copied().map(subject).collect(),
            expected: Expected::Violation,
            gain_seconds,
            stake_seconds: 1.0,
        }
    }

    fn admitted(mut all: Vec<Waiting<&'static str>>, active: &[u64], left_seconds: f64) -> Vec<&'static str> {
        let active = active.iter().copied().map(subject).collect();
        let means = Means {
            price: Box::new(price),
            launch_seconds: 1.0,
            launches: 10,
            left_launches: 10,
            first_look: 5,
            left_seconds,
        };
        admit(&mut all, &active, &means)
            .into_iter()
            .map(|one| one.what)
            .collect()
    }

    #[test]
    fn everything_where_the_time_reaches() {
        let all = vec![waiting("a", &[1, 2], 0.0), waiting("b", &[4], 5.0)];
        assert_eq!(admitted(all, &[], 1000.0), ["b", "a"]);
    }

    #[test]
    fn the_dearest_for_its_price_comes_first_and_what_does_not_fit_waits() {
        let all = vec![
            waiting("cheap", &[1], 1.0),
            waiting("dear", &[100], 1000.0),
            waiting("dull", &[2], 0.1),
        ];
        // 10 launches of 1 + 1 + 2 seconds.
        assert_eq!(admitted(all, &[], 50.0), ["cheap", "dull"]);
    }

    #[test]
    fn what_is_timed_anyway_costs_nothing_more() {
        let all = vec![waiting("shares", &[100, 1], 1.0), waiting("other", &[50], 100.0)];
        assert_eq!(admitted(all, &[100], 1050.0), ["shares"]);
    }

    #[test]
    fn what_is_decided_soon_takes_the_seconds_of_few_launches() {
        let near = |expected| Waiting {
            expected,
            ..waiting("near its bound", &[20], 0.0)
        };
        let all = |is_soon| {
            let expected = if is_soon { Expected::Holds } else { Expected::Violation };
            vec![waiting("slow", &[10], 1000.0), near(expected)]
        };
        // 10 launches of 1 + 10 seconds, and half as many of 20 more.
        assert_eq!(admitted(all(true), &[], 210.0), ["slow", "near its bound"]);
        assert_eq!(admitted(all(false), &[], 210.0), ["slow"]);
        assert_eq!(
            admitted(all(true), &[20], 310.0),
            ["slow", "near its bound"],
            "it is timed anyway"
        );
    }

    #[test]
    fn what_can_be_shown_comes_before_answers_and_these_before_what_no_launch_will_tell() {
        let all = || {
            [
                ("dear and at the floor", Expected::Nothing, 11, 2000.0),
                ("at the floor", Expected::Nothing, 9, 1000.0),
                ("dear answer", Expected::Holds, 8, 900.0),
                ("cheap answer", Expected::Holds, 3, 0.0),
                ("violated", Expected::Violation, 7, 0.1),
            ]
            .map(|(what, expected, bytes, gain_seconds)| Waiting {
                expected,
                ..waiting(what, &[bytes], gain_seconds)
            })
            .to_vec()
        };
        assert_eq!(
            admitted(all(), &[], 1e4),
            [
                "violated",
                "cheap answer",
                "dear answer",
                "at the floor",
                "dear and at the floor"
            ]
        );
        // 10 launches of 1 + 7, 5 of 3 and 8.
        assert_eq!(admitted(all(), &[], 136.0), ["violated", "cheap answer", "dear answer"]);
        assert_eq!(admitted(all(), &[], 96.0), ["violated", "cheap answer"]);
    }

    #[test]
    fn where_launches_take_longer_the_dearest_are_measured_to_their_end() {
        let order = [
            waiting("pair", &[10, 20], 900.0).without_what(),
            waiting("dull", &[20, 5], 1.0).without_what(),
            waiting("function", &[30, 40, 50], 500.0).without_what(),
            waiting("decided", &[60, 20], 5000.0).without_what(),
        ];
        let entered: BTreeSet<Subject> = [5, 10, 20, 40].into_iter().map(subject).collect();
        let kept = |left_seconds: f64, always: &[u64]| -> Vec<u64> {
            let means = Means {
                price: Box::new(price),
                launch_seconds: 1.0,
                launches: 4,
                left_launches: 4,
                first_look: 4,
                left_seconds,
            };
            let always = always.iter().copied().map(subject).collect();
            let kept = dearest(&order, &entered, &always, &means);
            kept.iter().map(|subject| subject.bytes).collect()
        };
        assert_eq!(kept(1000.0, &[]), [5, 10, 20, 40]);
        // 4 launches of 1 + 10 + 20 seconds; what else costs little comes with it.
        assert_eq!(kept(125.0, &[]), [10, 20]);
        assert_eq!(kept(145.0, &[]), [5, 10, 20]);
        assert_eq!(
            kept(145.0, &[10]),
            [5, 10, 20],
            "what is always measured is paid for once"
        );
        assert_eq!(kept(3.0, &[10]), Vec::<u64>::new());
    }

    #[test]
    fn something_is_begun_even_where_nothing_fits() {
        let all = || vec![waiting("a", &[10], 1.0), waiting("b", &[10], 9.0)];
        assert_eq!(admitted(all(), &[], 5.0), ["b"]);
        assert_eq!(admitted(all(), &[3], 5.0), Vec::<&str>::new());
    }
}
