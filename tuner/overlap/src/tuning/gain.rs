//! Distance of missed targets from their bounds, and whether a setting reduces it. Pure.

use std::fmt;

use super::in_turn::{InTurn, Towards, place};
use crate::targets::{Judged, Judgement, Standing, Verdict};

/// Excess of a cell in which nothing is hidden.
const HID_NOTHING: f64 = 1.0;

/// True if the target is missed and could be met.
pub(super) fn is_open(judgement: &Judgement) -> bool {
    is_missed(judgement) && judgement.not_attainable_because().is_none()
}

pub(super) fn is_missed(judgement: &Judgement) -> bool {
    judgement.standing() == Standing::Missed
}

/// Evidence that a cell was missed in one state and is not in the other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told<'a> {
    /// Both sides were measured at different times, and their intervals must not overlap.
    ByIntervals,
    /// Both sides were measured in turn, and are compared within pairs.
    InTurn(&'a InTurn<'a>),
}

/// Reason why the judged state is not better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Objection {
    /// These targets are missed in more cells than before, by their ids.
    Misses(Vec<String>),
    /// No cell of any target came nearer for certain.
    MeetsNone,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Misses(targets) => write!(f, "misses {}", targets.join(", ")),
            Objection::MeetsNone => f.write_str("brings no target nearer for certain"),
        }
    }
}

/// Reason why the judged state is not better than `present`. To be better, it must miss fewer cells of an open target,
/// and one of these must have come nearer by more than the uncertainty of both. No target may have moved away to that
/// extent. It does not suffice that a cell changes between missed and not missed: noise does both.
pub(super) fn objection(present: &[Judgement], judged: &[Judgement], told: Told<'_>) -> Option<Objection> {
    let pairs = || {
        let now = |one: &Judgement| judged.iter().find(|judged| judged.target == one.target);
        present.iter().filter_map(move |one| Some((one, now(one)?)))
    };
    // A cell that could not be measured is not met.
    let cells = |one: &Judgement| one.count(Verdict::Missed) + one.unmeasured;
    let is_worse = |before: &Judgement, now: &Judgement| {
        cells(now) > cells(before) && has_moved(now, before, Towards::Farther, told)
    };
    let is_better = |before: &Judgement, now: &Judgement| {
        is_open(before) && cells(now) < cells(before) && has_moved(before, now, Towards::Nearer, told)
    };
    let worse = pairs().filter(|(before, now)| is_worse(before, now));
    let worse: Vec<String> = worse.map(|(before, _)| before.target.clone()).collect();
    match (pairs().any(|(before, now)| is_better(before, now)), worse.is_empty()) {
        (true, true) => None,
        (_, false) => Some(Objection::Misses(worse)),
        (false, true) => Some(Objection::MeetsNone),
    }
}

/// True if a cell is missed in `far` but not in `near` and has certainly moved from there to here, or if more cells of
/// `far` could not be measured.
fn has_moved(far: &Judgement, near: &Judgement, towards: Towards, told: Told<'_>) -> bool {
    let (target, bound) = (&near.target, near.bound);
    let mut missed = far.cells.iter().filter(|cell| cell.verdict == Verdict::Missed);
    let is_certain = |far: &Judged, near: &Judged| match told {
        Told::ByIntervals => near.interval[1] < far.interval[0],
        Told::InTurn(launches) => {
            // Noise alone keeps a cell from being missed for certain; its middle must be within the bound as well.
            let is_within = near.value <= bound + launches.rule.effect_floor;
            (is_within || towards == Towards::Farther) && launches.has_moved(target, place(near), towards)
        }
    };
    near.unmeasured < far.unmeasured
        || missed.any(|far| {
            let mut same = near.cells.iter().filter(|near| place(near) == place(far));
            same.any(|near| near.verdict != Verdict::Missed && is_certain(far, near))
        })
}

/// Excess over the bounds of the targets that are open at `present`, as a fraction of what could be hidden: the mean
/// over their cells. Cells that now certainly miss a target which is met at `present` add to it. The other cells show
/// only the noise of one launch and would choose between settings by chance. A cell that could not be measured hid
/// nothing. No cell counts for more than that: a time slice beside a message of microseconds is a thousand times as
/// long and would decide alone.
pub(super) fn shortfall(present: &[Judgement], judgements: &[Judgement]) -> f64 {
    let is_attainable = |one: &&Judgement| one.floor.as_ref().is_none_or(|floor| floor.value <= one.bound);
    let (mut excess, mut sought_cells) = (0.0, 0_usize);
    for judgement in judgements.iter().filter(is_attainable) {
        let before = present.iter().find(|one| one.target == judgement.target);
        let is_sought = before.is_some_and(is_open);
        let was_met = before.is_some_and(|before| before.standing() == Standing::Holds);
        let counts = |cell: &&Judged| match cell.verdict {
            Verdict::Masked => false,
            Verdict::Missed => is_sought || was_met,
            Verdict::Holds | Verdict::Undecided => is_sought,
        };
        for cell in judgement.cells.iter().filter(counts) {
            excess += (cell.value - judgement.bound).clamp(0.0, HID_NOTHING);
            sought_cells += usize::from(is_sought);
        }
        excess += HID_NOTHING * judgement.unmeasured as f64;
        sought_cells += if is_sought { judgement.unmeasured } else { 0 };
    }
    excess / sought_cells.max(1) as f64
}

