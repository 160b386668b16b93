//! Commands on a scripted library, as typed; launcher and programs are not needed.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use clap::Parser as _;

use super::library::ScriptedLibrary;
use super::playing::{Jobs, VERSION};
use crate::cli;
use crate::commands::check::checked;
use crate::guard;
use crate::{carriers, launcher, proof, reporting};
use kilter_bench::budget::Budget;
use kilter_bench::launch;
use kilter_bench::launch::Bench;
use kilter_bench::launch::other_load;
use kilter_bench::launch::scripted::Scripted;
use kilter_bench::programs::{PROGRESS_LIBRARY, Programs};
use kilter_bench::store::Store;
use kilter_detect::{Detection, Trace};
use kilter_guard::{Facts, Night};
use kilter_model::config::guideline;
use kilter_model::config::library::Library;
use kilter_model::deployment::Selection;
use kilter_model::options::{Options, TuneOptions};
use kilter_model::plan::Plan;
use kilter_model::report::Report;
use kilter_search::context::Context;
use kilter_search::correctness::{Admission, admit_all};
use kilter_search::plugins;
use kilter_tune as tune;
use kilter_tune::Tuned;
use kilter_tune::layouts::prove::{Member, prove};
use kilter_tune::layouts::turns::Turns;

/// Place in which a scripted library is installed and tuned.
#[derive(Debug)]
pub struct Site {
    directory: PathBuf,
    library: Rc<ScriptedLibrary>,
    description: Rc<Library>,
}

/// Result of a command.
#[derive(Debug)]
pub struct Run {
    /// The report.
    pub report: Report,
    /// Jobs that were started to measure; blocks from the store started none.
    pub jobs: u64,
    /// Seconds by the scripted clock.
    pub seconds: f64,
}

impl Site {
    /// Installs a library in a directory, which is made if it is missing; an existing database is continued. Errors are
    /// a mistake in the description, and files that cannot be written.
    pub fn new(directory: &Path, library: ScriptedLibrary) -> anyhow::Result<Site> {
        let description = library.description()?;
        let programs = directory.join("bin");
        std::fs::create_dir_all(&programs).with_context(|| format!("`{}` cannot be made", programs.display()))?;
        // Files that are there, and that nobody can run: `ompi_info` as well, which Open MPI's emitter looks for beside the launcher.
        for name in [
            "mpirun",
            "ompi_info",
            WORKER,
            "kilter-verify",
            "libkilter.so",
            "libkilter_collectives.so",
            PROGRESS_LIBRARY,
        ] {
            let path = programs.join(name);
            std::fs::write(&path, name).with_context(|| format!("`{}` cannot be written", path.display()))?;
        }
        Ok(Site {
            directory: directory.to_path_buf(),
            library: Rc::new(library),
            description: Rc::new(description),
        })
    }

    /// `kilter tune` with these arguments. An interrupted run is resumed.
    pub fn tune(&self, arguments: &[&str]) -> anyhow::Result<Run> {
        self.tune_on(Box::new(self.bench()), arguments)
    }

    /// Tunes on another bench, such as [`Replay`](kilter_bench::launch::Replay).
    pub fn tune_on(&self, bench: Box<dyn Bench>, arguments: &[&str]) -> anyhow::Result<Run> {
        let options = self.tune_options(arguments)?;
        self.run(bench, &options.common, arguments, |context| {
            Ok(reporting::of_tune(
                &context.jobs,
                &context.plan,
                &context.quarantine,
                &tuned(context, &options)?,
            ))
        })
    }

    /// `kilter tune --layouts` with these arguments: the findings for each layout with the files of all of them, and the seconds by the scripted
    /// clock.
    pub fn tune_layouts(&self, arguments: &[&str]) -> anyhow::Result<(Vec<Report>, f64)> {
        let options = self.tune_options(arguments)?;
        let store = Store::open(&options.common.db)?;
        let mut clocks = Vec::new();
        let contexts = options.layouts.iter().map(|own| {
            std::fs::create_dir_all(&own.out).with_context(|| format!("`{}` cannot be made", own.out.display()))?;
            let bench = self.bench();
            clocks.push(bench.clock());
            self.context(Box::new(bench), own, &store, arguments)
        });
        let contexts = contexts.collect::<anyhow::Result<Vec<_>>>()?;
        // Each layout has a clock of its own, which stands still while another is measured.
        let clocks = Rc::new(clocks);
        let on_all = || {
            let clocks = Rc::clone(&clocks);
            let seconds = move || clocks.iter().map(|clock| clock.elapsed().as_secs_f64()).sum();
            Budget::by_clock(options.common.budget_seconds, seconds)
        };
        let turns = Turns::new(on_all());
        let mut members = Vec::new();
        for (own, context) in options.layouts.iter().zip(&contexts) {
            let layout = own.layout.context("a layout that is none")?;
            turns.to_tune(&context.jobs.budget, contexts.len() - members.len());
            let tuned = tuned(context, &options)?;
            members.push(Member { layout, context, tuned });
        }
        prove(&mut members, &self.emitted(), &turns, None)?;
        let report = |member: &Member<'_, '_>| {
            reporting::of_tune(
                &member.context.jobs,
                &member.context.plan,
                &member.context.quarantine,
                &member.tuned,
            )
        };
        Ok((members.iter().map(report).collect(), on_all().spent_seconds()))
    }

