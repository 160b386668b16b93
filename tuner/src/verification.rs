//! One verification: R launches of everything, medians per launch, verdicts over all cells together.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::report::Synchronised;

use crate::config::guideline::Kind;
use crate::context::{Context, Setup};
use crate::launch::session::BlockOutcome;
use crate::plan::{self, PlannedCell, Subject};
use crate::report::model::{Comparison, Outcome};
use crate::stats::describe;
use crate::stats::sample::Sample;
use crate::verdict::{self, Pair};

/// Medians of one subject, one per launch, in seconds.
pub type Medians = BTreeMap<Subject, Vec<f64>>;

/// A judged cell.
#[derive(Debug, Clone)]
pub struct JudgedCell {
    /// Which.
    pub cell: PlannedCell,
    /// With what evidence.
    pub comparison: Comparison,
}

/// What a verification found.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Every cell that could be judged.
    pub cells: Vec<JudgedCell>,
    /// Everything that was timed.
    pub medians: Medians,
    /// Subjects that failed, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Spread of the empty operation in seconds (interquartile range, median over launches).
    pub noise_seconds: f64,
    /// Smallest step of the clock in seconds.
    pub clock_tick_seconds: f64,
    /// Cost of one reading of the clock in seconds.
    pub clock_read_seconds: f64,
    /// What rank 0 measures for an empty repetition by itself, in seconds.
    pub loop_overhead_seconds: f64,
    /// How repetitions were started, and how well where it was worst.
    pub sync: Option<Synchronised>,
    /// How often the drop-in ran each implementation, over all launches.
    pub dropin_calls: BTreeMap<String, u64>,
    /// The last launch as a command line.
    pub command_line: String,
    /// The library's version string and the hosts.
    pub library_string: String,
    /// Hosts, each once.
    pub hosts: Vec<String>,
}

impl Verification {
    /// The violated cells.
    pub fn violated(&self) -> impl Iterator<Item = &JudgedCell> {
        self.cells
            .iter()
            .filter(|judged| judged.comparison.verdict == Outcome::Violated)
    }

    /// Keeps the worst of what the launches found out about their common time.
    fn heed(&mut self, found: Option<Synchronised>) {
        let Some(found) = found else { return };
        let worst = self.sync.get_or_insert(found);
        if found.residual_seconds + found.bound_seconds > worst.residual_seconds + worst.bound_seconds {
            *worst = found;
        }
    }
}

/// Repetitions in a verification, per item: enough for a stable median in a launch, little enough that the budget goes into
/// launches, between which times differ most.
pub const REPETITIONS: Repetitions = Repetitions::until(8, 60, 0.02, 0.25);

/// Runs and judges. `label` names it in launch keys; `setup` is what is in force. With `untouched`, every launch is followed by
/// one of the library as it is, left sides only, so that both see the same minutes of the machine; its medians come back too;
/// and the budget does not cut it short, because what is deployed is proven or not deployed.
///
/// # Errors
/// A launch that failed although nothing but the untouched or verified library ran in it.
pub fn verify(
    context: &Context<'_>,
    label: &str,
    setup: &Setup,
    untouched: bool,
) -> anyhow::Result<(Verification, Medians)> {
    let mut verification = Verification::default();
    let mut reference = Medians::new();
    let mut noise = Vec::new();
    let launches = context.options.launches;
    let subjects = context.plan.subjects();
    let left = context.plan.library_subjects();
    let steps = if untouched {
        subjects.len() + left.len()
    } else {
        subjects.len()
    };
    context
        .progress
        .phase(&format!("verify {label}"), (launches * steps) as u64);
    for launch in 0..launches {
        let name = format!("{label}/{launch}");
        let blocks = plan::blocks(&subjects, context.run.seed, &name, REPETITIONS);
        let outcomes = one_launch(context, &name, setup, &blocks, &mut verification, Some(&mut noise))?;
        collect(&blocks, &outcomes, &mut verification.medians, &mut verification.failed);
        if untouched {
            let name = format!("{label}/{launch}/untouched");
            let blocks = plan::blocks(&left, context.run.seed, &name, REPETITIONS);
            let mut unused = Verification::default();
            let outcomes = one_launch(context, &name, &Setup::default(), &blocks, &mut unused, None)?;
            collect(&blocks, &outcomes, &mut reference, &mut verification.failed);
        }
        if !untouched && launch + 1 >= MIN_LAUNCHES && context.exhausted() {
            context.progress.warn(&format!(
                "the budget of {} s was spent after {} of {launches} launches; raise --budget for surer verdicts",
                context.options.budget_seconds,
                launch + 1
            ));
            break;
        }
    }
    verification.noise_seconds = Sample::new(noise).map_or(0.0, |noise| noise.median());
    let splits = measure_splits(context, label, setup, untouched, &mut verification)?;
    judge(context, splits, &mut verification)?;
    Ok((verification, reference))
}

