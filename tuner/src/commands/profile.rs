//! `kilter profile`: runs a program with the tracer, and prints which MPI calls it made.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kilter_bench::launch::capture::launcher_version;
use kilter_bench::launch::command::{CommandSpec, quote};
use kilter_bench::launch::interrupt;
use kilter_bench::programs::Programs;
use kilter_model::config::library::{self, Library};
use kilter_model::layout::Layout;
use kilter_profiling::profile::Profile;
use kilter_profiling::saved::Predicted;
use kilter_profiling::{command, counters, gather, html, listing, mix, places, saved, store, summary, text};
use kilter_protocol::calls::{DIRECTORY_VARIABLE, MEMORY_VARIABLE};
use kilter_report::compare::operand::Operand;
use kilter_report::layouts::Index;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Status, print};
use crate::cli::{self, Format, ProfileCompare, ProfileFormat, ProfileRun, ProfileShow, Stored};
use crate::options::own_directory;

/// A launcher that takes longer to say its version hangs.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// Between two looks at the command.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) fn run(typed: cli::Profile) -> anyhow::Result<Status> {
    match typed.stored {
        Some(Stored::Show(typed)) => show(&typed),
        Some(Stored::Compare(typed)) => compare(&typed),
        None => record(&typed.run),
    }
}

fn show(typed: &ProfileShow) -> anyhow::Result<Status> {
    let profile = store::read(&typed.file)?;
    if let Some(file) = &typed.html {
        let page = html::render(&summary::of(&profile))?;
        std::fs::write(file, page).with_context(|| format!("--html: `{}` cannot be written", file.display()))?;
        return Ok(Status::Holds);
    }
    let Some(file) = &typed.mix else {
        print(&rendered(&profile, typed.format)?)?;
        return Ok(Status::Holds);
    };
    let mix = mix::text(&profile).with_context(|| {
        format!(
            "`{}` has no call that guidelines speak of, so that there is nothing to tune for",
            typed.file.display()
        )
    })?;
    std::fs::write(file, mix).with_context(|| format!("--mix: `{}` cannot be written", file.display()))?;
    Ok(Status::Holds)
}

fn compare(typed: &ProfileCompare) -> anyhow::Result<Status> {
    let mut predicted = Vec::new();
    for path in &typed.report {
        predicted.extend(predictions(path)?);
    }
    let saved = saved::of(&store::read(&typed.before)?, &store::read(&typed.after)?, &predicted);
    print(&match typed.format {
        Format::Text => saved::text(&saved),
        Format::Json => saved::json(&saved)?,
    })?;
    Ok(Status::Holds)
}

/// What the reports of a tuning predict: those of a directory, of each layout if there are several; or one report.
fn predictions(path: &Path) -> anyhow::Result<Vec<Predicted>> {
    let index = path.join(Index::FILE);
    if index.is_file() {
        let text = std::fs::read_to_string(&index).with_context(|| format!("--report: `{}`", index.display()))?;
        let layouts = Index::layouts_in(&text).with_context(|| format!("--report: `{}`", index.display()))?;
        return layouts
            .iter()
            .map(|layout| prediction(&path.join(layout.to_string()), Some(*layout)))
            .collect();
    }
    Ok(vec![prediction(path, None)?])
}

fn prediction(path: &Path, layout: Option<Layout>) -> anyhow::Result<Predicted> {
    let file = if path.is_dir() {
        path.join("report.json")
    } else {
        path.to_owned()
    };
    let report = Operand::load(&file, 0, false).context("--report")?.report;
    ensure!(
        report.command == "tune" && !report.savings.is_empty(),
        "--report: `{}` predicts nothing: it was not made by `kilter tune` with --profile or --mix, or nothing was measured with what is deployed",
        file.display()
    );
    Ok(Predicted {
        ranks: report.ranks,
        nodes: layout.map(|layout| layout.nodes),
        savings: report.savings,
    })
}

fn rendered(profile: &Profile, format: ProfileFormat) -> anyhow::Result<String> {
    Ok(match format {
        ProfileFormat::Text => text::text(&summary::of(profile)),
        ProfileFormat::Json => summary::json(&summary::of(profile))?,
        ProfileFormat::Listing => listing::text(profile),
        ProfileFormat::Counters => counters::text(profile),
    })
}