    /// `kilter check` with these arguments.
    pub fn check(&self, arguments: &[&str]) -> anyhow::Result<Run> {
        let cli::Command::Check(typed) = self.typed("check", arguments)? else {
            anyhow::bail!("`check` is not read as such");
        };
        let options = crate::options::checking(typed)?.common;
        self.run(Box::new(self.bench()), &options, arguments, checked)
    }

    /// `kilter detect --measure` with these further arguments, for what was detected in a trace: the findings with what was measured, the number
    /// of jobs that were started, and seconds by the scripted clock.
    pub fn prove(
        &self,
        trace: &Trace,
        detection: &Detection,
        arguments: &[&str],
    ) -> anyhow::Result<(Detection, u64, f64)> {
        let typed = [&["TRACE", "--measure"], arguments].concat();
        let cli::Command::Detect(typed) = self.typed("detect", &typed)? else {
            anyhow::bail!("`detect` is not read as such");
        };
        let options = crate::options::measuring(typed.measure)?;
        let store = Store::open(&options.db)?;
        let context = self.context(Box::new(self.bench()), &options, &store, arguments)?;
        let before = context.jobs.run.launch_count()?;
        let mut detection = detection.clone();
        proof::prove(&context.jobs, trace, &mut detection)?;
        context.jobs.run.finish()?;
        let jobs = context.jobs.run.launch_count()? - before;
        Ok((detection, jobs, context.jobs.budget.spent_seconds()))
    }

    /// The answer to whether these selections may be deployed, as `tune` asks it; and the number of jobs that verified them.
    pub fn admit(&self, selections: &[Selection]) -> anyhow::Result<(Vec<Admission>, usize)> {
        let arguments = ["--guidelines", "GL8"];
        let options = self.tune_options(&arguments)?.common;
        let store = Store::open(&options.db)?;
        let context = self.context(Box::new(self.bench()), &options, &store, &arguments)?;
        let before = self.library.verifiers();
        let admissions = admit_all(&context.jobs, &store, selections)?;
        context.jobs.run.finish()?;
        Ok((admissions, self.library.verifiers() - before))
    }

    /// `kilter guard` with these arguments, where hosts and library say `told`: what was found, and the number of jobs.
    pub fn guard(&self, told: Facts, arguments: &[&str]) -> anyhow::Result<(Night, u64)> {
        let cli::Command::Guard(typed) = self.typed("guard", arguments)? else {
            anyhow::bail!("`guard` is not read as such");
        };
        let options = crate::options::guarding(typed)?;
        let store = Store::open(&options.common.db)?;
        let context = self.context(Box::new(self.bench()), &options.common, &store, arguments)?;
        let night = guard::night(&context, told, &options.asked)?;
        context.jobs.run.finish()?;
        Ok((night, context.jobs.run.launch_count()?))
    }

    /// `kilter which` with these arguments, for calls that are named, beside the options of jobs; and the number of jobs.
    pub fn which(&self, arguments: &[&str]) -> anyhow::Result<(Vec<kilter_which::Cell>, u64)> {
        let cli::Command::Which(typed) = self.typed("which", arguments)? else {
            anyhow::bail!("`which` is not read as such");
        };
        let options = crate::options::which(typed)?;
        let store = Store::open(&options.common.db)?;
        let context = self.context(Box::new(self.bench()), &options.common, &store, arguments)?;
        let cells = crate::which::cells(&context, &options.asked)?;
        context.jobs.run.finish()?;
        Ok((cells, context.jobs.run.launch_count()?))
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.directory.join("out").join("kilter.db")
    }

    /// The deployed files.
    #[must_use]
    pub fn emitted(&self) -> PathBuf {
        self.directory.join("out").join("emit")
    }

    pub(super) fn bench(&self) -> Scripted {
        let script = Jobs {
            library: Rc::clone(&self.library),
            description: Rc::clone(&self.description),
        };
        Scripted::new(Rc::new(script), self.library.noise).beside(self.library.other_cores)
    }

