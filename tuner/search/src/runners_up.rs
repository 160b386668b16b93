//! Runners-up of contests: rows that measuring beforehand did not decide against, which a job may try in its own calls (`KILTER_ONLINE`).

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::limits::{Call, Limits};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Contest, Contestant};

use crate::context::InJobSearch;
use crate::correctness::{Admission, admit};

/// Most runners-up of a collective. A job's exploration has 15 arms at most, and the calls that it takes grow with their number.
const MOST: usize = 7;

/// A volume above that of any call: a job tries a row at all sizes.
const ANY_BYTES: u64 = 1 << 40;

/// The runners-up of contests beside what is deployed, those nearest to the best of their contest first. Pure.
///
/// A row is one at a cell for which something is deployed if it is statistically as good as the fastest, and at a cell for which nothing is, also if it
/// was faster than the default. What failed or was taken back is none.
#[must_use]
pub fn of(contests: &[Contest], deployed: &Deployment) -> Vec<Selection> {
    let mut distances: BTreeMap<&Selection, (f64, Collective)> = BTreeMap::new();
    for contest in contests {
        let best = contest.candidates.iter().map(|one| one.seconds);
        let best = best.fold(f64::INFINITY, f64::min);
        for one in &contest.candidates {
            let Some((collective, selection)) = row(one, deployed) else {
                continue;
            };
            let distance = one.seconds / best;
            let nearest = distances.entry(selection).or_insert((distance, collective));
            nearest.0 = nearest.0.min(distance);
        }
    }
    let mut all: Vec<(&Selection, (f64, Collective))> = distances.into_iter().collect();
    all.sort_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other));
    let mut taken: BTreeMap<Collective, usize> = BTreeMap::new();
    let has_room = |(_, (_, collective)): &(&Selection, (f64, Collective))| {
        let number = taken.entry(*collective).or_default();
        *number += 1;
        *number <= MOST
    };
    all.into_iter()
        .filter(has_room)
        .map(|(selection, _)| selection.clone())
        .collect()
}

/// The row of a contestant that is a runner-up, with its collective.
fn row<'c>(one: &'c Contestant, deployed: &Deployment) -> Option<(Collective, &'c Selection)> {
    let (cell, selection) = one.change.selection.as_ref()?;
    selection.implementation()?;
    let chosen = deployed.selections.get(cell);
    let is_open = one.among_best || chosen.is_none() && one.ratio_to_default < 1.0;
    let is_out = matches!(
        one.not_deployed,
        Some(
            NotDeployed::Failed { .. }
                | NotDeployed::AlikeHung { .. }
                | NotDeployed::Banned
                | NotDeployed::TakenBack { .. }
                | NotDeployed::CannotBeDeployed
        )
    );
    // Settings of the launch that it was measured with are another launch's.
    let is_alone = one.change.settings.is_empty();
    (is_open && is_alone && !is_out && chosen != Some(selection)).then_some((cell.0, selection))
}

/// Those that pass the correctness matrix on this library and machine and keep within the limits at all sizes. Who fails goes into quarantine.
///
/// # Errors
/// A failure of the matrix that no candidate explains.
pub fn admitted(parts: InJobSearch<'_, '_>, candidates: Vec<Selection>) -> anyhow::Result<Vec<Selection>> {
    let jobs = parts.jobs;
    let options = jobs.site.options;
    let mut admitted = Vec::new();
    let mut left = candidates.len();
    for selection in candidates {
        if jobs.budget.left_seconds() < jobs.launch_seconds() {
            jobs.progress.warn(&format!(
                "the budget ended before {left} runner(s)-up were verified, which the profile does not name; raise --budget"
            ));
            break;
        }
        left -= 1;
        let id = selection.id();
        if parts.quarantine.contains(&id) || !is_within(&options.limits, &selection, options.ranks) {
            continue;
        }
        match admit(jobs, parts.store, &selection)? {
            Admission::Admitted => {
                jobs.progress.note(&format!("named for jobs to try: {id}"));
                admitted.push(selection);
            }
            Admission::Refused(why) => {
                let fault = why.fault();
                jobs.progress
                    .warn(&format!("no job is to try `{id}`: it {fault}: {why}"));
                parts.quarantine.add(&id, fault, &why.to_string());
            }
        }
    }
    Ok(admitted)
}

/// True if a row keeps within the limits at any size.
fn is_within(limits: &Limits, selection: &Selection, ranks: usize) -> bool {
    let call = Call {
        ranks,
        bytes: ANY_BYTES,
        nodes: None,
    };
    limits.refusal(selection, call).is_none()
}

#[cfg(test)]
mod tests {
    use kilter_model::change::Change;
    use kilter_model::deployment::Assignment;
    use kilter_protocol::fault::FaultKind;

