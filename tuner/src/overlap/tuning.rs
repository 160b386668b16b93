//! Overlap targets in the loop of `kilter tune`: measured before, fixed as violations are, measured again with what is deployed.
//!
//! A candidate is a setting of a whole launch: how messages travel, threads of the library's, Kilter's progress thread. It has to
//! meet a target that was missed, judged by the times of the untouched library (see [`targets`]), in several launches in turn with
//! it, and must neither miss a target that was not missed nor slow a collective.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::overlap::{Benchmark, Model};

use super::grid::{Grid, Load, Point};
use super::measure::Surveyor;
use super::model::{Cell, Map, Survey};
use super::options::Suite;
use super::targets::looks::{self, FIRST_LAUNCHES as LAUNCHES, Launches};
use super::targets::{self, Judgement, Standing, Verdict};
use crate::config::target::Target;
use crate::context::{Context, Setup};
use crate::deployment::{Assignment, PROGRESS_VARIABLE};
use crate::launch::session::SessionError;
use crate::report::model::{Fix, FixKind, Setting, TargetCell, TargetReport};
use crate::search::necessity::id;
use crate::search::space;
use crate::search::trials::{Trials, damaged};

/// Repetitions of each part of a cell.
const REPETITIONS: u32 = 9;
/// Seconds that the repetitions of a part may take.
const PART_SECONDS: f64 = 0.4;
/// Share of the search's budget that deciding the untouched library's targets may take beyond the first launches.
const DECIDING_SHARE: f64 = 0.2;
/// Candidates that are confirmed at most.
const FINALISTS: usize = 2;
/// A candidate that takes this share of the shortfall away in one launch is worth more launches.
const PROMISING: f64 = 0.2;
/// How many times as long as communication the computation takes that a target is looked at with.
const COVERS: f64 = 3.0;
/// Shortest and longest of them, in nanoseconds.
const COMPUTATION_NS: [u64; 2] = [20_000, 400_000_000];
/// What `KILTER_PROGRESS` and what else is tried, by name and value.
const PROGRESS: [&[(&str, &str)]; 2] = [
    &[(PROGRESS_VARIABLE, "on")],
    &[(PROGRESS_VARIABLE, "on"), ("KILTER_PROGRESS_NAP_US", "50")],
];

/// What overlap shall reach, and how far it is.
#[derive(Debug)]
pub struct Goals {
    targets: Vec<Target>,
    suite: Suite,
    points: BTreeMap<Benchmark, Vec<Point>>,
    /// A free processing unit for each rank of rank 0's host, where there are enough.
    spare: Option<Vec<usize>>,
    /// Launches of the untouched library.
    base: Vec<Survey>,
    before: Vec<Judgement>,
    after: Option<Vec<Judgement>>,
    chosen: Vec<Assignment>,
    refused: Vec<String>,
    searched: bool,
}

impl Goals {
    /// Nothing measured.
    fn of(wanted: &[Target]) -> Goals {
        Goals {
            targets: wanted.to_vec(),
            suite: suite(wanted),
            points: BTreeMap::new(),
            spare: None,
            base: Vec::new(),
            before: Vec::new(),
            after: None,
            chosen: Vec::new(),
            refused: Vec::new(),
            searched: false,
        }
    }