fn record(typed: &ProfileRun) -> anyhow::Result<Status> {
    ensure!(
        !typed.out.exists(),
        "--out: `{}` is there already; remove it, or give another name",
        typed.out.display()
    );
    let (tracer, library) = tracer(typed)?;
    let scratch = Scratch::new(typed)?;
    let variables = [
        (DIRECTORY_VARIABLE.to_owned(), scratch.text()?),
        (MEMORY_VARIABLE.to_owned(), typed.memory.to_string()),
    ];
    let tracer = tracer.to_str().context("the path of libkilter_tracer.so is no text")?;
    let preloaded = std::env::var("LD_PRELOAD").ok();
    let spec = command::traced(
        &typed.command,
        Some(&library),
        (tracer, preloaded.as_deref()),
        &variables,
    );
    eprintln!("kilter: {spec}");
    let status = execute(&spec)?;
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let gathered = gather::gather(&scratch.directory);
    let mut profile = match gathered {
        Ok(profile) => profile,
        Err(error) if status != 0 => {
            return Err(anyhow::Error::new(error).context(format!("the command ended with status {status}")));
        }
        Err(error) => return Err(error.into()),
    };
    profile.command = typed
        .command
        .iter()
        .map(|word| quote(word))
        .collect::<Vec<_>>()
        .join(" ");
    profile.status = status;
    places::resolve(&mut profile.sites);
    store::write(&profile, &typed.out)?;
    scratch.remove();
    print(&rendered(&profile, typed.format)?)?;
    eprintln!("kilter: the profile is in `{}`", typed.out.display());
    Ok(Status::Command(u8::try_from(status).unwrap_or(u8::MAX)))
}

/// The tracer for the library of the command's launcher, and its description.
fn tracer(typed: &ProfileRun) -> anyhow::Result<(PathBuf, Library)> {
    let in_command = command::launcher(&typed.command)
        .and_then(|at| typed.command.get(at))
        .map(PathBuf::from);
    let launcher = in_command
        .clone()
        .or_else(|| typed.mpirun.clone())
        .unwrap_or_else(|| "mpirun".into());
    let version = launcher_version(&launcher, VERSION_LIMIT)
        .with_context(|| "the MPI library of the program is not known; name its launcher with --mpirun PATH")?;
    let library = library::find_for(&version)?;
    ensure!(
        !library.launcher.is_simulator(),
        "{} simulates a machine, where nothing can be preloaded before the MPI library; profile on a real one",
        library.name
    );
    let programs = Programs::find(
        typed.libexec.as_deref(),
        &own_directory()?,
        (&library, &library.version_of(&version)),
        &launcher,
    )?;
    Ok((programs.tracer()?, library))
}

/// The directory into which the ranks write. It stays if something fails after ranks have written.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    fn new(typed: &ProfileRun) -> anyhow::Result<Scratch> {
        let directory = typed.scratch.clone().unwrap_or_else(|| {
            let mut name = typed.out.clone().into_os_string();
            name.push(".ranks");
            name.into()
        });
        let directory = std::path::absolute(&directory)
            .with_context(|| format!("--scratch: `{}` is no path", directory.display()))?;
        std::fs::create_dir(&directory).with_context(|| {
            format!(
                "--scratch: `{}` cannot be made; it must not be there (counts that an earlier run left may be removed), and the directory \
                 above it must",
                directory.display()
            )
        })?;
        Ok(Scratch { directory })
    }

    fn text(&self) -> anyhow::Result<String> {
        let text = self.directory.to_str().map(str::to_owned);
        text.with_context(|| format!("--scratch: `{}` is no text", self.directory.display()))
    }

    fn remove(self) {
        let remove = |path: &Path| std::fs::remove_dir_all(path);
        if let Err(error) = remove(&self.directory) {
            eprintln!(
                "kilter: warning: `{}` cannot be removed: {error}",
                self.directory.display()
            );
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Fails where a rank has left its counts, which are kept.
        let _ = std::fs::remove_dir(&self.directory);
    }
}

/// Runs the command to its end. A signal from the terminal reaches it as well as us, so that only other signals are passed on.
fn execute(spec: &CommandSpec) -> anyhow::Result<ExitStatus> {
    interrupt::install()?;
    let (program, arguments) = spec.argv.split_first().context("there is no command after `--`")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(spec.environment.iter().map(|(name, value)| (name, value)));
    let mut child = command
        .spawn()
        .with_context(|| format!("`{program}` cannot be started"))?;
    let mut passed_on = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let signal = interrupt::received(interrupt::flag()).and_then(|signal| Signal::try_from(signal).ok());
        if let (Some(signal), Ok(process)) = (signal, i32::try_from(child.id()))
            && signal != Signal::SIGINT
            && passed_on != Some(signal)
        {
            // A process that has just ended needs no signal.
            let _ = kill(Pid::from_raw(process), signal);
            passed_on = Some(signal);
        }
        std::thread::sleep(PAUSE);
    }
}