    use super::*;

    const BYTES: u64 = 4096;

    fn algorithm(id: &str) -> Selection {
        Selection::Algorithm(id.to_owned(), Vec::new())
    }

    fn contestant(selection: Selection, microseconds: f64) -> Contestant {
        Contestant {
            id: selection.id(),
            kind: Some(selection.kind()),
            seconds: 1e-6 * microseconds,
            // The default takes 100 us.
            ratio_to_default: microseconds / 100.0,
            ratio_to_bound: 1.0,
            among_best: false,
            chosen: false,
            change: Change::of_cell((Collective::Bcast, BYTES), selection),
            not_deployed: None,
            predicted: None,
        }
    }

    fn as_good(selection: Selection, microseconds: f64) -> Contestant {
        Contestant {
            among_best: true,
            ..contestant(selection, microseconds)
        }
    }

    fn contest(candidates: Vec<Contestant>) -> Contest {
        Contest {
            function: "bcast".to_owned(),
            bytes: BYTES,
            candidates,
            proof: None,
            models: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
            screened: Vec::new(),
        }
    }

    fn named(candidates: Vec<Contestant>, chosen: Option<Selection>) -> Vec<String> {
        let cell = (Collective::Bcast, BYTES);
        let deployed = Deployment {
            selections: chosen.into_iter().map(|selection| (cell, selection)).collect(),
            ..Deployment::default()
        };
        let all = of(&[contest(candidates)], &deployed).into_iter();
        all.filter_map(|selection| selection.named()).collect()
    }

    fn three() -> Vec<Contestant> {
        vec![
            as_good(algorithm("bcast.a"), 50.0),
            as_good(algorithm("bcast.b"), 51.0),
            contestant(algorithm("bcast.c"), 80.0),
            contestant(algorithm("bcast.d"), 120.0),
        ]
    }

    #[test]
    fn beside_a_choice_they_are_as_good_as_the_best() {
        assert_eq!(named(three(), Some(algorithm("bcast.a"))), ["bcast.b"]);
        let own = Selection::Settings(vec![("bcast_algorithm".to_owned(), "2".to_owned())]);
        assert_eq!(named(three(), Some(own)), ["bcast.a", "bcast.b"]);
    }

    #[test]
    fn where_nothing_is_chosen_they_were_faster_than_the_default() {
        assert_eq!(named(three(), None), ["bcast.a", "bcast.b", "bcast.c"]);
    }

    #[test]
    fn the_librarys_own_and_what_failed_are_none() {
        let own = Selection::Settings(vec![("bcast_algorithm".to_owned(), "2".to_owned())]);
        let because = |why: NotDeployed| Contestant {
            not_deployed: Some(why),
            ..as_good(algorithm("bcast.e"), 50.0)
        };
        let beside_a_setting = || {
            let mut one = as_good(algorithm("bcast.f"), 50.0);
            one.change.settings = vec![Assignment {
                name: "eager".to_owned(),
                value: "1".to_owned(),
                environment: false,
            }];
            one
        };
        let slower = NotDeployed::FasterChosen {
            chosen: "bcast.a".to_owned(),
        };
        assert_eq!(named(vec![because(slower)], None), ["bcast.e"]);
        for out in [
            as_good(own, 50.0),
            beside_a_setting(),
            because(NotDeployed::Banned),
            because(NotDeployed::CannotBeDeployed),
            because(NotDeployed::Failed { what: FaultKind::Hung }),
            because(NotDeployed::TakenBack {
                because: "slow".to_owned(),
            }),
        ] {
            assert_eq!(named(vec![out.clone()], None), [""; 0], "{}", out.id);
        }
    }

    #[test]
    fn the_nearest_come_first_and_no_more_than_a_job_can_tell_apart() {
        let rows = (0..20).map(|number| {
            let selection = Selection::Algorithm("bcast.pipelined_chain".to_owned(), vec![number]);
            contestant(selection, 90.0 - number as f64)
        });
        let all = named(rows.collect(), None);
        assert_eq!(all.len(), MOST);
        assert_eq!(all[..2], ["bcast.pipelined_chain@19", "bcast.pipelined_chain@18"]);
    }

    #[test]
    fn limits_hold_at_the_sizes_that_were_not_measured() {
        let limits = Limits {
            scratch_bytes: Some(1 << 20),
            ..Limits::default()
        };
        let doubling = algorithm("allreduce.recursive_doubling");
        assert!(!is_within(&limits, &doubling, 8), "it keeps a volume");
        assert!(is_within(&limits, &algorithm("allreduce.ring"), 8), "it runs in place");
        assert!(is_within(&Limits::default(), &doubling, 8));
    }
}
