//! The smallest deployment: which launch settings are needed beside everything else that is deployed. Pure.
//!
//! A setting of a whole launch touches every call of every application, so it has to earn its place: the cells that it is deployed
//! for become faster by more than launches differ, and nothing else that is deployed fixes them all.

use std::collections::BTreeSet;

use crate::deployment::Assignment;
use crate::stats::sample::Sample;
use crate::verdict::Rule;

/// A launch setting that was confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// It, and what goes along with it.
    pub assignments: Vec<Assignment>,
    /// Names of the targets that it fixes by itself, and that were not fixed before.
    pub fixes: BTreeSet<String>,
}

impl Accepted {
    /// `name=value name=value`.
    #[must_use]
    pub fn id(&self) -> String {
        id(&self.assignments)
    }
}

/// Assignments as one word for people, `default` where there is none.
#[must_use]
pub fn id(assignments: &[Assignment]) -> String {
    if assignments.is_empty() {
        return "default".to_owned();
    }
    assignments
        .iter()
        .map(|assignment| format!("{}={}", assignment.name, assignment.value))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether times `after` a change are shorter than `before` it, both in seconds and one per launch: by more than the rule's floors,
/// and significantly. A cell at the edge of its bound passes it by chance now and then; that is no improvement.
#[must_use]
pub fn improves(before: &Sample, after: &Sample, rule: &Rule) -> bool {
    rule.is_relevant(before.median(), after.median()) && rule.test.p_left_greater(before, after) <= rule.alpha
}

/// Divides settings into those that are needed and those that are not.
///
/// `accepted` is most promising first; `covered` names the targets that something else fixes: an algorithm or a mock-up that was
/// chosen for them. A setting is not needed if each of its targets is covered or fixed by another setting that stays. What sets
/// more variables is given up first, then what is less promising. Nothing that stays can be left out; an order that leaves out
/// still more is not looked for.
#[must_use]
pub fn needed(accepted: Vec<Accepted>, covered: &BTreeSet<String>) -> (Vec<Accepted>, Vec<Accepted>) {
    let mut order: Vec<usize> = (0..accepted.len()).collect();
    order.sort_by_key(|index| (accepted[*index].assignments.len(), *index));
    let mut stays = vec![true; accepted.len()];
    for index in order.into_iter().rev() {
        let others = |target: &String| {
            (0..accepted.len()).any(|other| other != index && stays[other] && accepted[other].fixes.contains(target))
        };
        let is_fixed_anyway = |target: &String| covered.contains(target) || others(target);
        stays[index] = !accepted[index].fixes.iter().all(is_fixed_anyway);
    }
    let (kept, dropped): (Vec<_>, Vec<_>) = accepted.into_iter().zip(stays).partition(|(_, stays)| *stays);
    let without_flag = |list: Vec<(Accepted, bool)>| list.into_iter().map(|(accepted, _)| accepted).collect();
    (without_flag(kept), without_flag(dropped))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        alpha: 0.05,
        effect_floor: 0.05,
        noise_seconds: 1e-7,
        confidence: 0.95,
        test: crate::verdict::Test::RankSum,
        correction: crate::verdict::Correction::Holm,
    };

    /// Five launches that differ by 1 % around so many microseconds.
    fn launches(microseconds: f64) -> Sample {
        let times = [0.99, 0.995, 1.0, 1.005, 1.01].map(|factor| factor * microseconds * 1e-6);
        Sample::new(times.to_vec()).unwrap()
    }

    fn accepted(name: &str, fixes: &[&str]) -> Accepted {
        let assignment = |name: &str| Assignment {
            name: name.to_owned(),
            value: "1".to_owned(),
            environment: false,
        };
        Accepted {
            assignments: name.split(' ').map(assignment).collect(),
            fixes: fixes.iter().map(|fix| (*fix).to_owned()).collect(),
        }
    }

    fn names(list: &[Accepted]) -> Vec<String> {
        list.iter().map(Accepted::id).collect()
    }

    fn kept(list: &[Accepted], covered: &[&str]) -> Vec<String> {
        let covered = covered.iter().map(|name| (*name).to_owned()).collect();
        let (kept, dropped) = needed(list.to_vec(), &covered);
        assert_eq!(kept.len() + dropped.len(), list.len());
        names(&kept)
    }

    #[test]
    fn a_cell_at_the_edge_that_passes_by_chance_is_not_improved() {
        // Bound 100 us, floor 5 %: 106 us are violated, 104 us are not, and nothing happened.
        assert!(!improves(&launches(106.0), &launches(104.0), &RULE));
        assert!(improves(&launches(106.0), &launches(90.0), &RULE));
        assert!(!improves(&launches(90.0), &launches(106.0), &RULE));
    }

    #[test]
    fn a_faster_median_among_launches_that_overlap_is_not_improved() {
        let before = Sample::new(vec![100e-6, 101e-6, 150e-6, 151e-6, 152e-6]).unwrap();
        let after = Sample::new(vec![99e-6, 100e-6, 102e-6, 150e-6, 151e-6]).unwrap();
        assert!(!improves(&before, &after, &RULE));
    }

    #[test]
    fn less_than_the_clock_tells_is_not_improved() {
        assert!(!improves(&launches(1.10), &launches(1.0), &RULE));
        assert!(improves(&launches(1.30), &launches(1.0), &RULE));
    }

    #[test]
    fn what_an_algorithm_fixes_as_well_needs_no_setting() {
        let list = [accepted("eager", &["reduce 4096"])];
        assert_eq!(kept(&list, &[]), ["eager=1"]);
        assert_eq!(kept(&list, &["reduce 4096"]), [""; 0]);
        assert_eq!(kept(&list, &["reduce 8192"]), ["eager=1"]);
    }

    #[test]
    fn a_setting_stays_for_the_one_cell_that_nothing_else_fixes() {
        let list = [accepted("eager", &["gather 1", "reduce 4096"])];
        assert_eq!(kept(&list, &["reduce 4096"]), ["eager=1"]);
    }

    #[test]
    fn of_two_settings_that_fix_the_same_the_more_promising_stays_and_of_a_pair_the_single_one() {
        let same = ["reduce 4096"];
        assert_eq!(kept(&[accepted("a", &same), accepted("b", &same)], &[]), ["a=1"]);
        assert_eq!(kept(&[accepted("a b", &same), accepted("c", &same)], &[]), ["c=1"]);
        let wider = [accepted("a", &["reduce 1"]), accepted("b", &["reduce 1", "scan 8"])];
        assert_eq!(kept(&wider, &[]), ["b=1"]);
    }
}