    /// Measures the untouched library; nothing where there is no target.
    ///
    /// # Errors
    /// A job that fails.
    pub fn begin(context: &Context<'_>, wanted: &[Target]) -> anyhow::Result<Goals> {
        let mut goals = Goals::of(wanted);
        if wanted.is_empty() {
            return Ok(goals);
        }
        goals.find_points(context)?;
        let spent_before = context.budget.spent_seconds();
        let mut launches = Launches::default();
        let measure = |launches: &mut Launches, launch: usize| -> anyhow::Result<()> {
            let survey = goals.survey(context, &format!("targets/before/{launch}"), &Setup::default())?;
            launches.base.push(survey);
            Ok(())
        };
        for launch in 0..LAUNCHES {
            measure(&mut launches, launch)?;
        }
        let seconds = context.budget.spent_seconds() - spent_before;
        // The proof takes as many launches, and as many of the untouched library in turn with them.
        context.budget.reserve(2.0 * seconds);
        let before = looks::judge_in_looks(
            (&goals.targets, &context.rule(context.noise_seconds())),
            &mut launches,
            |further| {
                let seconds = seconds / LAUNCHES as f64 * further as f64;
                context
                    .budget
                    .with_share(DECIDING_SHARE, || !context.budget.search_exhausted(seconds))
            },
            // What is missed is searched for, which needs the budget.
            |judged| !judged.iter().any(is_open) && looks::is_nearly_met(judged),
            measure,
        )?;
        (goals.base, goals.before) = (launches.base, before);
        for judgement in &goals.before {
            context.progress.note(&format!(
                "{}: {}",
                judgement.target,
                judgement.not_attainable_because().map_or_else(
                    || judgement.standing().name().to_owned(),
                    |because| format!("not attainable here, because {because}")
                )
            ));
        }
        Ok(goals)
    }

    /// Whether there is something to fix that has not been searched for in vain.
    #[must_use]
    pub fn are_missed(&self) -> bool {
        !self.searched && self.now().iter().any(is_open)
    }

    fn now(&self) -> &[Judgement] {
        self.after.as_ref().unwrap_or(&self.before)
    }

    /// What a target is looked at with: the ends and the middle of its sizes, and computations that take some times as long as
    /// communication does here.
    fn find_points(&mut self, context: &Context<'_>) -> anyhow::Result<()> {
        let mut sizes: BTreeMap<Benchmark, BTreeSet<u64>> = BTreeMap::new();
        for target in &self.targets {
            let [low, high] = target.bytes;
            let middle = (low as f64 * high as f64).sqrt() as u64;
            sizes
                .entry(target.benchmark)
                .or_default()
                .extend([low, middle.next_power_of_two().min(high), high]);
        }
        let ranks = context.options.ranks;
        let mut probe = Surveyor::new(context, &self.suite, &Setup::default(), "targets/sizes")?.whatever_it_costs();
        self.spare = probe.units().spare();
        for (benchmark, sizes) in sizes {
            let sizes: Vec<u64> = sizes.into_iter().collect();
            let mut threads = vec![1, probe.units().count()];
            threads.dedup();
            let shortest = Grid::of(benchmark, (&sizes, &COMPUTATION_NS[..1], &threads), ranks);
            let all: Vec<Point> = shortest.positions().map(|position| shortest.point(position)).collect();
            if benchmark == Benchmark::ThreadLoad {
                self.points.insert(benchmark, all);
                continue;
            }
            let cells = probe.points(benchmark, &all)?;
            let points = all
                .iter()
                .zip(cells)
                .filter_map(|(point, cell)| Some((point, cell?)))
                .map(|(point, cell)| covering(*point, cell.communication_seconds));
            self.points.insert(benchmark, points.collect());
        }
        probe.finish(Vec::new())?;
        Ok(())
    }

    /// One launch under `setup`.
    fn survey(&self, context: &Context<'_>, key: &str, setup: &Setup) -> anyhow::Result<Survey> {
        let cells: usize = self.points.values().map(Vec::len).sum();
        context.progress.phase("measure overlap targets", cells as u64);
        let mut surveyor = Surveyor::new(context, &self.suite, setup, key)?.whatever_it_costs();
        let mut maps = Vec::new();
        for (benchmark, points) in &self.points {
            let mut cells: Vec<Cell> = surveyor.points(*benchmark, points)?.into_iter().flatten().collect();
            cells.sort_by_key(|cell| (cell.bytes, cell.threads, cell.computation_ns));
            maps.push(Map {
                benchmark: *benchmark,
                cells,
                failed: surveyor.take_failed(),
            });
        }
        surveyor.finish(maps)
    }

