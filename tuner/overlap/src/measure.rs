//! Measures a suite. Cells become blocks, in batches and in an order drawn from the seed, so that a change of the
//! machine's speed does not paint a stripe.
//!
//! All batches of a survey are questions to one job. A cell that takes its job down is noted as failed, and a new job
//! measures the rest.

use anyhow::Context as _;
use kilter_bench::launch::session::{JobFailure, Session, SessionError};
use kilter_model::plan::derived_seed;
use kilter_model::setup::Setup;
use kilter_model::survey::{Cell, Failed, Map, Survey};
use kilter_protocol::cpus::ProcessingUnits;
use kilter_protocol::overlap::Benchmark;
use kilter_protocol::plan::Block;
use kilter_protocol::report::Start;
use kilter_search::context::{Jobs, Site};
use kilter_stats::describe::interquartile_range;
use kilter_stats::sample::Sample;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::adaptive::{self, Explored};
use super::asking::{self, Answer};
use super::assemble::{self, NoCell};
use super::block;
use super::grid::{Grid, Point, Position};
use super::noise::{Pool, Widths};
use super::options::Suite;
use super::units;

mod in_turn;

/// Version of the format of a survey.
pub const SCHEMA: u32 = 1;

/// Number of cells asked at once: few enough that the budget ends in time, and enough that the job seldom waits for
/// questions.
const BATCH: usize = 16;

/// Number of a benchmark's cells that may take their job down before the benchmark is given up.
const PATIENCE: usize = 5;

/// Reason why a cell has no times.
#[derive(Debug, thiserror::Error)]
enum NotMeasured {
    /// A part of it has none.
    #[error(transparent)]
    Part(#[from] NoCell),
    /// It took its job down.
    #[error(transparent)]
    Job(#[from] JobFailure),
    /// Too many cells of its benchmark had taken their jobs down.
    #[error(
        "not measured: {} was given up after jobs of {PATIENCE} cells crashed or hung; leave it out of --benchmarks, or its failing sizes \
         out of --sizes",
        benchmark.name()
    )]
    GivenUp { benchmark: Benchmark },
}

/// Measures a suite under `setup`, in jobs named `key`. Errors are a job that does not start, a setting that did not
/// take effect, the database, and an interruption.
pub fn survey(jobs: &Jobs<'_>, suite: &Suite, setup: &Setup, key: &str) -> anyhow::Result<Survey> {
    let mut surveyor = Surveyor::new(jobs, suite, setup, key)?;
    let maps = if suite.full {
        let all = suite.benchmarks.iter().map(|benchmark| surveyor.map(*benchmark, true));
        all.collect::<anyhow::Result<Vec<Map>>>()?
    } else {
        in_turn::maps(&mut surveyor)?
    };
    surveyor.finish(maps)
}

/// Asks one job after the other about cells.
pub struct Surveyor<'c, 'a> {
    jobs: &'c Jobs<'a>,
    suite: &'c Suite,
    key: String,
    session: Session<'c>,
    start: Start,
    units: ProcessingUnits,
    noise_seconds: Option<f64>,
    seconds: f64,
    failed: Vec<Failed>,
    patience: usize,
    bounded: bool,
    pool: Pool,
}

impl<'c, 'a> Surveyor<'c, 'a> {
    /// Starts a job, unless the store knows its start. An error if it does not start, or if a setting did not take
    /// effect.
    pub fn new(jobs: &'c Jobs<'a>, suite: &'c Suite, setup: &Setup, key: &str) -> anyhow::Result<Surveyor<'c, 'a>> {
        let mut session = jobs.session(key, setup, true)?.asking_processing_units();
        let failed = || format!("job `{key}` failed; its log is in {}", jobs.directory.display());
        let start = session.start().with_context(failed)?;
        jobs.site.confirm(setup, &start)?;
        Ok(Surveyor {
            jobs,
            suite,
            key: key.to_owned(),
            session,
            units: units::of(&start),
            start,
            noise_seconds: None,
            seconds: 0.0,
            failed: Vec::new(),
            patience: PATIENCE,
            bounded: true,
            pool: Pool::default(),
        })
    }

    /// Goes on after the budget is spent, because half a proof proves nothing.
    #[must_use]
    pub fn whatever_it_costs(self) -> Surveyor<'c, 'a> {
        Surveyor { bounded: false, ..self }
    }

    /// Processing units of rank 0's host.
    #[must_use]
    pub fn units(&self) -> &ProcessingUnits {
        &self.units
    }

    /// Points of a benchmark in this job.
    #[must_use]
    pub fn grid(&self, benchmark: Benchmark) -> Grid {
        self.suite
            .grid(benchmark, self.jobs.site.options.ranks, self.units.count())
    }

