//! The smallest deployment: which launch settings are needed beside everything else that is deployed. Pure.
//!
//! A setting of a whole launch touches every call of every application, so it has to earn its place: the cells that it is deployed
//! for become faster by more than launches differ, and nothing else that is deployed fixes them all.

use std::collections::BTreeSet;

use kilter_model::deployment::Assignment;

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
