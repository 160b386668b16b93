//! Detection to proof: the messages of each finding are repeated on real ranks, beside the collectives that would replace them.
//!
//! All sides of a finding are interleaved in one block of the same launches, on a communicator of the ranks that the finding is about. The first
//! launch tries all of Kilter's algorithms; the others compare the messages with the library's collective and with the fastest of these.

use std::collections::BTreeMap;

use kilter_algorithms::{Collective, registry};
use kilter_bench::launch::SessionError;
use kilter_bench::launch::session::BlockOutcome;
use kilter_detect::Trace;
use kilter_detect::model::finding::{Detection, Finding};
use kilter_detect::model::proof::{Measured, Proof, Side};
use kilter_detect::typical::{NoSchedule, Typical, Volume, typical};
use kilter_model::plan::derived_seed;
use kilter_model::setup::Setup;
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::{Among, Block, Blocks, Implementation, Item, Repetitions};
use kilter_search::context::Jobs;
use kilter_stats::describe::interquartile_range;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{Pair, judge};

/// Most launches that compare.
const MOST_LAUNCHES: usize = 10;

/// Id of the messages in their block.
const BY_HAND: &str = "by hand";

/// Id of the library's collective in its block.
const LIBRARY: &str = "library";

/// A finding that is measured.
struct Subject {
    /// Index among the findings.
    finding: usize,
    collective: Collective,
    bytes: u64,
    /// Blocks of the collective, where they differ in length.
    blocks: Option<Blocks>,
    typical: Typical,
    /// Kilter's algorithms that still run.
    rows: Vec<&'static str>,
    failed: Vec<String>,
    /// Medians of the comparing launches, by item.
    medians: BTreeMap<String, Vec<f64>>,
}

/// Reason why a finding is not measured.
#[derive(Debug, thiserror::Error)]
enum NotMeasured {
    /// No occurrence of it is a schedule.
    #[error(transparent)]
    NoSchedule(#[from] NoSchedule),
    /// No collective of several ranks has this name.
    #[error("{0} is not repeated")]
    NotRepeated(String),
    /// The worker could not run a side that is needed.
    #[error("{item}: {fault}")]
    Failed { item: String, fault: Fault },
}

/// Measures findings, the most seconds first, and says in each what came of it. Findings are ranked by seconds to gain afterwards.
///
/// # Errors
/// A job that did not start, a store that failed, an interruption.
pub fn prove(jobs: &Jobs<'_>, trace: &Trace, detection: &mut Detection) -> anyhow::Result<()> {
    let mut subjects = Vec::new();
    for (number, finding) in detection.findings.iter_mut().enumerate() {
        match subject(trace, number, finding, !jobs.site.options.place().several_nodes) {
            Ok(subject) => subjects.push(subject),
            Err(why) => finding.proof = Some(Proof::NotMeasured(why.to_string())),
        }
    }
    let most = jobs.site.options.launches.min(MOST_LAUNCHES);
    let mut noise_seconds = 0.0;
    jobs.progress.phase("the messages beside collectives", most as u64 + 1);
    let mut ended_by_budget = false;
    for launch in 0..=most {
        let begun = jobs.budget.spent_seconds();
        measure(jobs, launch, &mut subjects, detection, &mut noise_seconds)?;
        let took = jobs.budget.spent_seconds() - begun;
        if subjects.is_empty() {
            break;
        }
        if launch < most && jobs.budget.spent_seconds() + took > jobs.budget.total_seconds() {
            ended_by_budget = true;
            break;
        }
    }
    conclude(jobs, subjects, detection, noise_seconds, ended_by_budget);
    detection.findings.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    Ok(())
}

/// Seconds to gain of a finding that was measured, below 0 for one that was not.
fn rank(finding: &Finding) -> f64 {
    match &finding.proof {
        Some(Proof::Measured(measured)) => measured.gain_seconds(finding.instances.len()),
        _ => -1.0,
    }
}

/// A finding with all that is measured for it.
///
/// # Errors
/// The reason why it is not measured.
fn subject(trace: &Trace, number: usize, finding: &Finding, one_node: bool) -> Result<Subject, NotMeasured> {
    let typical = typical(trace, finding)?;
    let ranks = typical.members.len();
    let (bytes, blocks) = match &typical.volume {
        Volume::Nothing => (0, None),
        Volume::Whole(bytes) => (*bytes, None),
        Volume::Blocks(block) => (block.saturating_mul(ranks as u64), None),
        Volume::Varied(blocks) => (blocks.bytes(), Some(blocks.clone())),
    };
    let function = format!("MPI_{}", finding.collective.function(blocks.is_some()));
    let collective = Collective::of_several_ranks().find(|one| one.mpi_name() == function);
    let collective = collective.ok_or(NotMeasured::NotRepeated(function))?;
    let rows = registry::by_collective(collective).filter(|row| row.unmet(ranks, true, one_node).is_none());
    Ok(Subject {
        finding: number,
        collective,
        bytes,
        blocks,
        rows: rows.map(|row| row.id).collect(),
        typical,
        failed: Vec::new(),
        medians: BTreeMap::new(),
    })
}

impl Subject {
    fn block(&self, jobs: &Jobs<'_>, launch: &str) -> Block {
        let id = format!("finding {}", self.finding + 1);
        let on = |implementation| {
            let takes_counts = !matches!(implementation, Implementation::Schedule(_));
            Implementation::Among(Box::new(Among {
                members: self.typical.members.clone(),
                root: self.typical.root,
                blocks: self.blocks.clone().filter(|_| takes_counts),
                operand: self.typical.operand,
                implementation,
            }))
        };
        let item = |id: &str, implementation| Item {
            id: id.to_owned(),
            task: self.collective.into(),
            bytes: self.bytes,
            implementation: on(implementation),
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        };
        let name = self.collective.name();
        let text = if self.collective.has_data() {
            format!("{name}(n)")
        } else {
            name.to_owned()
        };
        let mut items = vec![
            item(BY_HAND, Implementation::Schedule(self.typical.schedule.clone())),
            item(LIBRARY, Implementation::Expression { text }),
        ];
        items.extend(self.rows.iter().filter_map(|id| {
            let parameters = registry::find(id)?.default_parameters();
            let id = (*id).to_owned();
            Some(item(&id.clone(), Implementation::Algorithm { id, parameters }))
        }));
        let rule = jobs.site.options.repetitions;
        Block {
            seed: derived_seed(jobs.run.seed, &format!("{launch}/{id}")),
            repetitions: Repetitions {
                seconds: rule.seconds * items.len() as f64,
                ..rule
            },
            items,
            id,
        }
    }