    /// The same under further settings; `None` where they do not take effect or the job fails: they are in quarantine then.
    fn candidate(
        &self,
        context: &Context<'_>,
        key: &str,
        launch: &Setup,
        assignments: &[Assignment],
    ) -> anyhow::Result<Option<Survey>> {
        let id = id(assignments);
        if context.quarantine.contains(&id) {
            return Ok(None);
        }
        let setup = launch.clone().with(assignments);
        match self.survey(context, key, &setup) {
            Ok(survey) => Ok(Some(survey)),
            // The database and the user are nobody's fault.
            Err(error)
                if error.chain().any(|cause| {
                    matches!(
                        cause.downcast_ref(),
                        Some(SessionError::Interrupted { .. } | SessionError::Store(_))
                    )
                }) =>
            {
                Err(error)
            }
            Err(error) if !assignments.is_empty() => {
                context.quarantine.add(&id, "could not be run", &format!("{error:#}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Searches from `launch`, what is deployed so far; gives what to deploy in addition. `banned` settings are not proposed.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn search(
        &mut self,
        context: &Context<'_>,
        label: &str,
        launch: &Setup,
        banned: &BTreeSet<Assignment>,
    ) -> anyhow::Result<Vec<Assignment>> {
        self.searched = true;
        let rule = context.rule(context.noise_seconds());
        let judge = |now: &[Survey]| targets::judge_all(&self.targets, &self.base, now, &rule);
        let candidates = self.candidates(context, banned);
        let key = |what: &str| format!("{label}/targets/{what}");
        let Some(present) = self.candidate(context, &key("present"), launch, &[])? else {
            return Ok(Vec::new());
        };
        let missing = shortfall(&judge(std::slice::from_ref(&present)));
        let mut scored = Vec::new();
        for assignments in candidates {
            if context.budget.search_exhausted(0.0) {
                context
                    .progress
                    .warn("the budget ended before every setting was tried for overlap; raise --budget");
                break;
            }
            let found = self.candidate(context, &key(&id(&assignments)), launch, &assignments)?;
            if let Some(survey) = found {
                let left = shortfall(&judge(&[survey]));
                context.progress.note(&format!(
                    "overlap: {}: shortfall {missing:.2} -> {left:.2}",
                    id(&assignments)
                ));
                if left < (1.0 - PROMISING) * missing {
                    scored.push((left, assignments));
                }
            }
        }
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        scored.truncate(FINALISTS);
        let finalists: Vec<Vec<Assignment>> = scored.into_iter().map(|(_, assignments)| assignments).collect();
        self.confirm(context, label, launch, &finalists)
    }

    /// Several launches of each finalist, in turn; the first that keeps its promise.
    fn confirm(
        &mut self,
        context: &Context<'_>,
        label: &str,
        launch: &Setup,
        finalists: &[Vec<Assignment>],
    ) -> anyhow::Result<Vec<Assignment>> {
        let mut launches: Vec<Vec<Survey>> = vec![Vec::new(); finalists.len()];
        for launched in 0..LAUNCHES {
            for (assignments, surveys) in finalists.iter().zip(&mut launches) {
                let key = format!("{label}/targets/confirm/{launched}/{}", id(assignments));
                surveys.extend(self.candidate(context, &key, launch, assignments)?);
            }
        }
        let rule = context.rule(context.noise_seconds());
        for (assignments, surveys) in finalists.iter().zip(launches) {
            if surveys.len() < LAUNCHES {
                continue;
            }
            let judged = targets::judge_all(&self.targets, &self.base, &surveys, &rule);
            if let Some(why) = objection(self.now(), &judged) {
                self.refused.push(format!("`{}` {why}", id(assignments)));
                continue;
            }
            let slowed = self.slows(context, label, launch, assignments)?;
            if !slowed.is_empty() {
                self.refused
                    .push(format!("`{}` would slow {}", id(assignments), slowed.join(", ")));
                continue;
            }
            self.searched = false;
            self.chosen.clone_from(assignments);
            return Ok(assignments.clone());
        }
        Ok(Vec::new())
    }

    /// What can be tried: first what was made for it, in case that the budget ends.
    fn candidates(&self, context: &Context<'_>, banned: &BTreeSet<Assignment>) -> Vec<Vec<Assignment>> {
        let mut all: Vec<Vec<Assignment>> = Vec::new();
        if context.programs.progress().is_ok() {
            let variable = |(name, value): &(&str, &str)| Assignment {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                environment: true,
            };
            all.extend(PROGRESS.iter().map(|pairs| pairs.iter().map(variable).collect()));
        }
        let of_library = space::overlap_candidates(&context.library, &context.transports(), self.spare.as_deref());
        all.extend(of_library.into_iter().map(|one| one.assignments));
        all.retain(|assignments| !assignments.iter().any(|one| banned.contains(one)));
        all
    }

    /// The collectives that a candidate slows.
    fn slows(
        &self,
        context: &Context<'_>,
        label: &str,
        launch: &Setup,
        assignments: &[Assignment],
    ) -> anyhow::Result<Vec<String>> {
        let base = launch.clone();
        let mut trials = Trials::new(context, format!("{label}/targets/side effects"), &[], base);
        let both = [Vec::new(), assignments.to_vec()];
        let samples = trials.in_turn("look for side effects", &both)?;
        Ok(damaged(&samples[0], &samples[1])
            .map(crate::plan::Subject::item_id)
            .collect())
    }

    /// Judges what is deployed, in launches in turn with the untouched library, by whose new times it is judged.
    ///
    /// # Errors
    /// A job that fails.
    pub fn judge_deployed(&mut self, context: &Context<'_>, label: &str, staged: &Setup) -> anyhow::Result<()> {
        if self.targets.is_empty() {
            return Ok(());
        }
        let mut launches = Launches {
            base: Vec::new(),
            now: Some(Vec::new()),
        };
        let measure = |launches: &mut Launches, launch: usize| -> anyhow::Result<()> {
            let key = |which: &str| format!("{label}/targets/{launch}/{which}");
            launches
                .base
                .push(self.survey(context, &key("before"), &Setup::default())?);
            let now = self.survey(context, &key("after"), staged)?;
            launches.now.get_or_insert_default().push(now);
            Ok(())
        };
        let spent_before = context.budget.spent_seconds();
        for launch in 0..LAUNCHES {
            measure(&mut launches, launch)?;
        }
        let spent = context.budget.spent_seconds();
        let judged = looks::judge_in_looks(
            (&self.targets, &context.rule(context.noise_seconds())),
            &mut launches,
            |further| {
                let seconds = (spent - spent_before) / LAUNCHES as f64 * further as f64;
                spent + seconds <= context.options.budget_seconds
            },
            looks::is_nearly_met,
            measure,
        )?;
        self.after = Some(judged);
        Ok(())
    }

    /// Forgets what was judged: nothing is deployed after all.
    pub fn nothing_deployed(&mut self) {
        self.after = None;
    }

    /// Takes back what was chosen, where not all of it is deployed after all; `because` says of settings (`name=value`) why they are not.
    pub fn keep_only<'w>(&mut self, deployed: &[Assignment], because: impl Iterator<Item = (&'w str, String)>) {
        if self.chosen.iter().all(|chosen| deployed.contains(chosen)) {
            return;
        }
        let chosen: BTreeSet<String> = self.chosen.drain(..).map(|one| id(&[one])).collect();
        let of_chosen = because.filter(|(what, _)| chosen.contains(*what));
        self.refused.extend(of_chosen.map(|(_, line)| line));
    }

    /// For the report, in the order of the targets.
    #[must_use]
    pub fn report(&self) -> Vec<TargetReport> {
        let after = |id: &str| self.after.as_ref()?.iter().find(|one| one.target == id);
        self.targets
            .iter()
            .zip(&self.before)
            .map(|(target, before)| {
                let after = after(&target.id);
                let now = after.unwrap_or(before);
                let met = is_missed(before) && now.standing() != Standing::Missed;
                TargetReport {
                    target: target.id.clone(),
                    benchmark: target.benchmark.name().to_owned(),
                    statement: target.statement(),
                    stated_for: target.cells(),
                    before: before.standing().name().to_owned(),
                    after: after.map(|after| after.standing().name().to_owned()),
                    fix: (met && !self.chosen.is_empty()).then(|| self.fix()),
                    unmet_because: self.unmet(now),
                    attainable: now.not_attainable_because().is_none(),
                    cells: cells(before, after),
                }
            })
            .collect()
    }

    fn fix(&self) -> Fix {
        let setting = |one: &Assignment| Setting {
            name: one.name.clone(),
            value: one.value.clone(),
        };
        Fix {
            kind: FixKind::Parameter,
            settings: self.chosen.iter().map(setting).collect(),
            id: id(&self.chosen),
        }
    }

    fn unmet(&self, now: &Judgement) -> Option<String> {
        if let Some(because) = now.not_attainable_because() {
            return Some(format!("not attainable here, because {because}"));
        }
        (now.standing() == Standing::Missed).then(|| {
            if self.refused.is_empty() {
                "none of the library's settings, and no progress thread, came nearer to it".to_owned()
            } else {
                self.refused.join("; ")
            }
        })
    }
}

/// Missed, by whatever could be mended.
fn is_open(judgement: &Judgement) -> bool {
    is_missed(judgement) && judgement.not_attainable_because().is_none()
}

fn is_missed(judgement: &Judgement) -> bool {
    judgement.standing() == Standing::Missed
}

/// Why what was judged is not better than `present`: it must miss fewer cells of an open target, and no more of any.
fn objection(present: &[Judgement], judged: &[Judgement]) -> Option<String> {
    let cells = |all: &[Judgement], target: &str| {
        let found = all.iter().find(|one| one.target == target);
        // A cell that could not be measured is not met.
        found.map_or(0, |one| one.count(Verdict::Missed) + one.unmeasured)
    };
    let more = |one: &&Judgement| cells(judged, &one.target) > cells(present, &one.target);
    let worse: Vec<&str> = present.iter().filter(more).map(|one| one.target.as_str()).collect();
    let better = |one: &Judgement| is_open(one) && cells(judged, &one.target) < cells(present, &one.target);
    match (present.iter().any(better), worse.is_empty()) {
        (true, true) => None,
        (_, false) => Some(format!("misses {}", worse.join(", "))),
        (false, true) => Some("meets none of them for certain".to_owned()),
    }
}

/// How much more than allowed the targets take that can be met, in parts of what could be hidden; the mean over their cells. A cell
/// that could not be measured hid nothing.
fn shortfall(judgements: &[Judgement]) -> f64 {
    let is_attainable = |one: &&Judgement| one.floor.as_ref().is_none_or(|floor| floor.value <= one.bound);
    let mut excess: Vec<f64> = Vec::new();
    for judgement in judgements.iter().filter(is_attainable) {
        let cells = judgement.cells.iter().filter(|cell| cell.verdict != Verdict::Masked);
        excess.extend(cells.map(|cell| (cell.value - judgement.bound).max(0.0)));
        excess.extend(std::iter::repeat_n(1.0, judgement.unmeasured));
    }
    excess.iter().sum::<f64>() / excess.len().max(1) as f64
}

/// The point of the same size whose computation covers communication.
fn covering(point: Point, communication_seconds: f64) -> Point {
    let [shortest, longest] = COMPUTATION_NS;
    let load = Load {
        threads: 1,
        computation_ns: ((COVERS * communication_seconds * 1e9) as u64).clamp(shortest, longest),
    };
    Point { load, ..point }
}

fn suite(wanted: &[Target]) -> Suite {
    Suite {
        benchmarks: targets::benchmarks(wanted).into_iter().collect(),
        sizes: Vec::new(),
        computations_ns: Vec::new(),
        threads: None,
        model: Model::FixedWork,
        requests: 4,
        repetitions: REPETITIONS,
        part_seconds: PART_SECONDS,
        full: true,
    }
}

fn cells(before: &Judgement, after: Option<&Judgement>) -> Vec<TargetCell> {
    before
        .cells
        .iter()
        .map(|cell| {
            let same = |other: &&targets::Judged| {
                (other.bytes, other.computation_ns, other.threads) == (cell.bytes, cell.computation_ns, cell.threads)
            };
            let after = after.and_then(|after| after.cells.iter().find(same));
            TargetCell {
                bytes: cell.bytes,
                computation_ns: cell.computation_ns,
                threads: cell.threads,
                verdict_before: cell.verdict.name().to_owned(),
                value_before: cell.value,
                verdict_after: after.map(|after| after.verdict.name().to_owned()),
                value_after: after.map(|after| after.value),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::floor::Floor;
    use crate::overlap::targets::Judged;

    fn cell(value: f64) -> Judged {
        Judged {
            bytes: 1 << 20,
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

    #[test]
    fn what_is_not_deployed_after_all_is_no_fix_and_says_why() {
        let setting = |name: &str| Assignment {
            name: name.to_owned(),
            value: "1".to_owned(),
            environment: true,
        };
        let because = || [("A=1", "A is left out".to_owned()), ("C=1", "C is left out".to_owned())].into_iter();
        let goals = || Goals {
            chosen: vec![setting("A"), setting("B")],
            ..Goals::of(&[])
        };
        let mut kept = goals();
        kept.keep_only(&[setting("B"), setting("A")], because());
        assert!(kept.chosen.len() == 2 && kept.refused.is_empty());
        let mut taken_back = goals();
        taken_back.keep_only(&[setting("B")], because());
        assert!(taken_back.chosen.is_empty());
        assert_eq!(taken_back.refused, ["A is left out"]);
    }

    fn judgement(target: &str, values: &[f64]) -> Judgement {
        Judgement {
            target: target.to_owned(),
            benchmark: Benchmark::Receiver,
            statement: String::new(),
            bound: 0.2,
            cells: values.iter().copied().map(cell).collect(),
            unmeasured: 0,
            launches: [3, 3],
            communication: 1.0,
            floor: None,
        }
    }

    #[test]
    fn a_shortfall_is_the_mean_excess_of_what_can_be_met() {
        let far = judgement("A", &[1.2, 0.7, 0.1]);
        assert!((shortfall(std::slice::from_ref(&far)) - 0.5).abs() < 1e-12);
        // What hangs hides nothing, and does not vanish from the mean.
        let hung = Judgement {
            unmeasured: 2,
            ..judgement("A", &[0.1])
        };
        assert!((shortfall(&[hung]) - 2.0 / 3.0).abs() < 1e-12);
        let unattainable = Judgement {
            floor: Some(Floor {
                value: 1.0,
                because: String::new(),
            }),
            ..far
        };
        assert!(!is_open(&unattainable));
        assert_eq!(shortfall(&[unattainable]), 0.0);
    }

    #[test]
    fn what_meets_one_target_must_not_miss_another() {
        let present = [judgement("A", &[1.0, 1.0]), judgement("B", &[0.1, 0.1])];
        let with = |a: &[f64], b: &[f64]| objection(&present, &[judgement("A", a), judgement("B", b)]);
        assert_eq!(with(&[0.1, 1.0], &[0.1, 0.1]), None);
        assert_eq!(with(&[0.1, 0.1], &[0.1, 0.9]).unwrap(), "misses B");
        assert_eq!(
            with(&[1.0, 0.9], &[0.1, 0.1]).unwrap(),
            "meets none of them for certain"
        );
        let hung = Judgement {
            unmeasured: 2,
            ..judgement("A", &[])
        };
        assert!(objection(&present, &[hung, judgement("B", &[0.1, 0.1])]).is_some());
    }

    #[test]
    fn computation_covers_communication_within_what_is_sensible() {
        let point = Point {
            bytes: 8,
            load: Load {
                threads: 1,
                computation_ns: 20_000,
            },
        };
        let ns = |seconds| covering(point, seconds).load.computation_ns;
        assert_eq!((ns(1e-3), ns(1e-6), ns(10.0)), (3_000_000, 20_000, 400_000_000));
    }
}
