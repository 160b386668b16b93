//! Commands with the tracer in their ranks, for `profile` and `trace`.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kilter_bench::launch::command::{CommandSpec, quote};
use kilter_bench::launch::{interrupt, preload};
use kilter_model::config::library::Library;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cli::Traced;
use crate::launcher;
use crate::options::own_directory;

/// Pause between two looks at the command. A wait until a signal would miss one that comes just before it begins.
const PAUSE: Duration = Duration::from_millis(20);

/// The tracer and the library of a command.
pub(super) struct Programs {
    tracer: PathBuf,
    /// Library of the command's launcher.
    library: Library,
}

/// True where a colon divides the command into several programs, some of which may lack the tracer.
pub(super) fn is_of_several_programs(command: &[String]) -> bool {
    command.iter().any(|word| word == ":")
}

impl Programs {
    /// The tracer for the library of the command's launcher, or of `mpirun` if it names none.
    pub(super) fn find(typed: &Traced) -> anyhow::Result<Programs> {
        let in_command = preload::launcher(&typed.command)
            .and_then(|at| typed.command.get(at))
            .map(PathBuf::from);
        let launcher = in_command
            .or_else(|| typed.mpirun.clone())
            .unwrap_or_else(|| "mpirun".into());
        let (library, programs) = launcher::of_command(&launcher, typed.libexec.as_deref(), &own_directory()?)
            .context("the MPI library of the program is not known; name its launcher with --mpirun PATH")?;
        ensure!(
            !library.launcher.is_simulator(),
            "{} simulates a machine, where nothing can be preloaded before the MPI library; run the command on a real one",
            library.name
        );
        Ok(Programs {
            tracer: programs.tracer()?,
            library,
        })
    }
}

/// Runs a command with the tracer in its ranks, and these variables. Returns its exit status, as shells say it.
pub(super) fn run(programs: &Programs, command: &[String], variables: &[(String, String)]) -> anyhow::Result<i32> {
    let tracer = programs
        .tracer
        .to_str()
        .context("the path of libkilter_tracer.so is no text")?;
    let preloaded = std::env::var("LD_PRELOAD").ok();
    let spec = preload::traced(
        command,
        Some(&programs.library),
        (tracer, preloaded.as_deref()),
        variables,
    );
    eprintln!("kilter: {spec}");
    let status = execute(&spec)?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// The command as it could be typed.
pub(super) fn line(command: &[String]) -> String {
    command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// A path for the environment.
pub(super) fn text(path: &Path, option: &str) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| format!("{option}: `{}` is no text", path.display()))
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