/// Fewer launches than this decide nothing.
const MIN_LAUNCHES: usize = 3;

fn one_launch(
    context: &Context<'_>,
    name: &str,
    setup: &Setup,
    blocks: &[Block],
    verification: &mut Verification,
    noise: Option<&mut Vec<f64>>,
) -> anyhow::Result<Vec<BlockOutcome>> {
    let mut session = context.session(name, setup, noise.is_some())?;
    let outcomes = session
        .measure_all(blocks, &mut |_| context.progress.step(1))
        .with_context(|| format!("launch `{name}` failed; its log is in {}", context.directory.display()))?;
    let start = session.start()?;
    context.confirm(setup, &start)?;
    verification.clock_tick_seconds = verification.clock_tick_seconds.max(start.clock_tick_seconds);
    verification.clock_read_seconds = verification.clock_read_seconds.max(start.clock_read_seconds);
    verification.loop_overhead_seconds = verification.loop_overhead_seconds.max(start.loop_overhead_seconds);
    verification.heed(start.sync);
    verification.library_string = start.library;
    verification.hosts = start.hosts.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    verification.command_line = context.command_line(setup);
    if let (Some(noise), Some(seconds)) = (noise, session.noise()) {
        noise.extend(Sample::new(seconds).map(|sample| describe::interquartile_range(&sample)));
    }
    let end = session.finish()?;
    verification.heed(end.sync);
    for (id, calls) in end.dropin_calls {
        *verification.dropin_calls.entry(id).or_default() += calls;
    }
    context.spend(outcomes.iter().map(|outcome| outcome.seconds).sum());
    Ok(outcomes)
}

/// Adds each item's median of this launch.
fn collect(blocks: &[Block], outcomes: &[BlockOutcome], medians: &mut Medians, failed: &mut BTreeMap<String, String>) {
    for (block, outcome) in blocks.iter().zip(outcomes) {
        for item in &block.items {
            if let Some(reason) = outcome.failed.get(&item.id) {
                failed.insert(item.id.clone(), reason.clone());
            } else if let (Some(subject), Some(median)) = (Subject::of(item), outcome.median(&item.id)) {
                medians.entry(subject).or_default().push(median);
            }
        }
    }
}