#[cfg(test)]
pub(super) mod tests {
    use kilter_protocol::overlap::Benchmark;

    use super::*;
    use crate::floor::Floor;

    fn cell(place: u32, value: f64) -> Judged {
        Judged {
            bytes: 1 << place,
            computation_ns: 1_000_000,
            threads: 1,
            verdict: if value > 0.3 { Verdict::Missed } else { Verdict::Holds },
            seconds: value,
            allowed_seconds: 0.2,
            value,
            interval: [value, value],
            p_adjusted: 0.0,
        }
    }

    /// A target of at most 0.2 with these values in cells of its own.
    pub(in super::super) fn judgement(target: &str, values: &[f64]) -> Judgement {
        Judgement {
            target: target.to_owned(),
            benchmark: Benchmark::Receiver,
            statement: String::new(),
            bound: 0.2,
            cells: (0..).zip(values).map(|(place, value)| cell(place, *value)).collect(),
            unmeasured: 0,
            launches: [3, 3],
            communication: 1.0,
            floor: None,
        }
    }

    #[test]
    fn a_shortfall_is_the_mean_excess_of_what_can_be_met() {
        let alone = |one: Judgement| shortfall(&[judgement(&one.target, &[1.0])], &[one]);
        let far = judgement("A", &[1.2, 0.7, 0.1]);
        assert!((alone(far.clone()) - 0.5).abs() < 1e-12);
        // A cell that hangs hides nothing and stays in the mean.
        let hung = Judgement {
            unmeasured: 2,
            ..judgement("A", &[0.1])
        };
        assert!((alone(hung) - 2.0 / 3.0).abs() < 1e-12);
        let sliced = [judgement("A", &[0.7, 700.2]), judgement("A", &[0.2, 700.2])].map(alone);
        assert!(
            (sliced[0] - 0.75).abs() < 1e-12 && (sliced[1] - 0.5).abs() < 1e-12,
            "{sliced:?}"
        );
        let unattainable = Judgement {
            floor: Some(Floor {
                value: 1.0,
                because: String::new(),
            }),
            ..far
        };
        assert!(!is_open(&unattainable));
        assert_eq!(alone(unattainable), 0.0);
    }

    #[test]
    fn of_targets_that_are_not_missed_only_what_is_missed_then_counts() {
        let present = [judgement("A", &[0.7, 0.7]), judgement("B", &[0.1, 0.1])];
        let with = |b: Judgement| shortfall(&present, &[judgement("A", &[0.3, 0.2]), b]);
        let mut undecided = judgement("B", &[0.28, 0.1]);
        undecided.cells[0].verdict = Verdict::Undecided;
        assert!((with(undecided) - 0.05).abs() < 1e-12);
        let missed = judgement("B", &[0.6, 0.1]);
        assert!((with(missed.clone()) - 0.25).abs() < 1e-12);
        // A case that could not be decided before cannot be decided by one launch.
        let mut told_by_none = present.clone();
        told_by_none[1].cells[0].verdict = Verdict::Undecided;
        let found = shortfall(&told_by_none, &[judgement("A", &[0.3, 0.2]), missed]);
        assert!((found - 0.05).abs() < 1e-12);
    }

    /// The objection by intervals, as text.
    fn told(present: &[Judgement], judged: &[Judgement]) -> Option<String> {
        objection(present, judged, Told::ByIntervals).map(|why| why.to_string())
    }

    #[test]
    fn what_meets_one_target_must_not_miss_another() {
        let present = [judgement("A", &[1.0, 1.0]), judgement("B", &[0.1, 0.1])];
        let with = |a: &[f64], b: &[f64]| told(&present, &[judgement("A", a), judgement("B", b)]);
        assert_eq!(with(&[0.1, 1.0], &[0.1, 0.1]), None);
        assert_eq!(with(&[0.1, 0.1], &[0.1, 0.9]).unwrap(), "misses B");
        assert_eq!(
            with(&[1.0, 0.9], &[0.1, 0.1]).unwrap(),
            "brings no target nearer for certain"
        );
        // Not significant any more, and not nearer for certain.
        let mut uncertain = judgement("A", &[0.25, 1.0]);
        uncertain.cells[0].interval = [0.0, 1.1];
        let found = told(&present, &[uncertain, judgement("B", &[0.1, 0.1])]);
        assert_eq!(found.unwrap(), "brings no target nearer for certain");
        let hung = Judgement {
            unmeasured: 2,
            ..judgement("A", &[])
        };
        assert!(has_moved(
            &hung,
            &judgement("A", &[1.0, 1.0]),
            Towards::Nearer,
            Told::ByIntervals
        ));
        assert!(told(&present, &[hung, judgement("B", &[0.1, 0.1])]).is_some());
        // One cell more of a target is missed, and is where it was: that is noise.
        let mut at_the_edge = judgement("B", &[0.1, 0.31]);
        at_the_edge.cells[1].interval = [0.05, 0.6];
        assert_eq!(told(&present, &[judgement("A", &[0.1, 1.0]), at_the_edge]), None);
    }
}
