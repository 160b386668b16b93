//! Runs the library's program that prints its parameters.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kilter_bench::launch::CommandSpec;
use kilter_bench::launch::capture::{CaptureError, capture_at_most};
use kilter_model::config::library::{InfoTool, Library};
use kilter_model::config::transport::TransportInfo;

use super::{LibraryInfo, Program, program, program_of_transport};

/// Time after which the program counts as hung. It takes half a second.
const LIMIT: Duration = Duration::from_secs(20);

/// Limit of the output. An `ompi_info` with few components prints half of 1 MiB.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// Reason why the program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum InfoError {
    /// The program is missing.
    #[error("there is no `{program}` beside the launcher `{}`", launcher.display())]
    Missing {
        /// Its name.
        program: &'static str,
        /// The launcher.
        launcher: PathBuf,
    },
    /// The program of a transport is missing.
    #[error("there is no `{0}` in PATH")]
    NotInPath(&'static str),
    /// The program does not start, or hangs.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The program belongs to another installation.
    #[error("`{}` is of version {says}, and the launcher of {version}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// Its output.
        says: String,
        /// The launcher's version.
        version: String,
    },
    /// No parameter was read.
    #[error("`{command}` printed no parameters")]
    NoParameters {
        /// The command.
        command: String,
    },
}

/// The name of the program.
#[must_use]
pub fn name(tool: InfoTool) -> &'static str {
    program(tool).name
}

/// Asks the program beside the launcher of a library of this version. An error if it is missing, of another version, or
/// does not answer.
pub fn ask(tool: InfoTool, launcher: &Path, version: &str) -> Result<LibraryInfo, InfoError> {
    ask_without(tool, (launcher, version), &[])
}

/// The same in this environment without some of its variables.
pub fn ask_without(
    tool: InfoTool,
    (launcher, version): (&Path, &str),
    without: &[String],
) -> Result<LibraryInfo, InfoError> {
    let row = program(tool);
    let program = beside(launcher, row.name).ok_or_else(|| InfoError::Missing {
        program: row.name,
        launcher: launcher.to_path_buf(),
    })?;
    let info = answer(row, &program, without)?;
    if let Some(says) = info.version.as_ref().filter(|says| *says != version) {
        return Err(InfoError::Other {
            program,
            says: says.clone(),
            version: version.to_owned(),
        });
    }
    Ok(info)
}

/// The variables of this environment that set parameters which may act on times, and are printed by the program.
#[must_use]
pub fn set_here(tool: InfoTool, library: &Library) -> Vec<String> {
    let launcher = &library.launcher;
    let is_its = |name: &String| {
        let own = launcher.parameter_of(name);
        own.is_some_and(|own| (program(tool).prints)(own, launcher.variable.is_empty()) && library.may_act(own))
    };
    std::env::vars().map(|(name, _)| name).filter(is_its).collect()
}

/// The name of a transport's program.
#[must_use]
pub fn name_of_transport(tool: TransportInfo) -> &'static str {
    program_of_transport(tool).name
}

/// Asks a transport's program, which must be in PATH. Values that this environment sets count as no defaults. An error if it is missing or does
/// not answer.
pub fn ask_transport(tool: TransportInfo) -> Result<LibraryInfo, InfoError> {
    let row = program_of_transport(tool);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(row.name));
    let program = places
        .find(|place| place.is_file())
        .ok_or(InfoError::NotInPath(row.name))?;
    let mut info = answer(row, &program, &[])?;
    for (name, reported) in &mut info.parameters {
        if std::env::var_os(name).is_some() {
            reported.default = None;
        }
    }
    Ok(info)
}

/// The parameters that a program prints in this environment without some of its variables.
fn answer(row: &Program, program: &Path, without: &[String]) -> Result<LibraryInfo, InfoError> {
    let mut argv = Vec::new();
    if !without.is_empty() {
        argv.push("env".to_owned());
        argv.extend(without.iter().map(|name| format!("--unset={name}")));
    }
    argv.push(program.display().to_string());
    argv.extend(row.arguments.iter().map(|word| (*word).to_owned()));
    let spec = CommandSpec {
        argv,
        environment: Vec::new(),
    };
    let captured = capture_at_most(&spec, LIMIT, MAX_OUTPUT_BYTES)?;
    if !captured.status.success() {
        return Err(CaptureError::Failed {
            command: spec.to_string(),
            status: captured.status,
            output: captured.output.lines().next().unwrap_or("no output").to_owned(),
        }
        .into());
    }
    let info = (row.parse)(&captured.output);
    if info.parameters.is_empty() {
        return Err(InfoError::NoParameters {
            command: spec.to_string(),
        });
    }
    Ok(info)
}

/// File of this name in the launcher's directory, as it is typed or found in PATH, or in that of the file to which it
/// is a link.
fn beside(launcher: &Path, name: &str) -> Option<PathBuf> {
    let typed = launcher.parent().filter(|directory| !directory.as_os_str().is_empty());
    let found = match typed {
        Some(_) => launcher.to_path_buf(),
        None => {
            let path = std::env::var_os("PATH")?;
            let mut places = std::env::split_paths(&path).map(|directory| directory.join(launcher));
            places.find(|place| place.is_file())?
        }
    };
    let real = found.canonicalize().unwrap_or_else(|_| found.clone());
    [found, real]
        .into_iter()
        .map(|launcher| launcher.with_file_name(name))
        .find(|program| program.is_file())
}