/// Split-robustness: cells that the medians predict to be violated are measured as real splits in further launches (PGMPI only
/// predicts them); for each collective and volume the largest part is reported.
fn measure_splits(
    context: &Context<'_>,
    label: &str,
    setup: &Setup,
    whole: bool,
    verification: &mut Verification,
) -> anyhow::Result<Vec<(PlannedCell, Pair)>> {
    let mut cells = Vec::new();
    let mut predicted = Vec::new();
    for (guideline, collective) in &context.plan.split_functions {
        let mut measured = Vec::new();
        for bytes in context.plan.volumes.get(collective).into_iter().flatten() {
            if let Some(medians) = verification.medians.get(&Subject::library(*collective, *bytes)) {
                measured.push((*bytes, Sample::new(medians.clone())?));
            }
        }
        for (position, (n, whole)) in measured.iter().enumerate() {
            // The largest part whose k-fold time is below the whole's; else the part that comes nearest to it.
            let ratio = |(m, part): &(u64, Sample)| whole.median() / (n.div_ceil(*m) as f64 * part.median());
            let parts = &measured[..position];
            let violated = parts
                .iter()
                .rev()
                .find(|part| ratio(part) > 1.0 + context.options.effect_floor);
            let nearest = || parts.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
            let Some(part @ (m, sample)) = violated.or_else(nearest) else {
                continue;
            };
            let cell = plan::split_cell(guideline, *collective, *n, *m);
            if ratio(part) > 1.0 + context.options.effect_floor {
                predicted.push(cell);
            } else {
                let k = n.div_ceil(*m) as f64;
                let scaled = sample.values().iter().map(|seconds| seconds * k).collect();
                cells.push((
                    cell,
                    Pair {
                        left: whole.clone(),
                        right: Sample::new(scaled)?,
                    },
                ));
            }
        }
    }
    if predicted.is_empty() {
        return Ok(cells);
    }
    let mut medians: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    context.progress.phase(
        &format!("verify {label}: splits"),
        (context.options.launches * predicted.len()) as u64,
    );
    for launch in 0..context.options.launches {
        let name = format!("{label}/splits/{launch}");
        let blocks: Vec<Block> = predicted
            .iter()
            .enumerate()
            .map(|(index, cell)| Block {
                id: format!("split {index}: {}", cell.expression),
                seed: plan::derived_seed(context.run.seed, &format!("{name}/{index}")),
                items: vec![cell.left.item(), cell.right.item()],
                repetitions: Repetitions {
                    seconds: 2.0 * REPETITIONS.seconds,
                    ..REPETITIONS
                },
            })
            .collect();
        let outcomes = one_launch(context, &name, setup, &blocks, &mut Verification::default(), None)?;
        for (index, (cell, outcome)) in predicted.iter().zip(&outcomes).enumerate() {
            let median = |subject: &Subject| outcome.median(&subject.item_id());
            if let (Some(left), Some(right)) = (median(&cell.left), median(&cell.right)) {
                let entry = medians.entry(index).or_default();
                entry.0.push(left);
                entry.1.push(right);
            }
        }
        if !whole && launch + 1 >= MIN_LAUNCHES && context.exhausted() {
            break;
        }
    }
    for (index, (left, right)) in medians {
        cells.push((
            predicted[index].clone(),
            Pair {
                left: Sample::new(left)?,
                right: Sample::new(right)?,
            },
        ));
    }
    Ok(cells)
}

fn judge(
    context: &Context<'_>,
    splits: Vec<(PlannedCell, Pair)>,
    verification: &mut Verification,
) -> anyhow::Result<()> {
    let mut cells = Vec::new();
    let mut pairs = Vec::new();
    for cell in &context.plan.cells {
        let (left, right) = (
            verification.medians.get(&cell.left),
            verification.medians.get(&cell.right),
        );
        if let (Some(left), Some(right)) = (left, right) {
            cells.push(cell.clone());
            pairs.push(Pair {
                left: Sample::new(left.clone())?,
                right: Sample::new(right.clone())?,
            });
        }
    }
    for (cell, pair) in splits {
        debug_assert_eq!(cell.kind, Kind::Split);
        cells.push(cell);
        pairs.push(pair);
    }
    let needed = verdict::launches_needed(pairs.len(), context.options.alpha);
    if context.options.launches < needed {
        context.progress.warn(&format!(
            "{} launches cannot show a violation among {} cells, however clear it is; use --launches {needed} or more, or fewer cells",
            context.options.launches,
            pairs.len()
        ));
    }
    let comparisons = verdict::judge(&pairs, &context.rule(verification.noise_seconds));
    verification.cells = cells
        .into_iter()
        .zip(comparisons)
        .map(|(cell, comparison)| JudgedCell { cell, comparison })
        .collect();
    Ok(())
}