    /// Seconds of measuring since the last call.
    pub fn take_seconds(&mut self) -> f64 {
        std::mem::take(&mut self.seconds)
    }

    /// Map of a benchmark: all of its cells, or its adaptive picture.
    pub fn map(&mut self, benchmark: Benchmark, full: bool) -> anyhow::Result<Map> {
        let grid = self.grid(benchmark);
        let explored = if full {
            self.full(benchmark, &grid)?
        } else {
            self.adaptive(benchmark, &grid)?
        };
        let mut failed = self.take_failed();
        failed.extend(explored.open.iter().map(|position| {
            let reason = "not measured: its neighbours on the grid failed";
            failed_at(grid.point(*position), reason)
        }));
        failed.sort_by_key(|failed| (failed.bytes, failed.threads, failed.computation_ns));
        Ok(Map {
            benchmark,
            cells: explored.cells,
            failed,
        })
    }

    /// Measures every cell.
    fn full(&mut self, benchmark: Benchmark, grid: &Grid) -> anyhow::Result<Explored> {
        self.begin(benchmark, grid.count());
        let positions: Vec<Position> = grid.positions().collect();
        let cells = self.cells(benchmark, grid, &positions)?;
        Ok(Explored {
            measured: positions.into_iter().zip(cells.iter().cloned()).collect(),
            cells: cells.into_iter().flatten().collect(),
            open: Vec::new(),
        })
    }

    /// Measures the adaptive picture.
    pub fn adaptive(&mut self, benchmark: Benchmark, grid: &Grid) -> anyhow::Result<Explored> {
        self.begin(benchmark, (grid.count() as f64 * adaptive::SHARE) as usize);
        adaptive::explore(benchmark, grid, &mut |positions| self.cells(benchmark, grid, positions))
    }

    /// Measures these points alone; answers in their order, `None` for those of [`Surveyor::take_failed`]. They are no
    /// map, so that each has its own noise.
    pub fn points(&mut self, benchmark: Benchmark, points: &[Point]) -> anyhow::Result<Vec<Option<Cell>>> {
        self.patience = PATIENCE;
        let mut cells = Vec::with_capacity(points.len());
        for batch in points.chunks(BATCH) {
            cells.extend(self.batch(benchmark, batch)?);
        }
        let least_seconds = self.noise();
        let with_noise = |(cell, widths): (Cell, Widths)| Cell {
            noise_seconds: widths.communication.max(widths.computation).max(least_seconds),
            ..cell
        };
        Ok(cells.into_iter().map(|cell| cell.map(with_noise)).collect())
    }

    /// Cells since the last call that could not be measured.
    pub fn take_failed(&mut self) -> Vec<Failed> {
        std::mem::take(&mut self.failed)
    }

    fn begin(&mut self, benchmark: Benchmark, cells: usize) {
        self.jobs
            .progress
            .phase(&format!("overlap: {}", benchmark.name()), cells as u64);
        self.patience = PATIENCE;
        self.pool = Pool::default();
    }

    /// True if a survey must end now.
    fn is_over(&self) -> bool {
        self.bounded && self.jobs.budget.exhausted()
    }

    /// Measures cells in an order of their own; answers are in the order of `positions`.
    fn cells(
        &mut self,
        benchmark: Benchmark,
        grid: &Grid,
        positions: &[Position],
    ) -> anyhow::Result<Vec<Option<Cell>>> {
        let mut order: Vec<usize> = (0..positions.len()).collect();
        let name = format!("{}/{}/{}", self.key, benchmark.name(), positions.len());
        let seed = derived_seed(self.jobs.run.seed, &name);
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut cells = vec![None; positions.len()];
        for batch in order.chunks(BATCH) {
            let points: Vec<Point> = batch.iter().map(|index| grid.point(positions[*index])).collect();
            for (index, cell) in batch.iter().zip(self.batch(benchmark, &points)?) {
                cells[*index] = cell;
            }
        }
        for (position, cell) in positions.iter().zip(&cells) {
            let widths = cell.as_ref().map(|(_, widths)| *widths);
            widths.into_iter().for_each(|widths| self.pool.add(*position, widths));
        }
        let least_seconds = self.noise();
        let with_noise = |(position, cell): (&Position, Option<(Cell, Widths)>)| {
            let (cell, widths) = cell?;
            Some(Cell {
                noise_seconds: self.pool.noise(*position, widths, least_seconds),
                ..cell
            })
        };
        Ok(positions.iter().zip(cells).map(with_noise).collect())
    }

