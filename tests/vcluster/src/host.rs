//! Becoming a process of a host, and the launch agent that does so for others.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::sethostname,
};

use crate::{netns, process, state::State};

/// Daemons and ranks come before all else on the machine; ranks may take a real-time priority themselves.
const NICE: libc::c_int = -15;

/// Moves this process into host `name`: its network, its host name, its `/etc/hosts`, its `/sys` (where MPI libraries
/// look for network cards). The process must have one thread.
pub(crate) fn enter(state: &State, name: &str) -> Result<()> {
    if process::running_switch(state).is_none() {
        bail!(
            "the switch of cluster '{}' does not run; start the cluster again with `up`",
            state.name()
        );
    }
    netns::enter(&state.net(name)).with_context(|| format!("'{name}' is no host of the cluster '{}'", state.name()))?;
    let spaces = CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWNS;
    unshare(spaces).context("cannot make the namespaces of a host's process")?;
    sethostname(name).with_context(|| format!("cannot take the host name {name}"))?;

    const NONE: Option<&str> = None;
    // Mounts from here on are this process's own; unmounts outside still come in, so that `down` frees the namespaces.
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE).context("cannot take the mounts apart")?;
    mount(Some(&state.path("hosts")), "/etc/hosts", NONE, MsFlags::MS_BIND, NONE)
        .context("cannot mount the cluster's /etc/hosts")?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), NONE)
        .context("cannot mount /sys of the host's network")?;

    // SAFETY: setpriority takes three integers; 0 is this process. Without the right to do so the priority stays, which
    // costs precision and nothing else.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    Ok(())
}

/// The launch agent: `agent STATE_DIRECTORY [OPTIONS] HOST COMMAND...`, with the arguments of rsh. Never returns if the
/// command could be started.
pub(crate) fn agent(arguments: &[OsString]) -> Result<()> {
    let Some((directory, arguments)) = arguments.split_first() else {
        bail!("agent: the state directory is missing")
    };
    let (host, words) = rsh_arguments(arguments)?;
    let state = State::at(directory.into())?;
    enter(&state, host)?;
    // As rsh and ssh do: the words are one line for a shell of the remote host.
    let line = words.join(OsStr::new(" "));
    let error = Command::new("/bin/sh").arg("-c").arg(line).exec();
    Err(error).context("cannot start /bin/sh")
}

/// Splits `[OPTIONS] [USER@]HOST COMMAND...`. Options of rsh and ssh are accepted and mean nothing here.
fn rsh_arguments(arguments: &[OsString]) -> Result<(&str, &[OsString])> {
    const WITH_VALUE: &[&str] = &["-p", "-l", "-o", "-i", "-F", "-c", "-m"];
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        if WITH_VALUE.iter().any(|option| first == option) {
            rest = others.get(1..).unwrap_or_default();
        } else if first.as_encoded_bytes().starts_with(b"-") {
            rest = others;
        } else {
            break;
        }
    }
    match rest.split_first() {
        Some((host, words)) if !words.is_empty() => {
            let host = host
                .to_str()
                .with_context(|| format!("agent: host {host:?} is not UTF-8"))?;
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            if Path::new(host).components().count() != 1 || host.starts_with('.') {
                bail!("agent: '{host}' is no name of a host");
            }
            Ok((host, words))
        }
        _ => bail!("agent: expected [OPTIONS] HOST COMMAND..., as for rsh"),
    }
}

/// Replaces this process by `command`. Returns the exit code that a shell would give: 127 for a program that is not
/// there, 126 for one that cannot be run.
pub(crate) fn exec(command: &[OsString], variables: &[(&str, String)]) -> Result<u8> {
    let Some((program, arguments)) = command.split_first() else {
        bail!("no command to run")
    };
    let error = Command::new(program)
        .args(arguments)
        .envs(variables.iter().map(|(key, value)| (key, value)))
        .exec();
    eprintln!("kilter-vcluster: cannot run {}: {error}", Path::new(program).display());
    Ok(if error.kind() == std::io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}

/// True if `program` is in PATH.
pub(crate) fn in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_agent_takes_what_rsh_and_ssh_take() {
        for text in ["vc3 a b", "-x vc3 a b", "-l me -o A=b -q vc3 a b", "me@vc3 a b"] {
            let all = words(text);
            let (host, rest) = rsh_arguments(&all).unwrap();
            assert_eq!((host, rest), ("vc3", &words("a b")[..]), "{text}");
        }
        for text in ["vc3", "-l", "-x", "../net a", ".. a", "a/b c"] {
            assert!(rsh_arguments(&words(text)).is_err(), "{text}");
        }
    }
}
