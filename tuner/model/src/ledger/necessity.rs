//! The smallest deployment: which launch settings are needed beside everything else that is deployed.
//!
//! A setting of a whole launch touches every call of every application, so it has to earn its place: the cells that it is deployed
//! for become faster by more than launches differ, and nothing else that is deployed fixes them all.

use std::collections::BTreeSet;

use super::{Decision, Ledger, Proposal, State, of};
use crate::change::Change;
use crate::deployment::Deployment;

impl Ledger {
    /// Deploys the confirmed settings of whole launches that are needed beside the choices for single cells, and leaves the others out; gives
    /// both. `covered` names the targets that a selection fixes; `stays` is true for changes that are needed for another reason.
    pub fn deploy_needed(
        &mut self,
        covered: &BTreeSet<String>,
        stays: &dyn Fn(&Change) -> bool,
    ) -> (Vec<Proposal>, Vec<Proposal>) {
        let (kept, left) = self.necessity(covered, stays);
        for decision in self.decisions.iter_mut().filter(|one| one.state == State::Confirmed) {
            let is_kept = kept.iter().any(|proposal| proposal.change == decision.change);
            decision.state = if is_kept { State::Deployed } else { State::Superfluous };
        }
        (kept, left)
    }

    /// The confirmed settings of whole launches that [`Ledger::deploy_needed`] would leave out.
    #[must_use]
    pub fn superfluous(&self, covered: &BTreeSet<String>, stays: &dyn Fn(&Change) -> bool) -> Vec<Proposal> {
        self.necessity(covered, stays).1
    }

    /// [`Ledger::in_force`] without these confirmed changes.
    #[must_use]
    pub fn in_force_without(&self, left_out: &[Proposal]) -> Deployment {
        let is_left_out = |decision: &Decision| left_out.iter().any(|one| one.change == decision.change);
        let is_in_force =
            |decision: &&Decision| decision.stands() || decision.state == State::Confirmed && !is_left_out(decision);
        of(self.decisions.iter().filter(is_in_force))
    }

    /// The confirmed changes: those that are needed, and those that are not.
    fn necessity(&self, covered: &BTreeSet<String>, stays: &dyn Fn(&Change) -> bool) -> (Vec<Proposal>, Vec<Proposal>) {
        let confirmed = self
            .decisions
            .iter()
            .filter(|decision| decision.state == State::Confirmed);
        let proposals: Vec<Proposal> = confirmed
            .map(|decision| Proposal {
                change: decision.change.clone(),
                fixes: decision.fixes.clone(),
            })
            .collect();
        let needed = needed(&proposals, covered);
        let judged = proposals.into_iter().zip(needed);
        let (kept, left): (Vec<_>, Vec<_>) =
            judged.partition(|(proposal, is_needed)| *is_needed || stays(&proposal.change));
        let alone = |list: Vec<(Proposal, bool)>| list.into_iter().map(|(proposal, _)| proposal).collect();
        (alone(kept), alone(left))
    }
}

/// Settings of whole launches that are needed.
///
/// `proposals` come most promising first; `covered` names the targets that an algorithm or a mock-up fixes. A setting is not needed if each of
/// its targets is covered or fixed by another setting that stays. Settings with more variables are given up first, then the less promising. None
/// of the rest can be left out; an order that leaves out still more is not looked for.
#[must_use]
pub fn needed(proposals: &[Proposal], covered: &BTreeSet<String>) -> Vec<bool> {
    let mut order: Vec<usize> = (0..proposals.len()).collect();
    order.sort_by_key(|index| (proposals[*index].change.settings.len(), *index));
    let mut stays = vec![true; proposals.len()];
    for index in order.into_iter().rev() {
        let others = |target: &String| {
            (0..proposals.len()).any(|other| other != index && stays[other] && proposals[other].fixes.contains(target))
        };
        let is_fixed_anyway = |target: &String| covered.contains(target) || others(target);
        stays[index] = !proposals[index].fixes.iter().all(is_fixed_anyway);
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::Assignment;

    fn proposal(name: &str, fixes: &[&str]) -> Proposal {
        let setting = |name: &str| Assignment {
            name: name.to_owned(),
            value: "1".to_owned(),
            environment: false,
        };
        Proposal {
            change: Change::of_launch(name.split(' ').map(setting).collect()),
            fixes: fixes.iter().map(|fix| (*fix).to_owned()).collect(),
        }
    }

    fn names(list: &[Proposal]) -> Vec<String> {
        list.iter().map(|one| one.change.id()).collect()
    }

    fn kept(list: &[Proposal], covered: &[&str]) -> Vec<String> {
        let covered = covered.iter().map(|name| (*name).to_owned()).collect();
        let mut ledger = Ledger::default();
        for proposal in list {
            ledger.confirm(proposal.clone());
        }
        let (kept, left) = ledger.deploy_needed(&covered, &|_| false);
        assert_eq!(kept.len() + left.len(), list.len());
        assert_eq!(ledger.deployment(), ledger.in_force());
        names(&kept)
    }

    #[test]
    fn what_an_algorithm_fixes_as_well_needs_no_setting() {
        let list = [proposal("eager", &["reduce 4096"])];
        assert_eq!(kept(&list, &[]), ["eager=1"]);
        assert_eq!(kept(&list, &["reduce 4096"]), [""; 0]);
        assert_eq!(kept(&list, &["reduce 8192"]), ["eager=1"]);
    }

    #[test]
    fn what_is_needed_for_another_reason_stays() {
        let mut ledger = Ledger::default();
        ledger.confirm(proposal("gate", &["reduce 4096"]));
        ledger.confirm(proposal("eager", &["reduce 4096"]));
        let covered = BTreeSet::from(["reduce 4096".to_owned()]);
        let (kept, left) = ledger.deploy_needed(&covered, &|change| change.id() == "gate=1");
        assert_eq!(
            (names(&kept), names(&left)),
            (vec!["gate=1".to_owned()], vec!["eager=1".to_owned()])
        );
    }

    #[test]
    fn a_setting_stays_for_the_one_cell_that_nothing_else_fixes() {
        let list = [proposal("eager", &["gather 1", "reduce 4096"])];
        assert_eq!(kept(&list, &["reduce 4096"]), ["eager=1"]);
    }

    #[test]
    fn of_two_settings_that_fix_the_same_the_more_promising_stays_and_of_a_pair_the_single_one() {
        let same = ["reduce 4096"];
        assert_eq!(kept(&[proposal("a", &same), proposal("b", &same)], &[]), ["a=1"]);
        assert_eq!(kept(&[proposal("a b", &same), proposal("c", &same)], &[]), ["c=1"]);
        let wider = [proposal("a", &["reduce 1"]), proposal("b", &["reduce 1", "scan 8"])];
        assert_eq!(kept(&wider, &[]), ["b=1"]);
    }
}