    /// Takes over a launch's times: the first one says which of Kilter's algorithms is the fastest.
    ///
    /// # Errors
    /// The reason why a side that is needed could not run.
    fn take(&mut self, launch: usize, outcome: &BlockOutcome) -> Result<(), NotMeasured> {
        for (item, fault) in &outcome.failed {
            if item == BY_HAND || item == LIBRARY {
                let (item, fault) = (item.clone(), fault.clone());
                return Err(NotMeasured::Failed { item, fault });
            }
            self.failed.push(format!("{item}: {fault}"));
            self.rows.retain(|row| row != item);
        }
        if launch == 0 {
            let time = |row: &&'static str| outcome.median(row).unwrap_or(f64::INFINITY);
            let fastest = self.rows.iter().copied().min_by(|a, b| time(a).total_cmp(&time(b)));
            self.rows = fastest.into_iter().collect();
            return Ok(());
        }
        let mut ids = vec![BY_HAND, LIBRARY];
        ids.extend(self.rows.iter().copied());
        let medians: Option<Vec<f64>> = ids.iter().map(|id| outcome.median(id)).collect();
        // Pairs need all sides: a launch whose repetitions are void counts for none.
        for (id, median) in ids.iter().zip(medians.into_iter().flatten()) {
            self.medians.entry((*id).to_owned()).or_default().push(median);
        }
        Ok(())
    }
}

/// Makes a launch; what takes its job down is left out, and the rest is measured again. The first one also finds the spread of the empty operation.
fn measure(
    jobs: &Jobs<'_>,
    launch: usize,
    subjects: &mut Vec<Subject>,
    detection: &mut Detection,
    noise_seconds: &mut f64,
) -> anyhow::Result<()> {
    let setup = Setup::default();
    for attempt in 0.. {
        if subjects.is_empty() {
            return Ok(());
        }
        let key = format!("proof/{launch}/{attempt}");
        let blocks: Vec<Block> = subjects.iter().map(|subject| subject.block(jobs, &key)).collect();
        let mut session = jobs.session(&key, &setup, launch == 0)?;
        let failure = match session.measure_all(&blocks, &mut |_| ()) {
            Ok(outcomes) => {
                if launch == 0 {
                    jobs.site.confirm(&setup, &session.start()?)?;
                    let sample = session.noise().and_then(|seconds| Sample::new(seconds).ok());
                    *noise_seconds = sample.map_or(0.0, |sample| interquartile_range(&sample));
                }
                let mut outcomes = outcomes.into_iter();
                subjects.retain_mut(|subject| {
                    let outcome = outcomes.next().unwrap_or_default();
                    let taken = subject.take(launch, &outcome);
                    if let Err(why) = &taken {
                        detection.findings[subject.finding].proof = Some(Proof::NotMeasured(why.to_string()));
                    }
                    taken.is_ok()
                });
                match session.close() {
                    Ok(()) => {}
                    // Every item was answered before.
                    Err(SessionError::Job(failure)) => jobs.progress.warn(&failure.to_string()),
                    Err(error) => return Err(error.into()),
                }
                jobs.progress.step(1);
                return Ok(());
            }
            Err(SessionError::Job(failure)) => failure,
            Err(other) => return Err(other.into()),
        };
        let guilty = failure.place().block.clone();
        let Some(at) = blocks.iter().position(|block| Some(&block.id) == guilty.as_ref()) else {
            return Err(failure.into());
        };
        let item = failure.suspect().unwrap_or(BY_HAND).to_owned();
        jobs.progress.warn(&format!(
            "`{item}` of {} {} and is left out",
            blocks[at].id,
            failure.kind()
        ));
        let subject = &mut subjects[at];
        if subject.rows.iter().any(|row| *row == item) {
            subject.rows.retain(|row| *row != item);
            subject.failed.push(format!("{item}: {}", failure.in_short()));
        } else {
            let why = format!("{item}: {}", failure.in_short());
            detection.findings[subject.finding].proof = Some(Proof::NotMeasured(why));
            subjects.remove(at);
        }
    }
    Ok(())
}

/// Judges all pairs of the run together.
fn conclude(
    jobs: &Jobs<'_>,
    subjects: Vec<Subject>,
    detection: &mut Detection,
    noise_seconds: f64,
    ended_by_budget: bool,
) {
    let mut pairs = Vec::new();
    let mut sides = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        let sample = |id: &str| Sample::new(subject.medians.get(id)?.clone()).ok();
        let ids = [LIBRARY].into_iter().chain(subject.rows.iter().copied());
        for id in ids {
            if let (Some(left), Some(right)) = (sample(BY_HAND), sample(id))
                && left.len() == right.len()
            {
                pairs.push(Pair { left, right });
                sides.push((at, id));
            }
        }
    }
    let rule = jobs.site.rule(noise_seconds);
    let judged = judge(&pairs, &rule);
    let mut replacements: BTreeMap<usize, Vec<Side>> = BTreeMap::new();
    for ((at, id), comparison) in sides.into_iter().zip(judged) {
        let function = subjects[at].collective.mpi_name();
        replacements.entry(at).or_default().push(Side {
            name: if id == LIBRARY {
                function.to_owned()
            } else {
                id.to_owned()
            },
            seconds: comparison.right_seconds,
            smallest_seconds: rule.floor_seconds(comparison.right_seconds),
            comparison,
        });
    }
    for (at, subject) in subjects.into_iter().enumerate() {
        let proof = match replacements.remove(&at) {
            Some(replacements) => Proof::Measured(Box::new(Measured {
                instance: subject.typical.instance,
                bytes: subject.bytes,
                launches: subject.medians.get(BY_HAND).map_or(0, Vec::len),
                ended_by_budget,
                schedule_seconds: replacements[0].comparison.seconds,
                is_shown: subject.typical.is_shown,
                combined: subject.typical.operand.map(|operand| operand.to_string()),
                replacements,
                failed: subject.failed,
            })),
            None if ended_by_budget => {
                Proof::NotMeasured("the budget ended before a launch that compares; raise --budget".to_owned())
            }
            None => {
                Proof::NotMeasured("no launch has valid times of all sides; end what else runs on the hosts".to_owned())
            }
        };
        detection.findings[subject.finding].proof = Some(proof);
    }
}
