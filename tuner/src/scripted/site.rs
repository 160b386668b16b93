//! Commands on a scripted library: as they are typed, but for the launcher and the programs, which nobody asks.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use clap::Parser as _;

use super::library::ScriptedLibrary;
use super::playing::{Jobs, VERSION};
use crate::cli;
use crate::config::guideline;
use crate::config::library::Library;
use crate::context::{Context, Setup};
use crate::launch::scripted::Scripted;
use crate::options::{Options, TuneOptions};
use crate::plan::Plan;
use crate::programs::{PROGRESS_LIBRARY, Programs};
use crate::report::model::Report;
use crate::store::Store;
use crate::verification::{Allowance, verify};
use crate::{launch, launcher, reporting, tune};

/// Where a scripted library is installed and tuned.
#[derive(Debug)]
pub struct Site {
    directory: PathBuf,
    library: Rc<ScriptedLibrary>,
    description: Rc<Library>,
}

/// What a command came to.
#[derive(Debug)]
pub struct Run {
    /// The report.
    pub report: Report,
    /// Jobs that measured and were started; what came from the store started none.
    pub jobs: usize,
    /// Seconds by the scripted clock.
    pub seconds: f64,
}

impl Site {
    /// Installs a library in a directory that is made where there is none; a database that is there goes on.
    ///
    /// # Errors
    /// What is wrong with its description, or files that cannot be written.
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
    ///
    /// # Errors
    /// What the command would fail with.
    pub fn tune(&self, arguments: &[&str]) -> anyhow::Result<Run> {
        let cli::Command::Tune(typed) = self.typed("tune", arguments)? else {
            anyhow::bail!("`tune` is not read as such");
        };
        let options = TuneOptions::new(typed)?;
        self.run(&options.common, arguments, |context| {
            crate::emit::check(context)?;
            Ok(reporting::of_tune(context, &tune::tune(context, &options)?))
        })
    }

    /// `kilter check` with these arguments.
    ///
    /// # Errors
    /// What the command would fail with.
    pub fn check(&self, arguments: &[&str]) -> anyhow::Result<Run> {
        let cli::Command::Check(typed) = self.typed("check", arguments)? else {
            anyhow::bail!("`check` is not read as such");
        };
        let options = Options::new(typed)?;
        self.run(&options, arguments, |context| {
            let found = verify(context, "check", &Setup::default(), Allowance::ALL)?;
            Ok(reporting::of_check(context, &found))
        })
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.directory.join("out").join("kilter.db")
    }

    /// What is deployed.
    #[must_use]
    pub fn emitted(&self) -> PathBuf {
        self.directory.join("out").join("emit")
    }

    fn typed(&self, command: &str, arguments: &[&str]) -> anyhow::Result<cli::Command> {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let own = [
            "kilter".to_owned(),
            command.to_owned(),
            format!("--mpirun={}", path("bin/mpirun")),
            format!("--out={}", path("out")),
            "--quiet".to_owned(),
        ];
        let given = |option: &str| arguments.iter().any(|one| one.starts_with(option));
        let defaults = [("--ranks", "4"), ("--seed", "1")]
            .into_iter()
            .filter(|(option, _)| !given(option));
        let words = own
            .into_iter()
            .chain(defaults.map(|(option, value)| format!("{option}={value}")));
        Ok(cli::Cli::try_parse_from(words.chain(arguments.iter().map(|&one| one.to_owned())))?.command)
    }

    fn run(
        &self,
        options: &Options,
        arguments: &[&str],
        work: impl FnOnce(&Context<'_>) -> anyhow::Result<Report>,
    ) -> anyhow::Result<Run> {
        let description = Library::clone(&self.description);
        let mut guidelines = guideline::load_embedded()?;
        for file in &options.guideline_files {
            guidelines.push(guideline::load_file(file)?);
        }
        let guidelines = guideline::select(&guidelines, &options.guidelines)?;
        let plan = Plan::within(&guidelines, &options.scope(), options.place());
        let store = Store::open(&options.db)?;
        let (line, seed) = (arguments.join(" "), options.seed.unwrap_or_default());
        let run = store.begin_or_resume(&line, seed, &line, VERSION, options.ranks)?;
        if run.resumed {
            launch::recover(&run)?;
        }
        let bench = Scripted::new(
            Rc::new(Jobs {
                library: Rc::clone(&self.library),
                description: Rc::clone(&self.description),
            }),
            self.library.noise,
        );
        let jobs = bench.jobs();
        let template = launcher::template(options, &description)?;
        let programs = Programs::unasked(
            self.directory.join("bin").join(WORKER),
            format!("Scripted MPI v{VERSION}"),
        );
        let context = Context::new(
            options,
            (description, VERSION.to_owned()),
            (&store, run, line),
            plan,
            (template, programs),
        )
        .on(Box::new(bench));
        let report = work(&context);
        context.heed_jobs();
        context.progress.finish();
        let report = report?;
        context.run.record_report(&report)?;
        context.run.finish()?;
        Ok(Run {
            report,
            jobs: jobs.get(),
            seconds: context.budget.spent_seconds(),
        })
    }
}

/// The worker's file.
const WORKER: &str = "kilter-worker";
