//! The library's algorithms on data of other datatypes than the contests have.
//!
//! A rule for an algorithm acts on every call of its size, and MPI lets ranks describe the same data by different datatypes (MPI 4.1, 3.3.1: type
//! signatures have to match). An algorithm that divides data by each rank's own datatype fails there: a broadcast in segments of Open MPI 4.1 whose root
//! has one struct and whose other ranks have its elements ends with `MPI_ERR_TRUNCATE`. So an algorithm carries out such a call before it is chosen. Kilter's
//! own rows have the correctness matrix for that.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_bench::launch::Broken;
use kilter_bench::launch::session::{BlockOutcome, JobFailure, Session, SessionError};
use kilter_model::change::Cell;
use kilter_model::deployment::Selection;
use kilter_model::plan::{self, DEFAULT, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::expression::{Layout, Side};
use kilter_protocol::fault::FaultKind;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::task::Task;

use super::items::item;
use crate::context::Jobs;
use crate::target::Target;

/// Repetitions: messages that one call leaves behind meet the next.
const REPETITIONS: u32 = 3;

/// Longest time of the block, in seconds; nothing in it is used as a time.
const BLOCK_SECONDS: f64 = 1.0;

/// A failure on such data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Objection {
    /// The kind.
    pub(crate) what: FaultKind,
    /// The observed failure.
    pub(crate) detail: String,
}

/// The call of a collective whose ranks have different datatypes, or strided data; `None` for a collective that Kilter knows none of.
fn typed(collective: Collective, bytes: u64) -> Option<Subject> {
    let layout = match collective {
        Collective::Bcast | Collective::Scatter => Layout::Struct,
        Collective::Gather | Collective::Allgather => Layout::Vector,
        _ => return None,
    };
    let text = format!("{collective}(n, sendtype={layout})");
    let side: Side = text.parse().ok()?;
    let task = Task::of(&side).ok()?;
    Some(Subject { task, text, bytes })
}

/// Carries out each target's call on such data by one of the library's algorithms, all in one job under `setup`. Nothing speaks against other
/// selections, or where the library itself fails there. What ends the job has its objection, and the others are carried out in a new job.
///
/// # Errors
/// A failure that no selection explains.
pub(crate) fn objections(
    jobs: &Jobs<'_>,
    label: &str,
    setup: &Setup,
    pairs: &[(Target, Selection)],
) -> anyhow::Result<Vec<Option<Objection>>> {
    let label = format!("{label}/datatypes");
    let seed = |id: &str| plan::derived_seed(jobs.run.seed, &format!("{label}/{id}"));
    let trials: Vec<Option<Trial>> = pairs
        .iter()
        .map(|(target, selection)| Trial::of(target, selection, jobs.site.options.ranks, seed))
        .collect();
    let mut open: Vec<Trial> = Vec::new();
    for trial in trials.iter().flatten() {
        if !open.contains(trial) {
            open.push(trial.clone());
        }
    }
    let mut shared = None;
    let mut ask = |blocks: &[Block], company: Company| match company {
        Company::Others => {
            let session = match &mut shared {
                Some(session) => session,
                none => none.insert(jobs.session(&label, setup, false)?),
            };
            Ok(session.measure_together(blocks, &mut |_| ()))
        }
        Company::Nobody => {
            shared.take().map_or(Ok(()), Session::close)?;
            let key = blocks.first().map_or("", |block| &block.id);
            let mut session = jobs.session(&format!("{label}/{key}"), setup, false)?;
            let outcomes = session.measure_together(blocks, &mut |_| ());
            session.close()?;
            Ok(outcomes)
        }
    };
    let found = found(open, &mut ask)?;
    shared.map_or(Ok(()), Session::close)?;
    let objection = |trial: &Option<Trial>| found.get(&trial.as_ref()?.block.id).cloned();
    Ok(trials.iter().map(objection).collect())
}

/// A block that carries out a call by the default and by a selection.
#[derive(Debug, Clone, PartialEq)]
struct Trial {
    block: Block,
    /// Id of the selection.
    own: String,
}

impl Trial {
    /// `None` for what is not of the library, and for a collective that Kilter knows no such call of.
    fn of(target: &Target, selection: &Selection, ranks: usize, seed: impl Fn(&str) -> u64) -> Option<Trial> {
        let divisible = Layout::UNIT_BYTES * ranks as u64;
        let typed = |(collective, bytes): Cell| typed(collective, bytes.next_multiple_of(divisible));
        let of_library = matches!(selection, Selection::Settings(_));
        let left = target.cell().filter(|_| of_library).and_then(typed)?;
        let own = selection.id();
        let id = format!("{}: {own}", target.name());
        let typed = Target { left, ..target.clone() };
        let block = Block {
            seed: seed(&id),
            repetitions: Repetitions::fixed(REPETITIONS, BLOCK_SECONDS),
            items: vec![item(&typed, None), item(&typed, Some(selection))],
            id,
        };
        Some(Trial { block, own })
    }

