//! Findings of the search, in one shape for all of its steps: the changes that launches have confirmed, and for each target the evidence. Pure.

use std::collections::BTreeMap;

use kilter_model::change::Change;
use kilter_model::deployment::Assignment;
use kilter_model::ledger::Proposal;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Contest, Contestant, Screened};

use crate::choose::Choice;
use crate::reasons;
use crate::target::Target;

/// Findings of a step, or of several together.
#[derive(Debug, Default)]
pub struct Findings {
    /// Confirmed changes, most promising first.
    pub proposals: Vec<Proposal>,
    /// Evidence, by the name of a target.
    pub evidence: BTreeMap<String, Evidence>,
    /// Candidates for whole launches that looked better and were not confirmed, by id.
    pub left_behind: Vec<(String, NotDeployed)>,
}

/// Everything that was measured for a target.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Candidates for whole launches that were confirmed or refused, in launches of their own.
    pub launch_wide: Vec<Contestant>,
    /// The contest in running jobs, where it was held.
    pub contest: Option<Contest>,
    /// The reason why no selection fixes the target.
    pub unfixed_because: Option<String>,
    /// The reason why a setting of whole launches that would fix the target is refused.
    pub refused: Option<String>,
}

impl Findings {
    /// The findings of contests. A way that makes its call faster and misses its bound is a proposal that fixes nothing.
    #[must_use]
    pub fn of_choices(choices: Vec<(Target, Choice)>) -> Findings {
        let mut findings = Findings::default();
        for (target, choice) in choices {
            let name = target.name();
            if let Some((cell, selection)) = target.cell().zip(choice.chosen.clone()) {
                let fixes = choice.unfixed_because.is_none().then(|| name.clone());
                findings.proposals.push(Proposal {
                    change: Change::of_cell(cell, selection),
                    fixes: fixes.into_iter().collect(),
                });
            }
            let evidence = findings.evidence.entry(name).or_default();
            evidence.contest = Some(choice.contest);
            evidence.unfixed_because = choice.unfixed_because;
        }
        findings
    }

    /// Adds those of another step.
    #[must_use]
    pub fn and(mut self, other: Findings) -> Findings {
        self.proposals.extend(other.proposals);
        self.left_behind.extend(other.left_behind);
        for (target, more) in other.evidence {
            let own = self.evidence.entry(target).or_default();
            own.launch_wide.extend(more.launch_wide);
            own.contest = more.contest.or(own.contest.take());
            own.unfixed_because = more.unfixed_because.or(own.unfixed_because.take());
            own.refused = own.refused.take().or(more.refused);
        }
        self
    }

    /// True if a confirmed change fixes the target.
    #[must_use]
    pub fn fixes(&self, target: &Target) -> bool {
        let name = target.name();
        self.proposals.iter().any(|one| one.fixes.contains(&name))
    }

    /// Says of a change of whole launches why it is not deployed.
    pub fn explain(&mut self, change: &Change, why: &NotDeployed) {
        for evidence in self.evidence.values_mut() {
            reasons::explain(&mut evidence.launch_wide, change, why);
        }
    }

    /// The contest of a target with all competitors side by side, and the reason why nothing fixes it; nothing where no contest was held.
    #[must_use]
    pub fn told(&mut self, target: &str) -> Option<(Contest, Option<String>)> {
        let evidence = self.evidence.remove(target)?;
        let mut contest = evidence.contest?;
        let nearer = nearer(&contest, &evidence.launch_wide);
        merge(&mut contest, evidence.launch_wide);
        let behind = self.left_behind.iter().map(|(id, why)| Screened {
            id: id.clone(),
            ratio_to_default: f64::NAN,
            not_deployed: why.clone(),
        });
        contest.screened.extend(behind);
        let reason = evidence.unfixed_because.map(|reason| match (evidence.refused, nearer) {
            (Some(refused), _) => refused,
            (None, Some(nearer)) => format!("{reason}; {nearer}"),
            (None, None) => reason,
        });
        Some((contest, reason))
    }

