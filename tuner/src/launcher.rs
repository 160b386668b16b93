//! The launcher of the MPI library: which library it belongs to, and how jobs are launched on this site, by this user.

use std::time::Duration;

use crate::config::launcher::Starts;
use crate::config::library::{self, Library};
use crate::launch::CommandTemplate;
use crate::launch::capture::launcher_version;
use crate::options::Options;

/// A launcher that takes longer to say its version hangs.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// The launcher's version line, and the description of its library.
///
/// # Errors
/// It does not answer, or no description fits.
pub fn detect(options: &Options) -> anyhow::Result<(String, Library)> {
    let version = launcher_version(&options.mpirun, VERSION_LIMIT)?;
    let library = match &options.library_description {
        Some(path) => library::load_file(path)?,
        None => library::find_for(&version)?,
    };
    Ok((version, library))
}

/// How a job is launched on this site, by this user.
#[must_use]
pub fn template(options: &Options, library: &Library) -> CommandTemplate {
    match &options.starts {
        Some(starts) => by_batch_system(options, library, starts),
        None => by_library(options, library),
    }
}

fn by_library(options: &Options, library: &Library) -> CommandTemplate {
    let launcher = &library.launcher;
    let mut arguments = launcher.arguments.clone();
    if nix::unistd::geteuid().is_root() {
        arguments.extend(launcher.root_arguments.iter().cloned());
    }
    if launcher.host.is_some() {
        // It takes options and hosts in this order alone.
        arguments.extend([launcher.ranks_flag.clone(), "{ranks}".to_owned()]);
    }
    if let Some(hostfile) = &options.hostfile {
        arguments.extend([launcher.hostfile_flag.clone(), hostfile.display().to_string()]);
    }
    if let Some(agent) = &options.launch_agent {
        let agent = agent.display().to_string();
        arguments.extend(launcher.agent.iter().map(|part| part.replace("{agent}", &agent)));
    }
    if launcher.host.is_none() {
        arguments.extend([launcher.ranks_flag.clone(), "{ranks}".to_owned()]);
    }
    CommandTemplate {
        program: options.mpirun.clone(),
        arguments_before: arguments,
        for_each_rank: launcher.host.clone().filter(|_| options.hostfile.is_none()),
        before_variables: Vec::new(),
        parameter_form: if launcher.parameter.is_empty() {
            launcher.environment.clone()
        } else {
            launcher.parameter.clone()
        },
        environment_form: launcher.environment.clone(),
    }
}

/// Parameters are variables here: the library's own launcher is not there to be told of them.
fn by_batch_system(options: &Options, library: &Library, starts: &Starts) -> CommandTemplate {
    let mut arguments = starts.arguments.clone();
    if let (Some(flag), Some(hostfile)) = (&starts.hostfile_flag, &options.hostfile) {
        arguments.extend([flag.clone(), hostfile.display().to_string()]);
    }
    arguments.extend([starts.ranks_flag.clone(), "{ranks}".to_owned()]);
    let variable = Some(library.launcher.variable.as_str()).filter(|form| !form.is_empty());
    CommandTemplate {
        program: starts.program.clone().into(),
        arguments_before: arguments,
        for_each_rank: None,
        before_variables: vec!["env".to_owned()],
        parameter_form: vec![format!("{}={{value}}", variable.unwrap_or("{name}"))],
        environment_form: vec!["{name}={value}".to_owned()],
    }
}

#[cfg(test)]
mod tests;