    fn tune_options(&self, arguments: &[&str]) -> anyhow::Result<TuneOptions> {
        let cli::Command::Tune(typed) = self.typed("tune", arguments)? else {
            anyhow::bail!("`tune` is not read as such");
        };
        Ok(crate::options::tuning(typed)?)
    }

    /// Reads a command line, with four ranks and a seed where it says nothing of them.
    pub(super) fn typed(&self, command: &str, arguments: &[&str]) -> anyhow::Result<cli::Command> {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let own = [
            "kilter".to_owned(),
            command.to_owned(),
            format!("--mpirun={}", path("bin/mpirun")),
            format!("--out={}", path("out")),
            "--db={out}/kilter.db".to_owned(),
            "--quiet".to_owned(),
        ];
        let given = |option: &str| arguments.iter().any(|one| one.starts_with(option));
        let is_said = |option: &str| {
            given(option) || option == "--ranks" && ["--layouts", "--profile", "--whole-machine"].into_iter().any(given)
        };
        let defaults = [("--ranks", "4"), ("--seed", "1")].into_iter();
        let defaults = defaults.filter(|(option, _)| !is_said(option));
        let defaults = defaults.map(|(option, value)| format!("{option}={value}"));
        let words = own.into_iter().chain(defaults);
        let words = words.chain(arguments.iter().map(|&one| one.to_owned()));
        Ok(cli::Cli::try_parse_from(words)?.command)
    }

    /// Context with which a command begins, or that of the newest finished run of the same command if nothing can be
    /// measured.
    pub(super) fn context<'a>(
        &self,
        bench: Box<dyn Bench>,
        options: &'a Options,
        store: &'a Store,
        arguments: &[&str],
    ) -> anyhow::Result<Context<'a>> {
        let description = Library::clone(&self.description);
        let mut guidelines = guideline::load_embedded()?;
        for file in &options.guideline_files {
            guidelines.push(guideline::load_file(file)?);
        }
        let guidelines = guideline::select(&guidelines, &options.guidelines)?;
        let plan = Plan::within(&guidelines, &options.scope(), options.place());
        let line = match options.layout {
            Some(layout) => format!("{} {layout}", arguments.join(" ")),
            None => arguments.join(" "),
        };
        let run = if bench.starts_jobs() {
            let seed = options.seed.unwrap_or_default();
            store.begin_or_resume(&line, seed, &line, VERSION, options.ranks)?
        } else {
            let stored = store.newest(&line)?;
            stored.with_context(|| format!("`{}` has no run of `{line}`", store.path().display()))?
        };
        if run.resumed {
            launch::recover(&run)?;
            run.take_over(other_load::most_cores(options.ranks))?;
        }
        let template = launcher::template(options, &description)?;
        let worker = self.directory.join("bin").join(WORKER);
        let programs = Programs::unasked(worker, format!("Scripted MPI v{VERSION}"));
        let mut context = Context::new(
            options,
            (description, VERSION.to_owned()),
            (store, run, line),
            plan,
            (template, programs),
        );
        if bench.starts_jobs() {
            context = context.with_earlier_failures()?;
        }
        if let Some(text) = &self.library.said {
            context.hear(carriers::heard(&self.description, text)?);
        }
        for file in &options.plugins {
            let rows = self.library.plugin.clone();
            let rows = rows.with_context(|| format!("the scripted `{}` has no rows", file.display()))?;
            context.plugins.push(plugins::from_rows(file, rows)?);
        }
        Ok(context.on(bench))
    }

    fn run(
        &self,
        bench: Box<dyn Bench>,
        options: &Options,
        arguments: &[&str],
        work: impl FnOnce(&Context<'_>) -> anyhow::Result<Report>,
    ) -> anyhow::Result<Run> {
        let store = Store::open(&options.db)?;
        let context = self.context(bench, options, &store, arguments)?;
        let before = context.jobs.run.launch_count()?;
        let report = work(&context);
        context.jobs.heed_jobs();
        context.progress.finish();
        let report = report?;
        context.jobs.run.record_report(&report)?;
        context.jobs.run.finish()?;
        Ok(Run {
            report,
            jobs: context.jobs.run.launch_count()? - before,
            seconds: context.jobs.budget.spent_seconds(),
        })
    }
}

/// The loop, after the checks that precede all measuring.
pub(super) fn tuned(context: &Context<'_>, options: &TuneOptions) -> anyhow::Result<Tuned> {
    kilter_emit::check(&context.site)?;
    tune::tune(context, options)
}

/// The worker's file.
const WORKER: &str = "kilter-worker";