    /// The settings of all confirmed changes.
    #[must_use]
    pub fn settings(&self) -> Vec<Assignment> {
        let settings = self.proposals.iter().flat_map(|proposal| &proposal.change.settings);
        settings.cloned().collect()
    }
}

/// The launch-wide candidate that came nearer to a target's bound than all that competed in running jobs: the end of a reason why it is not
/// fixed.
fn nearer(contest: &Contest, launch_wide: &[Contestant]) -> Option<String> {
    let with_bound = launch_wide.iter().filter(|one| one.ratio_to_bound > 0.0);
    let best = with_bound.min_by(|a, b| a.ratio_to_bound.total_cmp(&b.ratio_to_bound))?;
    let is_nearer = |other: &Contestant| best.ratio_to_bound < other.ratio_to_bound;
    contest
        .candidates
        .iter()
        .all(is_nearer)
        .then(|| format!("`{}` in launches of its own {:.2} times", best.id, best.ratio_to_bound))
}

/// Adds the launch-wide candidates to a contest's list; a candidate that stands there by the same name was measured beside more, and stays.
fn merge(contest: &mut Contest, mut contestants: Vec<Contestant>) {
    contestants.retain(|one| contest.candidates.iter().all(|other| other.id != one.id));
    contest.candidates.extend(contestants);
    contest
        .candidates
        .sort_by(|a, b| a.ratio_to_default.total_cmp(&b.ratio_to_default));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contestant(id: &str, ratio_to_bound: f64) -> Contestant {
        Contestant {
            id: id.to_owned(),
            kind: None,
            seconds: ratio_to_bound,
            ratio_to_default: 1.0,
            ratio_to_bound,
            among_best: false,
            chosen: false,
            predicted: None,
            change: Change::default(),
            not_deployed: None,
        }
    }

    fn contest() -> Contest {
        Contest {
            function: "allgather".to_owned(),
            bytes: 262_144,
            candidates: vec![contestant("default", 1.99)],
            proof: None,
            models: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
            screened: Vec::new(),
        }
    }

    #[test]
    fn what_came_nearer_than_what_competed_in_running_jobs_is_named() {
        let contest = contest();
        let launch_wide = [
            contestant("A=1", 2.1),
            contestant("A=3", 1.43),
            contestant("no bound", 0.0),
        ];
        let text = nearer(&contest, &launch_wide);
        assert_eq!(text.as_deref(), Some("`A=3` in launches of its own 1.43 times"));
        assert_eq!(nearer(&contest, &launch_wide[..1]), None);
        assert_eq!(nearer(&contest, &[]), None);
    }

    #[test]
    fn a_refused_setting_is_the_reason_before_all_others_and_competitors_stand_side_by_side() {
        let evidence = |refused: Option<&str>| Evidence {
            launch_wide: vec![contestant("default", 3.0), contestant("A=3", 1.43)],
            refused: refused.map(str::to_owned),
            ..Evidence::default()
        };
        let told = |refused: Option<&str>| {
            let held = Evidence {
                contest: Some(contest()),
                unfixed_because: Some("nothing is faster".to_owned()),
                ..Evidence::default()
            };
            let of = |evidence: Evidence| Findings {
                evidence: [("allgather 262144".to_owned(), evidence)].into(),
                ..Findings::default()
            };
            let mut findings = of(evidence(refused)).and(of(held));
            findings.left_behind.push(("B=1".to_owned(), NotDeployed::Banned));
            findings.told("allgather 262144").unwrap()
        };
        let (contest, reason) = told(None);
        assert_eq!(
            reason.as_deref(),
            Some("nothing is faster; `A=3` in launches of its own 1.43 times")
        );
        let seconds: Vec<f64> = contest.candidates.iter().map(|one| one.seconds).collect();
        assert_eq!((seconds, contest.screened.len()), (vec![1.99, 1.43], 1));
        assert_eq!(told(Some("`A=3` slows bcast")).1.as_deref(), Some("`A=3` slows bcast"));
    }
}
