//! Jobs of a run: their commands, the bench that starts them, their time and their samples.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use kilter_bench::allocation;
use kilter_bench::budget::Budget;
use kilter_bench::launch::command::TemplateError;
use kilter_bench::launch::{
    Bench, Broken, CommandSpec, CommandTemplate, JobSpec, Leaving, Limits, Machine, Session, Watch, other_load,
};
use kilter_bench::programs::{PROGRESS_LIBRARY, Programs};
use kilter_bench::progress::Progress;
use kilter_bench::reference::{self, Reference};
use kilter_bench::store::Run;
use kilter_model::deployment::PROGRESS_VARIABLE;
use kilter_model::options::Options;
use kilter_model::plan::Plan;
use kilter_model::range::combining_volumes;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Header, Item};

use super::in_force::{Pairs, combined};
use super::site::Site;

/// Longer than any job: budgets may be given that no clock can count.
const FOR_EVER_SECONDS: f64 = 30.0 * 86_400.0;

/// Jobs of a run.
pub struct Jobs<'a> {
    /// The place where they run.
    pub site: Rc<Site<'a>>,
    /// Progress and warnings on them.
    pub progress: Rc<Progress>,
    /// The run that keeps their samples.
    pub run: Run,
    /// The command line that began the run.
    pub typed: String,
    /// Seconds of measuring.
    pub budget: Budget,
    /// Worker, drop-in and plugin for the library.
    pub programs: Programs,
    /// Directory of plans, reports and logs of the launches.
    pub directory: PathBuf,
    /// The form of a command.
    pub template: CommandTemplate,
    /// The bench that starts the programs of launches.
    pub bench: Box<dyn Bench>,
    /// The jobs that are over.
    pub watch: Watch,
    /// The job that is about to end.
    pub leaving: Leaving,
    /// Items that end a job by themselves.
    broken: Broken,
    /// Results of the untouched library for random doubles, where the options ask for the same.
    reference: Reference,
    /// Volumes at which a launch that compares bits combines data; empty where the options do not ask for it.
    compared: Vec<(u64, Vec<u64>)>,
    other_load_is_known: Cell<bool>,
    /// Parameters with which jobs start without looking for networks.
    quick_start: RefCell<Pairs>,
}

/// True if two jobs at once may need what only one of them can have: the processors of an allocation, or a network's contexts.
fn may_share(options: &Options) -> bool {
    options.starts.is_some() || options.has_several_hosts() || allocation::current().is_some()
}

