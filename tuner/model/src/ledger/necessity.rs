//! Which settings of whole launches are needed beside each other.
//!
//! A setting of a whole launch touches every call of every application, so it has to earn its place: the cells that it is deployed
//! for become faster by more than launches differ, and no other setting fixes them all.

use super::{Decision, Ledger, Proposal, State};

impl Ledger {
    /// Deploys the confirmed changes of whole launches that are needed beside each other, and gives the others.
    pub fn deploy_confirmed(&mut self) -> Vec<Proposal> {
        let is_confirmed = |decision: &&mut Decision| decision.state == State::Confirmed;
        let mut confirmed: Vec<&mut Decision> = self.decisions.iter_mut().filter(is_confirmed).collect();
        let proposals: Vec<Proposal> = confirmed
            .iter()
            .map(|decision| Proposal {
                change: decision.change.clone(),
                fixes: decision.fixes.clone(),
            })
            .collect();
        let needed = needed(&proposals);
        for (decision, is_needed) in confirmed.iter_mut().zip(&needed) {
            decision.state = if *is_needed {
                State::Deployed
            } else {
                State::Superfluous
            };
        }
        let judged = proposals.into_iter().zip(needed);
        judged
            .filter(|(_, is_needed)| !is_needed)
            .map(|(proposal, _)| proposal)
            .collect()
    }
}

/// Settings of whole launches that are needed.
///
/// `proposals` come most promising first. A setting is not needed if each of its targets is fixed by another setting that stays. Settings with more
/// variables are given up first, then the less promising. None of the rest can be left out; an order that leaves out still more is not looked for.
#[must_use]
pub fn needed(proposals: &[Proposal]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..proposals.len()).collect();
    order.sort_by_key(|index| (proposals[*index].change.settings.len(), *index));
    let mut stays = vec![true; proposals.len()];
    for index in order.into_iter().rev() {
        let others = |target: &String| {
            (0..proposals.len()).any(|other| other != index && stays[other] && proposals[other].fixes.contains(target))
        };
        stays[index] = !proposals[index].fixes.iter().all(others);
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
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

    fn kept(list: &[Proposal]) -> Vec<String> {
        let mut ledger = Ledger::default();
        for proposal in list {
            ledger.confirm(proposal.clone());
        }
        let left = ledger.deploy_confirmed();
        assert_eq!(ledger.deployment(), ledger.in_force());
        let is_kept = |one: &&Proposal| !left.contains(one);
        list.iter().filter(is_kept).map(|one| one.change.id()).collect()
    }

    #[test]
    fn a_setting_stays_for_the_one_cell_that_nothing_else_fixes() {
        let list = [
            proposal("eager", &["gather 1", "reduce 4096"]),
            proposal("copy", &["reduce 4096"]),
        ];
        assert_eq!(kept(&list), ["eager=1"]);
    }

    #[test]
    fn of_two_settings_that_fix_the_same_the_more_promising_stays_and_of_a_pair_the_single_one() {
        let same = ["reduce 4096"];
        assert_eq!(kept(&[proposal("a", &same), proposal("b", &same)]), ["a=1"]);
        assert_eq!(kept(&[proposal("a b", &same), proposal("c", &same)]), ["c=1"]);
        let wider = [proposal("a", &["reduce 1"]), proposal("b", &["reduce 1", "scan 8"])];
        assert_eq!(kept(&wider), ["b=1"]);
    }
}