    /// Measures points together.
    fn batch(&mut self, benchmark: Benchmark, points: &[Point]) -> anyhow::Result<Vec<Option<(Cell, Widths)>>> {
        if self.is_over() {
            let budget = self.jobs.budget.total_seconds();
            let reason = format!("not measured: the budget of {budget} s was spent before; raise --budget");
            self.jobs.progress.warn(&format!("overlap: {reason}"));
            self.failed
                .extend(points.iter().map(|point| failed_at(*point, &reason)));
            return Ok(vec![None; points.len()]);
        }
        let blocks: Vec<Block> = points.iter().map(|point| self.block(benchmark, *point)).collect();
        let (session, progress) = (&mut self.session, &self.jobs.progress);
        let answers = asking::ask_all(&blocks, &mut self.patience, &mut |blocks| {
            session.measure_together(blocks, &mut |_| progress.step(1))
        })
        .with_context(|| format!("overlap: {} failed", benchmark.name()))?;
        let mut cells = Vec::with_capacity(points.len());
        for (point, answer) in points.iter().zip(answers) {
            let cell = self.answered(benchmark, *point, answer);
            let failed = cell.as_ref().err().map(|reason| failed_at(*point, &reason.to_string()));
            self.failed.extend(failed);
            cells.push(cell.ok());
        }
        Ok(cells)
    }

    /// The cell, or the reason why it failed.
    fn answered(&mut self, benchmark: Benchmark, point: Point, answer: Answer) -> Result<(Cell, Widths), NotMeasured> {
        match answer {
            Answer::Done(outcome) => {
                self.spend(outcome.seconds);
                Ok(assemble::cell(benchmark, point, &outcome)?)
            }
            Answer::TookDown(failure) => {
                let silence = match &failure {
                    JobFailure::Hung { seconds, .. } => *seconds,
                    _ => 0.0,
                };
                self.spend(silence + self.jobs.launch_seconds());
                let block = failure.place().block.as_deref().unwrap_or_default();
                let what = failure.kind();
                self.jobs
                    .progress
                    .warn(&format!("overlap: `{block}` {what}; the other cells go on"));
                Err(failure.into())
            }
            Answer::GivenUp => {
                let reason = NotMeasured::GivenUp { benchmark };
                self.jobs.progress.warn(&reason.to_string());
                Err(reason)
            }
        }
    }

    fn spend(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    fn block(&self, benchmark: Benchmark, point: Point) -> Block {
        block::question(self.suite, benchmark, point, |id| {
            derived_seed(self.jobs.run.seed, &format!("{}/{id}", self.key))
        })
    }

    /// Variation of the empty operation in seconds; the worker reports it before the first cell.
    fn noise(&mut self) -> f64 {
        if self.noise_seconds.is_none() {
            let sample = self.session.noise().and_then(|seconds| Sample::new(seconds).ok());
            self.noise_seconds = sample.map(|sample| interquartile_range(&sample));
        }
        self.noise_seconds.unwrap_or(0.0)
    }

    /// Ends the job and returns the survey of these maps.
    pub fn finish(self, maps: Vec<Map>) -> anyhow::Result<Survey> {
        match self.session.close() {
            Ok(()) => {}
            // Every cell was answered before.
            Err(SessionError::Job(failure)) => self.jobs.progress.warn(&failure.to_string()),
            Err(error) => return Err(error.into()),
        }
        Ok(Survey {
            schema: SCHEMA,
            library: format!("{} {}", self.jobs.site.library.name, self.jobs.site.version),
            ranks: self.jobs.site.options.ranks,
            transport: transport(&self.jobs.site, &self.start),
            hosts: self.start.hosts,
            processing_units: self.units.count(),
            processing_units_by: self.units.by,
            computation: self.suite.model,
            command: self.jobs.typed.clone(),
            maps,
        })
    }
}

fn failed_at(point: Point, reason: &str) -> Failed {
    Failed {
        bytes: point.bytes,
        computation_ns: point.load.computation_ns,
        threads: point.load.threads,
        reason: reason.to_owned(),
    }
}

/// The library's report on its transports, after those that the description names for this placement, unless the site
/// chose them.
fn transport(site: &Site<'_>, start: &Start) -> String {
    let one_host = start.hosts.windows(2).all(|pair| pair[0] == pair[1]);
    let variables = &site.library.transports.variables;
    let chosen_by_site = site
        .options
        .site_parameters
        .iter()
        .any(|(name, _)| variables.contains(name));
    let usual = site.library.transports.on(one_host).iter().cloned();
    let names = usual.filter(|_| !chosen_by_site);
    let told = variables.iter().filter_map(|name| {
        let value = start.variables.get(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={value}"))
    });
    names.chain(told).collect::<Vec<_>>().join(", ")
}