impl<'a> Jobs<'a> {
    /// Jobs on this machine.
    #[must_use]
    pub fn new(
        site: Rc<Site<'a>>,
        progress: Rc<Progress>,
        (run, typed): (Run, String),
        plan: &Plan,
        (template, programs): (CommandTemplate, Programs),
    ) -> Jobs<'a> {
        let options = site.options;
        let compared = if options.limits.reproducible {
            combining_volumes(plan)
        } else {
            Vec::new()
        };
        Jobs {
            progress,
            run,
            typed,
            budget: Budget::new(options.budget_seconds),
            programs,
            directory: options.out.join("launches"),
            template,
            bench: Box::new(Machine),
            watch: Watch::default(),
            leaving: Leaving::of_jobs_that_share_nothing(!may_share(options)),
            broken: Broken::default(),
            reference: Reference::default(),
            compared,
            other_load_is_known: Cell::new(false),
            quick_start: RefCell::default(),
            site,
        }
    }

    /// The same on another bench, whose clock the budget goes by.
    #[must_use]
    pub(super) fn on(mut self, bench: Box<dyn Bench>) -> Jobs<'a> {
        let clock = bench.clock();
        let seconds = move || clock.elapsed().as_secs_f64();
        self.budget = Budget::by_clock(self.site.options.budget_seconds, seconds);
        self.bench = bench;
        self
    }

    /// A job under `setup`; launched when its first block is not in the store.
    ///
    /// # Errors
    /// A launcher's template that cannot express the setup.
    pub fn session(&self, key: &str, setup: &Setup, noise: bool) -> anyhow::Result<Session<'_>> {
        let compares_bits = self.site.options.limits.reproducible && setup.compares_bits;
        let Options {
            stall_seconds, ranks, ..
        } = *self.site.options;
        let mut limits = Limits::of_job(stall_seconds, ranks, self.usual_start_seconds());
        if self.site.options.platform.is_some() {
            // A simulated job is silent for as long as it computes, whatever seconds its calls take.
            limits.candidate_seconds = None;
        }
        let read = |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let header = Header {
            v: kilter_protocol::VERSION,
            wait: self.site.options.wait,
            root: self.site.options.root,
            element: self.site.options.element,
            seed: kilter_model::plan::derived_seed(self.run.seed, "worker"),
            read_variables: self.site.variables_to_read(setup),
            read_environment: self
                .site
                .environment_to_read([read(&setup.environment), read(&setup.expected_environment)].concat()),
            noise_repetitions: if noise && !self.site.options.is_exact() { 50 } else { 0 },
            idle_seconds: limits.stall_seconds.max(30.0),
            sync: self.site.options.sync,
            cache: self.site.options.cache,
            settings: self.site.library.switching.acts,
            held_on_calls: self.site.library.held_on_calls(),
            asks_processing_units: false,
            counters: setup.counters.clone(),
            bits_at: if compares_bits {
                self.compared.clone()
            } else {
                Vec::new()
            },
            call_paths: setup.call_paths,
            clock_faults: Vec::new(),
        };
        let command = self.command(setup, &[])?;
        let spec = JobSpec {
            key: key.to_owned(),
            command,
            header,
            limits,
            ends_by: Some(
                self.bench.clock().now()
                    + Duration::from_secs_f64(self.budget.launch_limit_seconds().min(FOR_EVER_SECONDS)),
            ),
        };
        self.heed_jobs();
        let session = Session::new(&self.run, &self.programs.worker, &self.directory, spec)
            .on(&*self.bench)
            .watched_by(&self.watch)
            .leaving_by(&self.leaving)
            .heeding(&self.broken);
        Ok(if compares_bits {
            session.judged_by(&self.reference, reference::Launch::of(setup))
        } else {
            session
        })
    }

    /// The site's settings and then the setup's.
    fn in_force(&self, setup: &Setup) -> (Pairs, Pairs) {
        let Options {
            site_parameters,
            site_environment,
            ..
        } = self.site.options;
        let measured = self.site.measured();
        let mut setup = setup.clone();
        setup.environment.extend(self.progress_library(&setup));
        let is_set = |name: &String| {
            setup
                .parameters
                .iter()
                .chain(&setup.expected)
                .any(|(other, _)| other == name)
        };
        let quick_start = self.quick_start.borrow();
        let quick_start: Pairs = quick_start.iter().filter(|(name, _)| !is_set(name)).cloned().collect();
        setup.parameters.splice(0..0, quick_start);
        let switching = &self.site.library.switching.parameters;
        combined(
            (site_parameters, site_environment),
            &setup,
            switching,
            &measured.environment,
        )
    }

    /// Starts all jobs from now on without looking for networks, where none of the `transports` in use is one that they would find so. Returns the
    /// parameters that do it.
    pub fn start_quickly(&self, transports: &[String]) -> Vec<(String, String)> {
        let library = &self.site.library.transports;
        // `sm/cma` is the part of `sm` for large messages.
        let is_plain = |one: &String| {
            let name = one.split('/').next().unwrap_or_default();
            let mut known = library.one_host.iter().chain(&library.several_hosts);
            known.any(|own| own == name)
        };
        let is_left = |name: &String| !self.site.sets(name);
        let mut quick: Pairs = library.quick_start.clone().into_iter().collect();
        quick.retain(|(name, _)| is_left(name));
        if transports.is_empty() || !transports.iter().all(is_plain) {
            quick.clear();
        }
        self.quick_start.replace(quick.clone());
        quick
    }

    /// The variable that loads the progress thread where a setup switches it on; files that are staged load their own copy.
    fn progress_library(&self, setup: &Setup) -> Option<(String, String)> {
        let has =
            |wanted: &dyn Fn(&str, &str) -> bool| setup.environment.iter().any(|(name, value)| wanted(name, value));
        let is_on = has(&|name, _| name == PROGRESS_VARIABLE);
        let is_loaded = has(&|name, value| name == "LD_PRELOAD" && value.contains(PROGRESS_LIBRARY));
        let path = self.programs.progress().ok().filter(|_| is_on && !is_loaded)?;
        Some(("LD_PRELOAD".to_owned(), path.display().to_string()))
    }

    /// The launcher's command under `setup`, for a program and its arguments.
    ///
    /// # Errors
    /// A template that cannot express it.
    fn command(&self, setup: &Setup, program_and_args: &[String]) -> Result<CommandSpec, TemplateError> {
        let (parameters, environment) = self.in_force(setup);
        let mut command = self
            .template
            .build(self.site.options.ranks, &parameters, &environment, program_and_args)?;
        command.environment.extend(setup.launcher_environment.iter().cloned());
        Ok(command)
    }

    /// A launch under `setup` as a command line for people.
    #[must_use]
    pub fn command_line(&self, setup: &Setup) -> String {
        self.command(setup, &["APPLICATION".to_owned()])
            .map(|command| command.to_string())
            .unwrap_or_default()
    }

    /// Seconds in which a job usually starts here, as far as the tuner sees it; `None` before the first.
    #[must_use]
    pub fn usual_start_seconds(&self) -> Option<f64> {
        // What a start costs has its end in it; a start that a file system shows late costs less than it seems to take.
        let both = [self.budget.start_seconds(), self.watch.start_seconds()];
        both.into_iter().flatten().reduce(f64::max)
    }

    /// Start and end of a job, in seconds: as the last ones took here, or, before the first, a guess.
    #[must_use]
    pub fn launch_seconds(&self) -> f64 {
        let guess = if self.site.options.several_hosts { 2.0 } else { 0.5 };
        self.budget.start_seconds().unwrap_or(guess)
    }

    /// Processors that other programs may take beside a launch.
    #[must_use]
    pub fn most_other_cores(&self) -> f64 {
        other_load::most_cores(self.site.options.ranks)
    }

    /// True if this item of the library's own has ended a job.
    #[must_use]
    pub(crate) fn is_broken(&self, item: &Item) -> bool {
        self.broken.fault(item).is_some()
    }

    /// Says what happened to the jobs that ended since this was last called: other load, and time that was over.
    pub fn heed_jobs(&self) {
        for (item, fault) in self.broken.news() {
            self.progress.warn(&format!(
                "the library's own `{item}` {} and is measured no more in this run; report it to its developers: {fault}",
                fault.kind()
            ));
        }
        for job in self.watch.news() {
            if let Some(failure) = &job.started_again {
                self.progress.note(&format!("started again: {failure}"));
            }
            if job.unanswered > 0 {
                self.progress.note(&format!(
                    "launch `{}` had to end after {:.0} s: {} of its blocks were not measured",
                    job.key, job.seconds, job.unanswered
                ));
            }
            let busy = job.other_cores.filter(|cores| *cores > self.most_other_cores());
            if let Some(cores) = busy.filter(|_| !self.other_load_is_known.replace(true)) {
                self.progress.note(&format!(
                    "other programs used {cores:.1} processors during launch `{}`, so that launches last longer and decide less; end the \
                     programs, or wait for them (said once; the end of the run sums it up)",
                    job.key
                ));
            }
        }
    }
}
