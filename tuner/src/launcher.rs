//! The launcher of the MPI library: which library it belongs to, and how jobs are launched on this site, by this user.

mod describe;
mod in_use;
mod trial;

use anyhow::{Context as _, ensure};
use kilter_bench::launch::CommandTemplate;
use kilter_model::config::launcher::Starts;
use kilter_model::config::library::Library;
use kilter_model::config::platform;
use kilter_model::layout::Layout;
use kilter_model::options::Options;

pub use describe::{Described, describe, first_words, limit};
pub use in_use::{InUse, NotFound, Remark, find, of_command};

/// Template of a job's command line on this site, by this user, or on the simulated machine, whose files are written
/// into the output directory. Errors are a simulator without a machine, a machine without a simulator, and files that
/// cannot be written.
pub fn template(options: &Options, library: &Library) -> anyhow::Result<CommandTemplate> {
    match &options.starts {
        Some(starts) => Ok(by_batch_system(options, library, starts)),
        None => by_library(options, library),
    }
}

fn by_library(options: &Options, library: &Library) -> anyhow::Result<CommandTemplate> {
    let launcher = &library.launcher;
    let mut arguments = launcher.arguments.clone();
    if options.over_subscribes() {
        arguments.extend(launcher.over_subscription.iter().cloned());
    }
    if nix::unistd::geteuid().is_root() {
        arguments.extend(launcher.root_arguments.iter().cloned());
    }
    if launcher.host.is_some() {
        // It takes options and hosts in this order alone.
        arguments.extend([launcher.ranks_flag.clone(), "{ranks}".to_owned()]);
    }
    if let Some(hostfile) = &options.hostfile {
        ensure!(
            !launcher.hostfile_flag.is_empty(),
            "--hostfile: which option of `{}` takes a file of hosts is not known; leave it out, or say by --launcher what starts the ranks",
            options.mpirun.display()
        );
        arguments.extend([launcher.hostfile_flag.clone(), hostfile.display().to_string()]);
    }
    if let Some(agent) = &options.launch_agent {
        let agent = agent.display().to_string();
        arguments.extend(launcher.agent.iter().map(|part| part.replace("{agent}", &agent)));
    }
    let placement = placement(options, &launcher.per_node);
    if placement.is_empty() && options.hostfile.is_some() {
        arguments.extend(launcher.by_hostfile.iter().cloned());
    }
    arguments.extend(placement);
    arguments.extend(simulated(options, library)?);
    if launcher.host.is_none() {
        arguments.extend([launcher.ranks_flag.clone(), "{ranks}".to_owned()]);
    }
    Ok(CommandTemplate {
        program: options.mpirun.clone(),
        arguments_before: arguments,
        for_each_rank: match launcher.host.as_ref().filter(|_| options.hostfile.is_none()) {
            None => None,
            Some(form) => Some(this_host(form)?),
        },
        before_variables: launcher.before_variables.clone(),
        parameter_form: if launcher.parameter.is_empty() {
            launcher.environment.clone()
        } else {
            launcher.parameter.clone()
        },
        environment_form: launcher.environment.clone(),
    })
}

/// The name that stands for each rank, with this host's own where the description asks for that.
fn this_host(form: &str) -> anyhow::Result<String> {
    if !form.contains(HOST) {
        return Ok(form.to_owned());
    }
    let name = nix::unistd::gethostname().context("the name of this host, which the launcher wants, cannot be had")?;
    let name = name
        .into_string()
        .map_err(|name| anyhow::anyhow!("the name of this host, {name:?}, is no text; give a --hostfile"))?;
    Ok(form.replace(HOST, &name))
}

/// Stands for this host's own name.
const HOST: &str = "{host}";

/// Arguments that put as many ranks on each node as the layout says; none if there is only one node.
fn placement(options: &Options, form: &[String]) -> Vec<String> {
    let several = |layout: &Layout| layout.nodes > 1 || options.has_several_hosts();
    let Some(layout) = options.layout.filter(several) else {
        return Vec::new();
    };
    let fill = |part: &String| {
        part.replace("{nodes}", &layout.nodes.to_string())
            .replace("{per_node}", &layout.per_node.to_string())
    };
    form.iter().map(fill).collect()
}

/// The arguments that name the simulated machine and its settings; none where ranks really run.
fn simulated(options: &Options, library: &Library) -> anyhow::Result<Vec<String>> {
    let launcher = &library.launcher;
    let Some(platform) = &options.platform else {
        ensure!(
            !launcher.is_simulator(),
            "{} simulates a machine, which must be given: --platform NAME, one of {}, or a file like those in configs/platforms",
            library.name,
            platform::load_embedded()?
                .iter()
                .map(|platform| platform.id.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        );
        return Ok(Vec::new());
    };
    ensure!(
        launcher.is_simulator(),
        "--platform: {} runs on real machines; give a simulator, such as --mpirun smpirun, or leave --platform out",
        library.name
    );
    let directory = options.out.join("platform");
    ensure!(
        !directory.to_string_lossy().contains(char::is_whitespace),
        "--out: `{}` has a blank in it, at which {} takes the names of its files apart; give another directory",
        options.out.display(),
        options.mpirun.display()
    );
    let files = platform.write(&directory).with_context(|| {
        format!(
            "the files of platform `{}` cannot be written to `{}`",
            platform.id,
            directory.display()
        )
    })?;
    let fill = |part: &String| {
        part.replace("{platform}", &files.platform.display().to_string())
            .replace("{hostfile}", &files.hostfile.display().to_string())
    };
    let mut arguments: Vec<String> = launcher.platform.iter().map(fill).collect();
    for (name, value) in &platform.settings {
        let fill = |part: &String| part.replace("{name}", name).replace("{value}", value);
        arguments.extend(launcher.parameter.iter().map(fill));
    }
    Ok(arguments)
}

/// Parameters are variables here: the library's own launcher is not there to be told of them.
fn by_batch_system(options: &Options, library: &Library, starts: &Starts) -> CommandTemplate {
    let mut arguments = starts.arguments.clone();
    if let (Some(flag), Some(hostfile)) = (&starts.hostfile_flag, &options.hostfile) {
        arguments.extend([flag.clone(), hostfile.display().to_string()]);
    }
    arguments.extend(placement(options, &starts.per_node));
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