    /// The objection of a job that answered.
    fn objection(&self, outcome: &BlockOutcome) -> Option<Objection> {
        let fault = outcome.failed.get(&self.own);
        let fault = fault.filter(|_| !outcome.failed.contains_key(DEFAULT));
        fault.map(|fault| Objection {
            what: fault.kind(),
            detail: fault.detail().to_string(),
        })
    }

    /// The objection of a job that ended in the block, if the selection ended it.
    fn ended_by(&self, failure: &JobFailure) -> Option<Objection> {
        let is_own = failure.suspect() == Some(self.own.as_str());
        is_own.then(|| Objection {
            what: failure.kind(),
            detail: failure.to_string(),
        })
    }
}

/// The other calls of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    Others,
    Nobody,
}

/// Asks for blocks. The outer error ends the search.
type Ask<'a> = dyn FnMut(&[Block], Company) -> anyhow::Result<Result<Vec<BlockOutcome>, SessionError>> + 'a;

/// The objections to the trials, by their blocks. A block is carried out alone where something else in the job may be to blame, which may have left
/// messages behind or overwritten memory: one that ends the job by no selection, and one that fails after another one has failed.
fn found(mut open: Vec<Trial>, ask: &mut Ask<'_>) -> anyhow::Result<BTreeMap<String, Objection>> {
    let mut found = BTreeMap::new();
    let mut alone: Vec<Trial> = Vec::new();
    while !open.is_empty() {
        let blocks: Vec<Block> = open.iter().map(|trial| trial.block.clone()).collect();
        let failure = match ask(&blocks, Company::Others)? {
            Ok(outcomes) => {
                let mut is_clean = true;
                for (trial, outcome) in open.into_iter().zip(outcomes) {
                    let has_failed = !outcome.failed.is_empty();
                    if has_failed && !is_clean {
                        alone.push(trial);
                    } else if let Some(objection) = trial.objection(&outcome) {
                        found.insert(trial.block.id, objection);
                    }
                    is_clean &= !has_failed;
                }
                break;
            }
            Err(SessionError::Job(failure)) => failure,
            Err(other) => return Err(other.into()),
        };
        let block = Broken::block_of(&blocks, &failure);
        let place = block.and_then(|block| open.iter().position(|trial| trial.block.id == block.id));
        // A job that does not start says nothing of any of them, and nor will the next.
        let Some(place) = place.filter(|_| !matches!(failure, JobFailure::DidNotStart { .. })) else {
            break;
        };
        let was_alone = open.len() == 1;
        let trial = open.remove(place);
        match trial.ended_by(&failure) {
            Some(objection) => {
                found.insert(trial.block.id.clone(), objection);
            }
            None if was_alone => {}
            None => alone.push(trial),
        }
    }
    for trial in alone {
        let objection = match ask(std::slice::from_ref(&trial.block), Company::Nobody)? {
            Ok(outcomes) => outcomes.first().and_then(|outcome| trial.objection(outcome)),
            Err(SessionError::Job(failure)) => trial.ended_by(&failure),
            Err(other) => return Err(other.into()),
        };
        found.extend(objection.map(|objection| (trial.block.id, objection)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use kilter_bench::launch::session::Place;
    use kilter_model::config::guideline::load_embedded;
    use kilter_protocol::fault::Fault;

    use super::*;

    fn trial(bytes: u64, algorithm: &str) -> Trial {
        let target = Target::unbounded(Collective::Bcast, bytes);
        let selection = Selection::Settings(vec![("bcast_algorithm".to_owned(), algorithm.to_owned())]);
        Trial::of(&target, &selection, 4, |_| 1).unwrap()
    }

    /// The objections to trials by their algorithms, and the jobs with theirs, where these items end the job: by size and id. Blocks that were done
    /// in an earlier job are not carried out again.
    fn objected(trials: &[Trial], ends: &[(u64, &str)]) -> (Vec<String>, Vec<Vec<String>>) {
        let done: RefCell<Vec<String>> = RefCell::default();
        let mut jobs = Vec::new();
        let mut ask = |blocks: &[Block], company: Company| {
            jobs.push(Vec::new());
            for block in blocks {
                if company == Company::Others && done.borrow().contains(&block.id) {
                    continue;
                }
                let own = block.items[1].id.clone();
                jobs.last_mut().unwrap().push(own);
                let broken = block.items.iter().find(|item| ends.contains(&(item.bytes, &item.id)));
                if let Some(broken) = broken {
                    let place = Place {
                        block: Some(block.id.clone()),
                        item: Some(broken.id.clone()),
                        ..Place::default()
                    };
                    let (seconds, place) = (5.0, Box::new(place));
                    return Ok(Err(JobFailure::Hung { seconds, place }.into()));
                }
                done.borrow_mut().push(block.id.clone());
            }
            Ok(Ok(blocks.iter().map(|_| BlockOutcome::default()).collect()))
        };
        let found = found(trials.to_vec(), &mut ask).unwrap();
        (found.into_keys().collect(), jobs)
    }

    #[test]
    fn what_ends_the_job_has_its_objection_and_the_others_go_on_in_a_new_one() {
        let trials = [trial(4096, "1"), trial(4096, "2"), trial(8192, "1"), trial(8192, "3")];
        let algorithms = |list: &[&str]| -> Vec<String> {
            list.iter()
                .map(|algorithm| format!("bcast_algorithm={algorithm}"))
                .collect()
        };
        let (found, jobs) = objected(&trials, &[]);
        assert_eq!((found, jobs), (vec![], vec![algorithms(&["1", "2", "1", "3"])]));
        let bytes = |trial: &Trial| trial.block.items[0].bytes;
        let (small, large) = (bytes(&trials[0]), bytes(&trials[2]));
        let ends = [(small, "bcast_algorithm=2"), (large, "bcast_algorithm=3")];
        let (found, jobs) = objected(&trials, &ends);
        assert_eq!(
            found,
            ["bcast 4096: bcast_algorithm=2", "bcast 8192: bcast_algorithm=3"]
        );
        assert_eq!(
            jobs,
            [algorithms(&["1", "2"]), algorithms(&["1", "3"]), algorithms(&[])]
        );
        // The library's own says nothing against an algorithm, and may have met what another one left: it is carried out alone.
        let (found, jobs) = objected(&trials, &[(large, "default")]);
        assert_eq!(found, [""; 0]);
        let alone = [algorithms(&["1"]), algorithms(&["3"])];
        assert_eq!(jobs[..2], [algorithms(&["1", "2", "1"]), algorithms(&["3"])]);
        assert_eq!(jobs[jobs.len() - 2..], alone);
    }

    #[test]
    fn a_job_that_does_not_start_is_not_started_for_each() {
        let mut asked = 0;
        let mut ask = |blocks: &[Block], _| {
            asked += 1;
            let place = Place {
                block: Some(blocks[0].id.clone()),
                ..Place::default()
            };
            let failure = JobFailure::DidNotStart {
                reason: "none".to_owned(),
                ended: true,
                place: Box::new(place),
            };
            Ok(Err(failure.into()))
        };
        let found = found(vec![trial(4096, "1"), trial(4096, "2")], &mut ask).unwrap();
        assert_eq!((found.len(), asked), (0, 1));
    }

    fn fault() -> Fault {
        Fault::Refused {
            rank: 0,
            why: "none".to_owned(),
        }
    }

    #[test]
    fn what_fails_after_another_one_in_its_job_is_carried_out_alone() {
        let trials = ["1", "2", "3", "4"].map(|algorithm| trial(4096, algorithm));
        let mut alone = Vec::new();
        let mut ask = |blocks: &[Block], company: Company| {
            let outcome = |block: &Block| {
                let own = block.items[1].id.clone();
                let fails = match company {
                    Company::Others => own != "bcast_algorithm=1",
                    Company::Nobody => own == "bcast_algorithm=4",
                };
                let failed = fails.then(|| (own, fault())).into_iter().collect();
                BlockOutcome {
                    failed,
                    ..BlockOutcome::default()
                }
            };
            if company == Company::Nobody {
                alone.extend(blocks.iter().map(|block| block.items[1].id.clone()));
            }
            Ok(Ok(blocks.iter().map(outcome).collect()))
        };
        let found = found(trials.to_vec(), &mut ask).unwrap();
        assert_eq!(alone, ["bcast_algorithm=3", "bcast_algorithm=4"]);
        let ids: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(ids, ["bcast 4096: bcast_algorithm=2", "bcast 4096: bcast_algorithm=4"]);
    }

    #[test]
    fn a_fault_that_the_default_has_as_well_is_no_objection() {
        let trial = trial(4096, "1");
        let fault = fault();
        let mut outcome = BlockOutcome::default();
        outcome.failed.insert(trial.own.clone(), fault.clone());
        assert!(trial.objection(&outcome).is_some());
        outcome.failed.insert(DEFAULT.to_owned(), fault);
        assert_eq!(trial.objection(&outcome), None);
    }

    #[test]
    fn calls_of_other_datatypes_are_those_of_the_guidelines() {
        let text = |collective| typed(collective, 8).map(|subject| subject.text);
        let mut found = 0;
        for guideline in load_embedded().unwrap() {
            let left = guideline
                .expression
                .map(|both| both.left.to_string())
                .unwrap_or_default();
            let Some(argument) = left.strip_prefix("A(n, sendtype=") else {
                continue;
            };
            for collective in guideline.functions {
                assert_eq!(text(collective), Some(format!("{collective}(n, sendtype={argument}")));
                found += 1;
            }
        }
        assert_eq!(found, 4);
        assert_eq!(text(Collective::Reduce), None);
    }
}
